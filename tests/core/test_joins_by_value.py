"""Joins in windows that depend on the value: the window function of a user receives the value, on every engine.

These tests catch a batch that gives the function what it keeps beside a value, such as its event time.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest
from flowalg_laws.kit.readings import START, Reading
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    KV,
    Count,
    EventTime,
    FixedWindows,
    Interpreter,
    Mode,
    PCollection,
    Source,
    Timeline,
    Window,
)
from flowalg.windows import TimestampCombiner, WindowsByValue

MINUTE = timedelta(minutes=1)
LEFT = Source("left", Reading, event_time=lambda reading: reading.at)
RIGHT = Source("right", Reading, event_time=lambda reading: reading.at)


def minutes_of(time: EventTime, key: str, value: int) -> list[Window]:
    """Returns a window of as many minutes as the value says."""
    return [Window(time, EventTime(time + value * 60_000_000))]


def overlapping(windows: tuple[Window, ...]) -> Iterable[list[Window]]:
    """Returns the groups of windows that overlap."""
    groups: list[list[Window]] = []
    for window in sorted(windows, key=lambda window: (window.start, window.end)):
        if groups and window.start < max(other.end for other in groups[-1]):
            groups[-1].append(window)
        else:
            groups.append([window])
    return groups


def values_of(source: Source[Reading]) -> PCollection[KV[str, int]]:
    """Returns the values of a source, in windows of as many minutes as they say, which merge."""
    by_value = WindowsByValue("minutes", minutes_of, overlapping)
    keyed = source.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)
    return keyed.window(
        by_value, allowed_lateness=timedelta(0), timestamp_combiner=TimestampCombiner.EARLIEST
    )


PAIRS = values_of(LEFT).inner_join(values_of(RIGHT))
WINDOWED_AGAIN = PAIRS.window(FixedWindows(5 * MINUTE), allowed_lateness=timedelta(0)).combine_per_key(
    Count()
)
"""Pairs that have their own event times, since they are windowed again."""


def readings(*values: tuple[int, int]) -> Timeline[Reading]:
    """Returns readings of one key, by their minutes and values."""
    records = [Reading("a", value, START + minute * MINUTE, START) for minute, value in values]
    return Timeline[Reading]().at(START, *records).end(START + 60 * MINUTE)


INPUTS = {LEFT: readings((0, 3), (10, 1)), RIGHT: readings((2, 1), (11, 2))}
"""The first two overlap since the left value says three minutes; the last two do not."""


def counts(engine: Interpreter) -> list[tuple[object, str, object]]:
    """Returns the counts of pairs with their keys and windows."""
    panes = engine.run(WINDOWED_AGAIN, INPUTS).panes
    return [(pane.element.key, str(pane.window.start), pane.element.value) for pane in panes]


@pytest.mark.parametrize(
    "engine",
    [Reference(mode=Mode.MICRO_BATCH), PolarsStreaming(), ReferenceBatch(), PolarsBatch()],
    ids=lambda engine: type(engine).__name__,
)
def test_a_join_in_windows_by_value_has_the_pairs_of_the_values(engine: Interpreter) -> None:
    """The window function receives the value alone, also if each pair has an event time of its own."""
    assert counts(engine) == [("a", "2024-01-01T00:00:00Z", 1)]
