"""Timelines with late data, ties, bursts, duplicates, silent periods and clock jumps."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import Source, Timeline, Window
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime, event_time, processing_time
from flowalg.runs import Instant, Signal
from flowalg.runs.signals import AnySignal
from flowalg.watermarks import WatermarkPolicy
from flowalg_laws.kit.readings import START, DenseTimeline, Reading
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.elements import batches, bundles
from flowalg_laws.strategies.sources import policies, watermark_policies
from flowalg_laws.strategies.times import CROWDED, durations, event_times, minutes, point

_GAPS: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 7, 9, 60)
"""Minutes between instants: zero for a tie, and a large gap for a clock jump."""

_SHORT_GAPS: tuple[int, ...] = (0, 1, 3)

Step = tuple[int, tuple[Reading, ...], EventTime | None, EventTime | None, frozenset[AnySignal], bool]


_NONE = frozenset[AnySignal]()
_ALL = frozenset[AnySignal](("x",))
_SOME = frozenset[AnySignal]((Signal("x", "a", Window(event_time(point(0)), event_time(point(5)))),))
_SIGNALS: tuple[frozenset[AnySignal], ...] = (
    _NONE,
    _NONE,
    _ALL,
    _SOME,
    frozenset(("y",)),
    frozenset((Signal("x", "b"), Signal("y", "a"))),
)
"""Signals to all windows, to those of a key, and to one window; often none."""


_IDLE = st.sampled_from((False, False, False, True))
"""Whether the source is idle until its next instant, which matters if there are others."""


@cached
def free_timelines(*, ends: bool | None = None) -> SearchStrategy[Timeline[Reading]]:
    """Timelines with arbitrary monotone watermarks and signals, without a watermark policy.

    Watermarks are whole minutes, as the ends of windows are, or one microsecond before. The percentile watermark is
    independent: it may be behind the watermark.
    """
    reads = st.none() | event_times() | event_times().map(_just_before)
    ending = st.booleans() if ends is None else st.just(ends)

    def bringing(elements: SearchStrategy[tuple[Reading, ...]]) -> SearchStrategy[Timeline[Reading]]:
        step = st.tuples(st.sampled_from(_GAPS), elements, reads, reads, st.sampled_from(_SIGNALS), _IDLE)
        return st.tuples(st.lists(step, max_size=8), ending).map(_timeline)

    return bringing(bundles()) | bringing(bundles(latest=CROWDED))


@cached
def dense_timelines() -> SearchStrategy[DenseTimeline]:
    """Timelines of one key whose elements arrive one or two at a time, often in complete windows."""
    reading = st.builds(Reading, st.just("a"), st.integers(1, 9), minutes(0, CROWDED), minutes(0, 0))
    few = st.lists(reading, min_size=1, max_size=2).map(tuple)
    close = event_times(CROWDED + 3)
    reads = st.none() | close | close.map(_just_before)
    step = st.tuples(
        st.sampled_from(_SHORT_GAPS), few, reads, reads, st.sampled_from((_NONE, _ALL, _SOME)), _IDLE
    )
    return st.tuples(st.lists(step, min_size=2, max_size=8), st.booleans()).map(_timeline).map(DenseTimeline)


def _just_before(time: EventTime) -> EventTime:
    return EventTime(time - 1)


def _timeline(drawn: tuple[list[Step], bool]) -> Timeline[Reading]:
    steps, ends = drawn
    instants: list[Instant[Reading]] = []
    clock, watermark, percentile = processing_time(START), MIN_TIME, MIN_TIME
    for gap, elements, reads, quickly, signals, idle in steps:
        clock = ProcessingTime(clock + gap * 60_000_000)
        watermark = max(watermark, MIN_TIME if reads is None else reads)
        percentile = max(percentile, MIN_TIME if quickly is None else quickly)
        idle_at = clock if idle else None
        instants.append(Instant(clock, elements, watermark, {0.5: percentile}, signals, idle_at=idle_at))
    if ends:
        instants.append(Instant(clock, (), MAX_TIME, {0.5: MAX_TIME}))
    return Timeline(tuple(instants))


@cached
def timelines(
    source: Source[Reading], *, policy: SearchStrategy[WatermarkPolicy] | None = None
) -> SearchStrategy[Timeline[Reading]]:
    """Timelines of readings in micro-batches, made with a watermark policy, by default bounded out-of-orderness."""

    def build(drawn: tuple[list[list[Reading]], WatermarkPolicy, bool]) -> Timeline[Reading]:
        records, watermark, ends = drawn
        return Timeline.micro_batches(
            source, records, processing_time=lambda reading: reading.seen, watermark=watermark, ends=ends
        )

    return st.tuples(batches(), policies() if policy is None else policy, st.booleans()).map(build)


@cached
def partitioned_timelines(source: Source[Reading]) -> SearchStrategy[Timeline[Reading]]:
    """Timelines of a source with a partition for each key, with any policy; partitions become idle and active again."""

    def build(drawn: tuple[list[list[Reading]], WatermarkPolicy, timedelta | None]) -> Timeline[Reading]:
        records, watermark, tick = drawn
        return Timeline.from_records(
            source,
            [record for batch in records for record in batch],
            processing_time=lambda reading: reading.seen,
            watermark=watermark,
            partition=lambda reading: reading.key,
            tick=tick,
        )

    return st.tuples(batches(most=4), watermark_policies(), st.none() | durations(1, 9)).map(build)
