"""Pipelines whose stages drop late elements, each in another way, and a timeline on which all of them do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.kit.readings import READINGS, START, VALUES, Reading
from flowalg_reference import Reference

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    EventTime,
    FixedWindows,
    Interpreter,
    Max,
    Mode,
    PCollection,
    Sessions,
    SlidingWindows,
    Sum,
    Timeline,
    Window,
)
from flowalg.combiners import reduce_combiner
from flowalg.windows import CustomWindows, WindowsByValue

MINUTE: Final = timedelta(minutes=1)
NONE: Final = timedelta(0)
EARLY: Final = AtWatermark().with_early_firings(AtCount(1)).repeat()


def around(point: EventTime, key: object) -> list[Window]:
    """Returns a minute on both sides of an event time."""
    return [Window(EventTime(point - 60_000_000), EventTime(point + 60_000_000))]


def first_or_rest(point: EventTime, key: object) -> list[Window]:
    """Returns the first ten minutes of a quarter of an hour for its first five, and the last ten for the others."""
    minute = 60_000_000
    start, time = divmod(point, 15 * minute)
    bounds = (0, 10) if time < 5 * minute else (5, 15)
    return [Window(*(EventTime(start * 15 * minute + bound * minute) for bound in bounds))]


def overlapping(windows: Iterable[Window]) -> list[Sequence[Window]]:
    """Returns the windows in groups that overlap."""
    groups: list[list[Window]] = []
    for window in sorted(windows):
        if groups and window.start <= max(other.end for other in groups[-1]):
            groups[-1].append(window)
        else:
            groups.append([window])
    return list[Sequence[Window]](groups)


def by_value(point: EventTime, key: object, value: int) -> list[Window]:
    """Returns the window from an event time on that is as many minutes long as the value, or a minute."""
    return [Window(point, EventTime(point + 60_000_000 * max(1, value)))]


def longer(one: int, other: int) -> int:
    """Returns the greater of two numbers."""
    return max(one, other)


FIXED: Final = VALUES.window(FixedWindows(2 * MINUTE), allowed_lateness=NONE)
SUMS: Final = FIXED.combine_per_key(Sum())
EARLY_SUMS: Final = VALUES.window(
    FixedWindows(2 * MINUTE),
    trigger=EARLY,
    accumulation=Accumulation.RETRACTING,
    allowed_lateness=30 * MINUTE,
).combine_per_key(Sum())
ODD: Final = FIXED.filter(lambda pair: pair.value % 2 == 1)
PIPELINES: Final[dict[str, PCollection[object]]] = {
    "fixed windows": SUMS,
    "sliding windows": VALUES.window(
        SlidingWindows(4 * MINUTE, MINUTE), allowed_lateness=NONE
    ).combine_per_key(Sum(), Count()),
    "sessions": VALUES.window(Sessions(2 * MINUTE), allowed_lateness=MINUTE).combine_per_key(Max()),
    "sessions that close": VALUES.window(
        Sessions(2 * MINUTE), trigger=AtCount(1), allowed_lateness=30 * MINUTE
    ).combine_per_key(Sum()),
    "windows that merge and close": VALUES.window(
        CustomWindows("around", around, overlapping), trigger=AtCount(1), allowed_lateness=30 * MINUTE
    ).combine_per_key(Sum()),
    "windows of which a closed one has a part": VALUES.window(
        CustomWindows("first or rest", first_or_rest, overlapping),
        trigger=AtCount(1),
        allowed_lateness=30 * MINUTE,
    ).combine_per_key(Sum()),
    "windows by value": VALUES.window(
        WindowsByValue("by value", by_value), allowed_lateness=NONE
    ).combine_per_key(Sum()),
    "objects": FIXED.combine_per_key(reduce_combiner(longer, zero=0)),
    "without keys": READINGS.map(lambda reading: reading.value)
    .window(FixedWindows(2 * MINUTE), allowed_lateness=NONE)
    .combine_globally(Sum()),
    "panes of a pane": SUMS.map_values(lambda total: total + 1)
    .window(FixedWindows(3 * MINUTE), allowed_lateness=NONE)
    .combine_per_key(Sum()),
    "corrections": EARLY_SUMS.map(lambda pair: KV("all", pair.value))
    .window(Sessions(MINUTE), allowed_lateness=NONE)
    .combine_per_key(Max()),
    "panes in the same windows": VALUES.window(
        FixedWindows(2 * MINUTE), trigger=AtCount(1), allowed_lateness=30 * MINUTE
    )
    .combine_per_key(Sum())
    .map(lambda pair: KV("all", pair.value))
    .combine_per_key(Sum()),
    "join": FIXED.inner_join(ODD),
    "anti join": FIXED.anti_join(ODD),
    "side input": FIXED.filter_with(
        EARLY_SUMS.map(lambda pair: pair.value).combine_globally(Sum()).as_singleton(default=0),
        lambda pair, total: pair.value <= total,
    ),
    "computation": EARLY_SUMS.deduplicate(by=lambda pair: pair.value, within=MINUTE, in_order=True),
}
"""Pipelines by what drops elements in them."""

RECORDS: Final = (
    [("a", 1, 1), ("b", 2, 2), ("a", 3, 3)],
    [("a", 5, 12), ("a", 6, 6)],
    [("a", 1, 1), ("a", 1, 1), ("b", 3, 2), ("a", 2, 11), ("b", 2, 8)],
    [("b", 7, 40), ("b", 1, 10), ("b", 1, 0)],
    [("a", 4, 12), ("b", 3, 11), ("a", 2, 39), ("b", 3, 30)],
)
"""A key, a value and the minute of each element, by micro-batch."""
TIMELINE: Final = Timeline.micro_batches(
    READINGS,
    [
        [Reading(key, value, START + minute * MINUTE, START + number * MINUTE) for key, value, minute in part]
        for number, part in enumerate(RECORDS)
    ],
    processing_time=lambda reading: reading.seen,
    watermark=BoundedOutOfOrderness(MINUTE),
)


def require_drops(engine: Interpreter, name: str, timeline: Timeline[Reading] = TIMELINE) -> None:
    """Fails unless a pipeline has the panes and dropped elements of the reference; of ``TIMELINE`` there are some."""
    expected = Reference(Mode.MICRO_BATCH).run(PIPELINES[name], {READINGS: timeline})
    run = engine.run(PIPELINES[name], {READINGS: timeline})
    assert expected.dropped or timeline is not TIMELINE
    assert Counter(run.dropped) == Counter(expected.dropped)
    assert sorted(map(full_line, run.panes)) == sorted(map(full_line, expected.panes))
