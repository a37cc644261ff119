"""Times and durations in other units than microseconds, at any depth: rounded down, in range, and alike everywhere.

The tests catch a duration that is rounded towards zero, a panic of Polars for a time in a list that is far away, and a
command line that converts a column of another type.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias, cast

import polars as pl
import pyarrow as pa
import pytest
from attrs import frozen
from flowalg_columns.units import DurationRangeError, in_whole_microseconds
from flowalg_polars import batch
from flowalg_tools.cli.files import read_table
from flowalg_tools.cli.inputs import read_records
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from flowalg import Source
from flowalg.data.time import FIRST_MICROSECOND, LAST_MICROSECOND
from flowalg.errors import ElementError, SchemaMismatchError
from flowalg.runs import BadRecord

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
Unit: TypeAlias = Literal["s", "ms", "us", "ns"]
SCALES = {"s": 1_000_000, "ms": 1_000, "us": 1}
NUMBERS = st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-3_000, 3_000), max_size=5)


@frozen
class Span:
    """A record in a list."""

    at: datetime
    length: timedelta


@frozen
class Trip:
    """A record with times and durations, also in lists."""

    key: str
    at: datetime
    length: timedelta
    stops: list[datetime]
    spans: list[Span]


TRIPS = Source("trips", Trip, event_time=lambda trip: trip.at)


def timestamps(unit: str, zone: str | None) -> pa.DataType:
    """Returns the type of the times of a unit."""
    time_unit = cast("Unit", unit)
    return pa.timestamp(time_unit) if zone is None else pa.timestamp(time_unit, zone)


def micros(number: int, unit: str) -> int:
    """Returns a number of a unit in whole microseconds, rounded down."""
    return number // 1_000 if unit == "ns" else number * SCALES[unit]


@given(NUMBERS, st.sampled_from(["s", "ms", "us", "ns"]), st.sampled_from([None, "UTC", "Europe/Paris"]))
def test_times_of_any_unit_are_rounded_down(numbers: list[int | None], unit: str, zone: str | None) -> None:
    """They are whole microseconds in UTC; those out of range stay so on their side, also in structs in lists."""
    kind = timestamps(unit, zone)
    array = pa.array(numbers, pa.int64()).cast(kind)
    nested = pa.LargeListArray.from_arrays(
        pa.array([0, len(numbers)], pa.int64()), pa.StructArray.from_arrays([array], names=["x"])
    )
    lists = in_whole_microseconds(nested)
    assert isinstance(lists, pa.LargeListArray)
    inside = lists.values
    assert isinstance(inside, pa.StructArray)
    for times in (in_whole_microseconds(array), inside.field(0)):
        assert times.type == timestamps("us", None if zone is None else "UTC")
        for number, read in zip(numbers, times.cast(pa.int64()).to_pylist(), strict=True):
            if number is None or read is None:
                assert number is read is None
                continue
            exact = micros(number, unit)
            if FIRST_MICROSECOND <= exact <= LAST_MICROSECOND:
                assert read == exact
            else:
                assert (read < FIRST_MICROSECOND, read > LAST_MICROSECOND) == (exact < 0, exact > 0)


@given(NUMBERS, st.sampled_from(["s", "ms", "us", "ns"]))
def test_durations_of_any_unit_are_exact_or_an_error(numbers: list[int | None], unit: str) -> None:
    """They are whole microseconds, rounded down, and one beyond 64 bits is an error: no duration wraps."""
    array = pa.array(numbers, pa.int64()).cast(pa.duration(cast("Unit", unit)))
    exact = [None if number is None else micros(number, unit) for number in numbers]
    if any(number is not None and abs(number) > 2**63 - 1 for number in exact) and unit in ("s", "ms"):
        with pytest.raises(DurationRangeError, match=f" {unit}$"):
            in_whole_microseconds(array)
        return
    assert in_whole_microseconds(array).cast(pa.int64()).to_pylist() == exact


def trips(**columns: pa.Array[pa.Scalar[pa.DataType]]) -> pa.Table:
    """Returns a table of one trip, with some columns of other types."""
    time, length = pa.timestamp("us", "UTC"), pa.duration("us")
    span = pa.struct([("at", time), ("length", length)])
    trip: dict[str, pa.Array[pa.Scalar[pa.DataType]]] = {
        "key": pa.array(["a"]),
        "at": pa.array([NOON], time),
        "length": pa.array([timedelta(1)], length),
        "stops": pa.array([[NOON]], pa.list_(time)),
        "spans": pa.array([[{"at": NOON, "length": timedelta(1)}]], pa.list_(span)),
    }
    return pa.table({**trip, **columns})


def listed(number: int, kind: pa.DataType) -> pa.Array[pa.Scalar[pa.DataType]]:
    """Returns a column with a list of a number."""
    return pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([number], pa.int64()).cast(kind))


def read(table: pa.Table, folder: Path, *, dead_letters: bool) -> list[list[object]]:
    """Returns what the local engine reads of a table as a frame and as a file, and the command line as a file."""
    path = folder / "trips.parquet"
    parquet.write_table(table, path)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    outputs: list[list[object]] = []
    for given_input in (frame, str(folder)):
        run = batch.run(TRIPS, {TRIPS: given_input}, dead_letters=dead_letters)
        outputs.append([element.element for element in run.elements])
    bad: list[BadRecord] | None = [] if dead_letters else None
    outputs.append(read_records(TRIPS, read_table(TRIPS, path, bad=bad), path, lenient=dead_letters))
    return outputs


@pytest.mark.parametrize("dead_letters", [False, True])
def test_all_readers_round_down(tmp_path: Path, dead_letters: bool) -> None:
    """A nanosecond before the epoch, and a negative one, are a microsecond: in a field and in a list."""
    instant, short = pa.timestamp("ns", "UTC"), pa.duration("ns")
    table = trips(length=pa.array([-1], pa.int64()).cast(short), stops=listed(-1, instant))
    before = datetime(1970, 1, 1, tzinfo=UTC) - timedelta(microseconds=1)
    for (trip,) in read(table, tmp_path, dead_letters=dead_letters):
        assert isinstance(trip, Trip)
        assert (trip.length, trip.stops) == (timedelta(microseconds=-1), [before])


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_far_times_in_lists_are_bad_records(tmp_path: Path, unit: str) -> None:
    """A time in a list that Python has no value for is an error of its field, or a bad record."""
    table = trips(stops=listed(2**60, timestamps(unit, "UTC")))
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    message = r"stops\[…\] must be in the years 1 to 9999 of UTC"
    with pytest.raises(ElementError, match=message):
        batch.run(TRIPS, {TRIPS: frame})
    run = batch.run(TRIPS, {TRIPS: frame}, dead_letters=True)
    assert (len(run.elements), len(run.bad_records)) == (0, 1)
    parquet.write_table(table, tmp_path / "trips.parquet")
    with pytest.raises(
        ElementError, match="trips.parquet: source 'trips': stops must be .* in the years 1 to"
    ):
        read_records(TRIPS, read_table(TRIPS, tmp_path / "trips.parquet"), tmp_path / "trips.parquet")


@pytest.mark.parametrize("dead_letters", [False, True])
def test_long_durations_are_an_error(dead_letters: bool) -> None:
    """One that needs more than 64 bits in microseconds is not another one."""
    for table in (
        trips(length=pa.array([2**60], pa.int64()).cast(pa.duration("ms"))),
        trips(
            spans=pa.ListArray.from_arrays(
                pa.array([0, 1], pa.int32()),
                pa.StructArray.from_arrays(
                    [
                        pa.array([NOON], pa.timestamp("us", "UTC")),
                        pa.array([2**60], pa.int64()).cast(pa.duration("ms")),
                    ],
                    names=["at", "length"],
                ),
            )
        ),
    ):
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        with pytest.raises(
            ElementError, match="must have 64 bits in microseconds; got 1152921504606846976 ms"
        ):
            batch.run(TRIPS, {TRIPS: frame}, dead_letters=dead_letters)


@pytest.mark.parametrize("dead_letters", [False, True])
@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("key", pa.array([1])),
        ("at", pa.array([1_704_110_400_000_000])),
        ("at", pa.array(["2024-01-01 12:00:00"])),
        ("at", pa.array([19_723], pa.int32()).cast(pa.date32())),
        ("length", pa.array([5])),
        ("stops", listed(0, pa.timestamp("us"))),
        ("spans", pa.array([[{"at": NOON}]])),
    ],
)
def test_the_command_line_converts_no_column_of_another_type(
    tmp_path: Path, column: str, values: pa.Array[pa.Scalar[pa.DataType]], dead_letters: bool
) -> None:
    """A Parquet file with a column of another type is the error that it is for the local engine."""
    path = tmp_path / "trips.parquet"
    parquet.write_table(trips(**{column: values}), path)
    bad: list[BadRecord] | None = [] if dead_letters else None
    message = (
        rf"trips.parquet: the frame of source 'trips' must have the columns of Trip:\n  {column} must be"
    )
    with pytest.raises(SchemaMismatchError, match=message):
        read_table(TRIPS, path, bad=bad)


def test_a_file_at_which_polars_panics_is_named(tmp_path: Path) -> None:
    """A Parquet file of an unknown time zone is an error that names the file, and no panic."""
    parquet.write_table(
        trips(at=pa.array([0], pa.timestamp("us", "Etc/Nowhere"))), tmp_path / "trips.parquet"
    )
    with pytest.raises(ElementError, match="trips.parquet cannot be read as Parquet: .*time zone"):
        batch.run(TRIPS, {TRIPS: str(tmp_path)})


def test_an_empty_parquet_file_has_no_records(tmp_path: Path) -> None:
    """On the command line as in a stream."""
    (tmp_path / "trips.parquet").write_bytes(b"")
    assert read_records(TRIPS, read_table(TRIPS, tmp_path / "trips.parquet"), tmp_path) == []
