"""Jobs about refinements: accumulation modes, allowed lateness, on-time panes, and the event times of panes."""

from __future__ import annotations

from datetime import timedelta

from flowalg import FOREVER, KV, Accumulation, AtCount, AtWatermark, Count, FixedWindows, Max, Sessions, Sum
from flowalg.windows import OnTimeBehavior, TimestampCombiner
from flowalg_laws.conformance.jobs.feeds import FIVE, SOME, feed, five, sum_in_windows, sums_in_fives
from flowalg_laws.conformance.jobs.job import Answer, fixed, grouped, job, minutes
from flowalg_laws.conformance.jobs.windows import number, split_into_sessions
from flowalg_laws.kit.readings import VALUES, Reading

MINUTE = timedelta(minutes=1)
OFTEN = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))


@job(
    sum_in_windows(OFTEN, accumulation=Accumulation.DISCARDING),
    SOME,
    panes="""
        10: +a=1 [0, 5) early 0
        10: +b=2 [0, 5) early 0
        11: +a=3 [0, 5) early 1
        11: +b=4 [5, 10) early 0
        12: +a=5 [5, 10) early 0
        13: +a=6 [0, 5) late 2
        13: +b=7 [5, 10) early 1
        14: +a=9 [0, 5) late 3
        14: +b=8 [10, 15) early 0
    """,
)
def discarding(readings: list[Reading]) -> Answer:
    """Each pane holds the elements since the previous pane."""
    return sums_in_fives(readings)


@job(
    sum_in_windows(OFTEN, accumulation=Accumulation.RETRACTING),
    SOME,
    panes="""
        10: +a=1 [0, 5) early 0
        10: +b=2 [0, 5) early 0
        11: -a=1 [0, 5) early 0
        11: +a=4 [0, 5) early 1
        11: +b=4 [5, 10) early 0
        12: +a=5 [5, 10) early 0
        13: -a=4 [0, 5) late 1
        13: +a=10 [0, 5) late 2
        13: -b=4 [5, 10) early 0
        13: +b=11 [5, 10) early 1
        14: -a=10 [0, 5) late 2
        14: +a=19 [0, 5) late 3
        14: +b=8 [10, 15) early 0
    """,
)
def retracting(readings: list[Reading]) -> Answer:
    """Each pane is retracted before the next pane of its window."""
    return sums_in_fives(readings)


@job(
    sum_in_windows(accumulation=Accumulation.DISCARDING),
    SOME,
    panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=6 [0, 5) late 1
        14: +a=9 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
)
def late_elements_alone(readings: list[Reading]) -> Answer:
    """A discarding late pane holds only the late elements."""
    return sums_in_fives(readings)


@job(
    sum_in_windows(accumulation=Accumulation.RETRACTING),
    SOME,
    panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: -a=4 [0, 5) late 0
        13: +a=10 [0, 5) late 1
        14: -a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
)
def late_corrections(readings: list[Reading]) -> Answer:
    """A late pane retracts the pane that it corrects."""
    return sums_in_fives(readings)


@job(
    sum_in_windows(on_time_behavior=OnTimeBehavior.ALWAYS),
    SOME,
    panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
)
def on_time_as_first_pane(readings: list[Reading]) -> Answer:
    """Windows whose first pane is on time have no second on-time pane."""
    return sums_in_fives(readings)


@job(
    sum_in_windows(OFTEN, Sessions(3 * MINUTE), accumulation=Accumulation.RETRACTING),
    SOME,
    panes="""
        10: +a=1 [0, 3) early 0
        10: +b=2 [1, 4) early 0
        11: +a=3 [4, 7) early 0
        11: +b=4 [6, 9) early 0
        12: -a=3 [4, 7) early 0
        12: +a=8 [4, 10) early 0
        13: -a=1 [0, 3) early 0
        13: -a=8 [4, 10) early 0
        13: +a=15 [0, 10) early 0
        13: -b=4 [6, 9) early 0
        13: +b=11 [6, 11) early 0
        14: -a=15 [0, 10) on_time 0
        14: +a=24 [0, 10) on_time 1
        14: +b=8 [13, 16) early 0
    """,
)
def sessions_that_retract(readings: list[Reading]) -> Answer:
    """A merged session retracts the panes of all sessions it replaces, in their windows."""
    for name in ("a", "b"):
        for run in split_into_sessions((reading for reading in readings if reading.key == name), 3):
            yield (
                KV(name, sum(reading.value for reading in run)),
                minutes(number(run[0]), number(run[-1]) + 3),
            )


