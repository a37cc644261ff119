"""Times and days of columns at the source: in the range of Python, in every field, and in microseconds.

The tests catch a time that enters a state from which no later run can read it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Literal

import flowalg_reference as reference
import polars as pl
import pytest
from flowalg_columns.tables import records_in
from flowalg_polars import batch

from flowalg import Timeline
from flowalg.errors import ElementError
from tests.support import far_times


def test_times_that_python_lacks_are_bad_records_in_every_field() -> None:
    """Each is a bad record with the field and the number, and the JSON of the row has the number."""
    frame = pl.from_arrow(far_times.table())
    assert isinstance(frame, pl.DataFrame)
    run = batch.run(far_times.LISTED, {far_times.SPANS: frame}, dead_letters=True)
    assert [pane.key for pane in run.panes] == ["good"]
    errors = {json.loads(bad.record)["key"]: bad.error for bad in run.bad_records}
    assert errors == far_times.ERRORS
    assert {json.loads(bad.record)["day"] for bad in run.bad_records} == {None, 10_000_000}


@pytest.mark.parametrize("row", range(1, 5))
def test_a_time_that_python_lacks_fails_the_run(row: int) -> None:
    """Without dead letters it is the error of the run, and of the reader of tables, which names the row."""
    table = far_times.table().slice(row, 1)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    with pytest.raises(ElementError, match="must be in the years 1 to 9999"):
        batch.run(far_times.LISTED, {far_times.SPANS: frame})
    if row < 4:
        with pytest.raises(ElementError, match="must be in the years 1 to 9999 .* in row 1"):
            records_in(far_times.SPANS, table)


def test_a_record_whose_time_in_utc_python_lacks_is_bad_in_the_reference() -> None:
    """It is a bad record, or an error that names the field."""
    late = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-10)))
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    records = [far_times.Span("late", noon, late, None, []), far_times.Span("good", noon, noon, None, [])]
    inputs = {far_times.SPANS: Timeline.batch(records, time=noon)}
    run = reference.run_batch(far_times.LISTED, {far_times.SPANS: records}, dead_letters=True)
    assert [pane.key for pane in run.panes] == ["good"]
    (bad,) = run.bad_records
    assert "element.until must be in the years 1 to 9999 of UTC" in bad.error
    with pytest.raises(ElementError, match=r"element\.until must be in the years 1 to 9999 of UTC"):
        reference.run(far_times.LISTED, inputs)


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_times_of_any_unit_are_rounded_down_to_microseconds(unit: Literal["ns", "us", "ms"]) -> None:
    """Nanoseconds are accepted and rounded down, also before the epoch; a far millisecond is bad and no panic."""
    per_second = {"ns": 10**9, "us": 10**6, "ms": 10**3}[unit]
    numbers = [-1, per_second + 1, 2**62 if unit == "ms" else 0]
    frame = pl.DataFrame(
        {
            "key": ["a", "b", "c"],
            "at": pl.Series(numbers).cast(pl.Datetime(unit, "Europe/Berlin")),
            "until": pl.Series([None] * 3, dtype=pl.Datetime("us", "UTC")),
            "day": pl.Series([None] * 3, dtype=pl.Date),
            "seen": pl.Series([[]] * 3, dtype=pl.List(pl.Datetime("us", "UTC"))),
        }
    )
    times = far_times.SPANS.map(lambda span: span.at)
    micros = [
        (span.at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        for span in records(frame[:2])
    ]
    assert micros == [number * 10**6 // per_second for number in numbers[:2]]
    run = batch.run(times, {far_times.SPANS: frame}, dead_letters=True)
    assert len(run.bad_records) == (unit == "ms")
    table = frame[:2].to_arrow()
    assert [span.at for span in records_in(far_times.SPANS, table)] == [
        span.at for span in records(frame[:2])
    ]


def records(frame: pl.DataFrame) -> list[far_times.Span]:
    """Returns the records of a frame as the local engine reads them."""
    return [element.element for element in batch.run(far_times.SPANS, {far_times.SPANS: frame}).elements]
