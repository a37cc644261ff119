"""What elements read of a side input on a local stream, in columns and in Python, against the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from flowalg_laws import READINGS, VALUES, Reading
from flowalg_laws.strategies import free_timelines
from flowalg_polars import PolarsStreaming
from flowalg_polars.streaming.operators import Cluster
from flowalg_polars.streaming.side_reads import PairedInPython
from flowalg_reference import Reference
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    FixedWindows,
    GlobalWindows,
    Mode,
    PCollection,
    Repeat,
    Sum,
    Timeline,
    ToList,
)
from flowalg.errors import FlowalgError
from flowalg.pipeline import SideInput

EARLY = AtWatermark().with_early_firings(Repeat(AtCount(1)))


def sums(minutes: int | None) -> PCollection[KV[str, int]]:
    """Sums by key whose panes correct each other, in windows of some minutes or the global window."""
    windows = GlobalWindows() if minutes is None else FixedWindows(timedelta(minutes=minutes))
    windowed = VALUES.window(
        windows, trigger=EARLY, accumulation=Accumulation.RETRACTING, allowed_lateness=timedelta(hours=1)
    )
    return windowed.combine_per_key(Sum())


def numbers(minutes: int | None) -> SideInput[int]:
    """A number for each window, by corrections."""
    only = sums(minutes).filter(lambda pair: pair.key == "a")
    return only.map(lambda pair: pair.value).as_singleton(default=-1)


def lists(minutes: int | None) -> SideInput[list[int] | None]:
    """A list for each window, or none."""
    grouped = VALUES.window(
        GlobalWindows() if minutes is None else FixedWindows(timedelta(minutes=minutes)),
        trigger=AtWatermark(),
        accumulation=Accumulation.DISCARDING,
        allowed_lateness=timedelta(hours=1),
    ).combine_per_key(ToList())
    only = grouped.filter(lambda pair: pair.key == "a")
    return only.map(lambda pair: pair.value).as_singleton(default=None)


def mappings(minutes: int | None) -> SideInput[Mapping[str, int]]:
    """A mapping for each window, by corrections."""
    return sums(minutes).as_map()


def by_number(minutes: int | None) -> SideInput[Mapping[int, int | None]]:
    """A mapping of numbers to numbers or none; several values of a key are an error."""
    return sums(minutes).map(lambda p: KV(p.value % 50, p.value if p.value % 2 == 0 else None)).as_map()


def in_python(reading: Reading, mapping: Mapping[str, int]) -> int:
    """Reads a mapping as a whole."""
    return len(mapping) + sum(mapping.values()) + reading.value


READS: dict[str, Callable[[int | None], tuple[SideInput[object], Callable[..., object]]]] = {
    "a number": lambda m: (numbers(m), lambda r, n: (r.key, r.value + n)),
    "a list": lambda m: (lists(m), lambda r, values: (r.key, values)),
    "a key": lambda m: (mappings(m), lambda r, sums: (r.key, sums.get(r.key, -1))),
    "two keys": lambda m: (
        mappings(m),
        lambda r, sums: (sums.get(r.key, 0), sums.get("a", r.value)),
    ),
    "a number as a key": lambda m: (
        by_number(m),
        lambda r, values: values.get(r.value % 50, -7),
    ),
    "a mapping": lambda m: (mappings(m), in_python),
}


@pytest.mark.parametrize("name", READS)
@given(st.data())
def test_elements_read_what_the_reference_reads(name: str, data: st.DataObject) -> None:
    """Elements, event times and drops are those of the reference, or its error, in any cluster, with restarts."""
    minutes = data.draw(st.sampled_from([2, 5, None]))
    side, f = READS[name](minutes)
    if minutes is not None and data.draw(st.booleans()):
        side = side.latest_complete()
    read = READINGS.map_with(side, f)
    pipeline = read if data.draw(st.booleans()) else read.map(lambda value: (value, 1))
    inputs = {READINGS: data.draw(free_timelines())}
    cluster = data.draw(st.sampled_from([Cluster(), Cluster(2, 2, restarts=True)]))
    try:
        wanted = Reference(Mode.MICRO_BATCH).run(pipeline, inputs)
    except FlowalgError as error:
        with pytest.raises(type(error)):
            PolarsStreaming(cluster).run(pipeline, inputs)
        return
    run = PolarsStreaming(cluster).run(pipeline, inputs)
    assert run.elements == wanted.elements
    assert sum(drop.count for drop in run.dropped) == len(wanted.dropped)


@pytest.mark.parametrize("name", sorted(READS.keys() - {"a mapping"}))
def test_values_and_keys_are_read_in_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python sees no pair of an element and a side input where lifted steps read a single value or keys."""

    def fail(*_: object) -> pl.DataFrame:
        raise AssertionError("read in Python")

    monkeypatch.setattr(PairedInPython, "__call__", fail)
    side, f = READS[name](2)
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    timeline = Timeline.batch([Reading("a", 3, noon, noon)], time=noon)
    assert PolarsStreaming().run(READINGS.map_with(side, f), {READINGS: timeline}).elements