@job(
    sum_in_windows(AtCount(2), Sessions(3 * MINUTE)),
    SOME,
    panes="""
        12: +a=8 [4, 10) early 0 last
        13: +a=7 [0, 5) late 0 last
        13: +b=11 [6, 11) early 0 last
        14: +b=2 [1, 4) late 0
        14: +b=8 [13, 16) on_time 0
    """,
    drops="14: 1 of a [3, 6) closed",
)
def a_closed_session(readings: list[Reading]) -> Answer:
    """Elements in a session whose trigger has finished are dropped; elements next to it start a new session."""
    for name in ("a", "b"):
        for run in split_into_sessions((reading for reading in readings if reading.key == name), 3):
            yield (
                KV(name, sum(reading.value for reading in run)),
                minutes(number(run[0]), number(run[-1]) + 3),
            )


@job(
    sum_in_windows(allowed_lateness=MINUTE),
    SOME,
    panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1 last
        14: +a=5 [5, 10) on_time 0 last
        14: +b=11 [5, 10) on_time 0 last
        14: +b=8 [10, 15) on_time 0 last
    """,
    drops="14: 1 of a [0, 5) expired",
)
def a_minute_of_lateness(readings: list[Reading]) -> Answer:
    """An element of an expired window is dropped and counted; the last pane of a window is marked as last."""
    return sums_in_fives(readings)


@job(
    sum_in_windows(allowed_lateness=None),
    SOME,
    panes="""
        12: +a=4 [0, 5) on_time 0
        12: +b=2 [0, 5) on_time 0
        13: +a=10 [0, 5) late 1
        14: +a=19 [0, 5) late 2
        14: +a=5 [5, 10) on_time 0
        14: +b=11 [5, 10) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
)
def unset_lateness(readings: list[Reading]) -> Answer:
    """With an unset allowed lateness, all late elements are accepted in memory."""
    return sums_in_fives(readings)


QUIET = feed("10: a=1@0, b=2@1", "11: a=3@2", "12: b=4@9", "13: b=5@13")


@job(
    sum_in_windows(AtCount(1).repeat().until(AtWatermark()), on_time_behavior=OnTimeBehavior.ALWAYS),
    QUIET,
    panes="""
        10: +a=1 [0, 5) early 0
        10: +b=2 [0, 5) early 0
        11: +a=4 [0, 5) early 1
        12: +a=4 [0, 5) on_time 2 last
        12: +b=2 [0, 5) on_time 1 last
        12: +b=4 [5, 10) early 0
        13: +b=4 [5, 10) on_time 1 last
        13: +b=5 [10, 15) early 0
        13: +b=5 [10, 15) on_time 1 last
    """,
)
def always_on_time(readings: list[Reading]) -> Answer:
    """A window has an on-time pane even if it has not changed since the last pane."""
    return sums_in_fives(readings)


@job(
    sum_in_windows(timestamp_combiner=TimestampCombiner.EARLIEST),
    SOME,
    panes="""
        12: +a=4 [0, 5) on_time 0 at 0
        12: +b=2 [0, 5) on_time 0 at 1
        13: +a=10 [0, 5) late 1 at 0
        14: +a=19 [0, 5) late 2 at 0
        14: +a=5 [5, 10) on_time 0 at 7
        14: +b=11 [5, 10) on_time 0 at 6
        14: +b=8 [10, 15) on_time 0 at 13
    """,
)
def panes_at_the_earliest_event_time(readings: list[Reading]) -> Answer:
    """A pane has the earliest event time of its elements."""
    return sums_in_fives(readings)


