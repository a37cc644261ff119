"""Jobs about what user code sees of an element: its event time, its window and its pane."""

from __future__ import annotations

from flowalg import FOREVER, KV, Accumulation, AtCount, AtWatermark, Max, Sum
from flowalg.runs import Timing
from flowalg_laws.conformance.jobs.feeds import FIVE, SOME, always, five, key
from flowalg_laws.conformance.jobs.job import Answer, grouped, job
from flowalg_laws.kit.readings import VALUES, Reading

SUMS = VALUES.window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum())
EARLY_AND_LATE = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))


@job(
    VALUES.with_event_time().map(lambda pair: KV(pair[0].key, pair[1])).combine_per_key(Max()),
    SOME,
)
def event_times_of_elements(readings: list[Reading]) -> Answer:
    """The latest event time of each key, from elements that are paired with theirs."""
    for name, window, group in grouped(readings, key, always):
        yield KV(name, max(reading.at for reading in group)), window


@job(
    SUMS.with_event_time().map(lambda pair: KV(pair[0].key, (pair[0].value, pair[1].second))),
    SOME,
)
def event_times_of_panes(readings: list[Reading]) -> Answer:
    """The event time of a pane is the last instant of its window."""
    for name, window, group in grouped(readings, key, five):
        yield KV(name, (sum(reading.value for reading in group), 59)), window


@job(
    SUMS.with_window().map(lambda pair: KV(pair[0].key, (pair[0].value, pair[1].start, pair[1].end))),
    SOME,
)
def windows_of_panes(readings: list[Reading]) -> Answer:
    """The sum of each key and window, with the bounds of the window."""
    for name, window, group in grouped(readings, key, five):
        assert window is not None
        yield KV(name, (sum(reading.value for reading in group), *window)), window


@job(
    VALUES.window(
        FIVE, trigger=EARLY_AND_LATE, accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER
    )
    .combine_per_key(Sum())
    .with_window()
    .map(lambda pair: KV(pair[1].start, pair[0].value))
    .combine_per_key(Sum()),
    SOME,
)
def windows_of_retractions(readings: list[Reading]) -> Answer:
    """A retraction is in the window of the pane that it retracts, so that it retracts the same pair."""
    for start, window, group in grouped(readings, lambda reading: five(reading)[0], five):
        assert start is not None
        yield KV(start[0], sum(reading.value for reading in group)), window


@job(
    SUMS.with_pane().map(
        lambda pair: KV(
            pair[0].key, (pair[0].value, pair[1].timing, pair[1].index, pair[1].is_first, pair[1].is_last)
        )
    ),
    SOME,
)
def panes_of_sums(readings: list[Reading]) -> Answer:
    """The timing and the index of each pane; the pane of a batch is the first, on time and the last."""
    for name, window, group in grouped(readings, key, five):
        yield KV(name, (sum(reading.value for reading in group), Timing.ON_TIME, 0, True, True)), window


@job(
    VALUES.window(
        FIVE, trigger=EARLY_AND_LATE, accumulation=Accumulation.DISCARDING, allowed_lateness=FOREVER
    )
    .combine_per_key(Sum())
    .with_pane()
    .map(lambda pair: KV(pair[1].timing.value, pair[0].value))
    .combine_per_key(Sum()),
    SOME,
    panes="""
        10: +early=3 [0, 5) early 0
        11: +early=3 [0, 5) early 1
        11: +early=4 [5, 10) early 0
        12: +early=5 [5, 10) early 1
        13: +late=6 [0, 5) late 0
        13: +early=7 [5, 10) early 2
        14: +late=9 [0, 5) late 1
        14: +early=8 [10, 15) early 0
    """,
)
def sums_by_timing(readings: list[Reading]) -> Answer:
    """What early, on-time and late panes have contributed; in a batch all panes are on time."""
    for _, window, group in grouped(readings, lambda reading: None, five):
        yield KV("on_time", sum(reading.value for reading in group)), window


JOBS = (
    event_times_of_elements,
    event_times_of_panes,
    windows_of_panes,
    windows_of_retractions,
    panes_of_sums,
    sums_by_timing,
)