@job(
    sum_in_windows(timestamp_combiner=TimestampCombiner.LATEST),
    SOME,
    panes="""
        12: +a=4 [0, 5) on_time 0 at 4
        12: +b=2 [0, 5) on_time 0 at 1
        13: +a=10 [0, 5) late 1 at 4
        14: +a=19 [0, 5) late 2 at 4
        14: +a=5 [5, 10) on_time 0 at 7
        14: +b=11 [5, 10) on_time 0 at 8
        14: +b=8 [10, 15) on_time 0 at 13
    """,
)
def panes_at_the_latest_event_time(readings: list[Reading]) -> Answer:
    """A pane has the latest event time of its elements."""
    return sums_in_fives(readings)


@job(
    sum_in_windows(OFTEN, accumulation=Accumulation.RETRACTING)
    .map(lambda pair: KV("all", pair.value))
    .window(FixedWindows(10 * MINUTE), accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER)
    .combine_per_key(Sum(), Count()),
    SOME,
    panes="""
        14: +all=(37, 4) [0, 10) on_time 0
        14: +all=(8, 1) [10, 20) on_time 0
    """,
)
def retractions_downstream(readings: list[Reading]) -> Answer:
    """A grouping downstream applies retractions, so no element counts twice."""
    sums = list(sums_in_fives(readings))
    for _, window, group in grouped(sums, lambda pair: 0, lambda pair: [fixed(pair[1][0], 10)]):  # type: ignore[index]  # no window here is all of time
        values = [pair.value for pair, _ in group]
        yield KV("all", (sum(values), len(values))), window


@job(
    sum_in_windows(accumulation=Accumulation.RETRACTING)
    .map(lambda pair: KV("all", pair.value))
    .combine_per_key(Max()),
    SOME,
    panes="""
        12: +all=4 [0, 5) on_time 0
        13: -all=4 [0, 5) late 0
        13: +all=10 [0, 5) late 1
        14: -all=10 [0, 5) late 1
        14: +all=19 [0, 5) late 2
        14: +all=11 [5, 10) on_time 0
        14: +all=8 [10, 15) on_time 0
    """,
)
def a_maximum_of_corrected_values(readings: list[Reading]) -> Answer:
    """For a combiner that cannot subtract, a retraction combines the remaining values again."""
    sums = list(sums_in_fives(readings))
    for _, window, group in grouped(sums, lambda pair: 0, lambda pair: [pair[1]]):
        yield KV("all", max(pair.value for pair, _ in group)), window


@job(
    VALUES.map(lambda pair: pair.key)
    .window(FIVE, trigger=OFTEN, allowed_lateness=FOREVER)
    .distinct()
    .key_by(lambda name: "names")
    .combine_per_key(Count()),
    SOME,
    panes="""
        10: +names=2 [0, 5) early 0
        11: -names=2 [0, 5) early 0
        11: +names=2 [0, 5) early 1
        11: +names=1 [5, 10) early 0
        12: -names=1 [5, 10) early 0
        12: +names=2 [5, 10) early 1
        13: -names=2 [0, 5) late 1
        13: +names=2 [0, 5) late 2
        13: -names=2 [5, 10) early 1
        13: +names=2 [5, 10) early 2
        14: -names=2 [0, 5) late 2
        14: +names=2 [0, 5) late 3
        14: +names=1 [10, 15) early 0
    """,
)
def distinct_names_are_counted_once(readings: list[Reading]) -> Answer:
    """With an unset accumulation mode, an element that a late duplicate emits again counts once."""
    for _, window, group in grouped(readings, lambda reading: 0, five):
        yield KV("names", len({reading.key for reading in group})), window


PANE_TIMES = (panes_at_the_earliest_event_time, panes_at_the_latest_event_time)
"""The jobs that also apply to batches."""

JOBS = (
    discarding,
    retracting,
    late_elements_alone,
    late_corrections,
    on_time_as_first_pane,
    sessions_that_retract,
    a_closed_session,
    a_minute_of_lateness,
    unset_lateness,
    always_on_time,
    panes_at_the_earliest_event_time,
    panes_at_the_latest_event_time,
    retractions_downstream,
    a_maximum_of_corrected_values,
    distinct_names_are_counted_once,
)
