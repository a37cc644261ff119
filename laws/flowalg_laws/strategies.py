"""hypothesis strategies for timelines and what lies on them; they shrink to something that a person can read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeVar

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    FOREVER,
    Accumulation,
    AfterDelay,
    AllowedLateness,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtWatermark,
    BoundedDisorder,
    CalendarDays,
    ClockView,
    CustomPolicy,
    FixedWindows,
    GlobalWindows,
    IngressTime,
    Instant,
    LagQuantile,
    MonotonePerPartition,
    Never,
    OnceTrigger,
    OnTime,
    Or,
    OrFinally,
    PaneTime,
    PCollection,
    Perfect,
    Repeat,
    SequenceOf,
    Sessions,
    Sighting,
    SlidingWindows,
    Source,
    Timeline,
    Timeout,
    Trigger,
    WatermarkPolicy,
    WindowFn,
    WindowingStrategy,
)
from flowalg.time import MAX_TIME, MIN_TIME, EventTime, event_time, processing_time
from flowalg.watermarks import Moment
from flowalg_laws.watermarks import History

A = TypeVar("A")
START = datetime(2024, 1, 1, tzinfo=UTC)
MAX_MINUTE = 40


@frozen
class Reading:
    """A small record to generate: a key, a value, when it happened, and when it was seen."""

    key: str
    value: int
    at: datetime
    seen: datetime


def minutes(low: int = 0, high: int = MAX_MINUTE) -> SearchStrategy[datetime]:
    """Whole minutes after the start, so that ties and boundaries are common."""
    return st.integers(low, high).map(lambda minute: START + timedelta(minutes=minute))


def durations(low: int = 1, high: int = 15) -> SearchStrategy[timedelta]:
    """Whole minutes."""
    return st.integers(low, high).map(lambda minute: timedelta(minutes=minute))


def readings(*, keys: str = "ab") -> SearchStrategy[Reading]:
    """Readings whose two times are independent: late, early and out of order."""
    return st.builds(
        Reading, key=st.sampled_from(keys), value=st.integers(-5, 5), at=minutes(), seen=minutes()
    )


def batches(*, most: int = 8) -> SearchStrategy[list[list[Reading]]]:
    """Micro-batches of readings, empty ones among them."""
    return st.lists(st.lists(readings(), max_size=6), max_size=most)


def policies() -> SearchStrategy[BoundedDisorder]:
    """Bounded disorder, from none to more than everything."""
    return durations(0, MAX_MINUTE).map(BoundedDisorder)


def halfway(view: ClockView) -> datetime | None:
    """A custom watermark: half of the median lag behind the processing time."""
    lag = view.lag(0.5)
    return None if lag is None else view.processing_time - lag / 2


def watermark_policies() -> SearchStrategy[WatermarkPolicy]:
    """Every watermark policy, with any of its options."""
    options = {
        "idle_after": st.none() | durations(1, 20),
        "max_ahead": st.none() | durations(0, 20),
        "percentiles": st.lists(quantiles(), max_size=3, unique=True).map(tuple),
        "recent": durations(1, 60),
        "resolution": st.sampled_from(
            (timedelta(microseconds=7), timedelta(seconds=50), timedelta(minutes=3))
        ),
    }
    return st.one_of(
        st.builds(MonotonePerPartition, **options),
        st.builds(BoundedDisorder, durations(0, MAX_MINUTE), **options),
        st.builds(Perfect, **options),
        st.builds(Timeout, durations(0, MAX_MINUTE), **options),
        st.builds(LagQuantile, quantiles(), **options),
        st.builds(IngressTime, **options),
        st.builds(CustomPolicy, st.just("halfway"), st.just(halfway), **options),
    )


def quantiles() -> SearchStrategy[float]:
    """Numbers strictly between 0 and 1, the usual ones first."""
    return st.sampled_from((0.5, 0.07, 0.9, 0.99)) | st.floats(0, 1, exclude_min=True, exclude_max=True)


def sightings() -> SearchStrategy[Sighting]:
    """Records of three partitions, whose two times are independent: late, early and ahead of the clock."""
    return st.builds(
        Sighting, st.sampled_from("pqr"), minutes().map(event_time), minutes().map(processing_time)
    )


@st.composite
def histories(draw: st.DrawFn, *, most: int = 8) -> History:
    """What a source shows in some instants; an instant is not before its records, nor before the last one."""
    clock = START
    moments: list[Moment] = []
    for batch in draw(st.lists(st.lists(sightings(), max_size=5), max_size=most)):
        clock += draw(durations(0, 9))
        now = max([processing_time(clock), *(one.processing_time for one in batch)])
        before = moments[-1].processing_time if moments else now
        moments.append(Moment(max(now, before), tuple(batch)))
    return tuple(moments)


@st.composite
def timelines(draw: st.DrawFn, source: Source[Reading]) -> Timeline[Reading]:
    """Timelines of readings in micro-batches, with a bounded-disorder watermark, ended or not."""
    return Timeline.micro_batches(
        source,
        draw(batches()),
        processing_time=lambda one: one.seen,
        watermark=draw(policies()),
        ends=draw(st.booleans()),
    )


@st.composite
def free_timelines(draw: st.DrawFn, *, ends: bool | None = None) -> Timeline[Reading]:
    """Timelines whose watermarks and signals are anything that never goes back: no policy made them."""
    instants: list[Instant[Reading]] = []
    clock, reads, quick = START, MIN_TIME, MIN_TIME
    for batch in draw(batches()):
        clock += draw(durations(0, 9))
        reads = max(reads, draw(st.just(reads) | minutes().map(_event)))
        quick = max(quick, reads, draw(st.just(quick) | minutes().map(_event)))
        signals = draw(st.frozensets(st.sampled_from(("x", "y")), max_size=1))
        seen = processing_time(clock)
        instants.append(Instant(seen, tuple(batch), reads, {0.5: quick}, signals))
    if draw(st.booleans()) if ends is None else ends:
        instants.append(Instant(processing_time(clock), (), MAX_TIME, {0.5: MAX_TIME}))
    return Timeline(tuple(instants))


def _event(point: datetime) -> EventTime:
    return event_time(point)


def fixed_windows() -> SearchStrategy[FixedWindows]:
    """Fixed windows of one to fifteen minutes, with any offset."""
    return st.integers(1, 15).flatmap(
        lambda size: st.integers(0, size - 1).map(
            lambda offset: FixedWindows(timedelta(minutes=size), timedelta(minutes=offset))
        )
    )


def sliding_windows() -> SearchStrategy[SlidingWindows]:
    """Sliding windows that overlap, touch, or leave gaps."""
    return st.builds(SlidingWindows, durations(), durations(2))


def sessions() -> SearchStrategy[Sessions]:
    """Sessions with a gap that may join few or all of the events."""
    return st.builds(Sessions, durations())


def window_fns() -> SearchStrategy[WindowFn]:
    """Every built-in window strategy."""
    return st.one_of(
        st.builds(GlobalWindows),
        fixed_windows(),
        sliding_windows(),
        sessions(),
        st.sampled_from(("UTC", "Asia/Tokyo")).map(CalendarDays),
    )


def positive(value: int) -> bool:
    """A predicate for data-driven triggers."""
    return value > 0


def magnitude(value: int) -> int:
    """A measure for data-driven triggers."""
    return abs(value)


def once_leaves() -> SearchStrategy[OnceTrigger]:
    """Once-triggers without parts, the simplest first."""
    return st.one_of(
        st.just(AtWatermark()),
        st.integers(1, 4).map(AtCount),
        durations(1, 9).map(AtPeriod),
        durations(0, 9).map(AfterDelay),
        st.just(Never()),
        st.just(Always()),
        st.just(AtElement(positive)),
        st.integers(1, 9).map(lambda amount: AtMeasure(magnitude, amount)),
        st.sampled_from(("x", "y")).map(AtSignal),
        st.just(AtWatermark(0.5)),
    )


def once_triggers() -> SearchStrategy[OnceTrigger]:
    """Once-triggers of small depth."""

    def compound(inner: SearchStrategy[OnceTrigger]) -> SearchStrategy[OnceTrigger]:
        return st.one_of(st.builds(And, inner, inner), st.builds(Or, inner, inner))

    return st.recursive(once_leaves(), compound, max_leaves=4)


def triggers() -> SearchStrategy[Trigger]:
    """Every trigger, of small depth."""

    def compound(inner: SearchStrategy[Trigger]) -> SearchStrategy[Trigger]:
        return st.one_of(
            st.builds(Repeat, inner),
            st.builds(SequenceOf, inner, inner),
            st.builds(OrFinally, inner, once_triggers()),
        )

    start: SearchStrategy[Trigger] = once_triggers()
    return st.recursive(start, compound, max_leaves=4)


def latenesses() -> SearchStrategy[AllowedLateness]:
    """Allowed latenesses: none, some, and for ever."""
    return st.one_of(durations(0), st.just(FOREVER))


@st.composite
def windowing_strategies(
    draw: st.DrawFn,
    *,
    windows: SearchStrategy[WindowFn] | None = None,
    trigger: SearchStrategy[Trigger] | None = None,
    modes: SearchStrategy[Accumulation] | None = None,
    plain: bool = False,
) -> WindowingStrategy:
    """Windowing strategies, each part of which is drawn unless it is given.

    With ``plain`` panes carry the end of their window, and only what has changed comes out.
    """
    return WindowingStrategy(
        draw(window_fns() if windows is None else windows),
        draw(triggers() if trigger is None else trigger),
        draw(st.sampled_from(Accumulation) if modes is None else modes),
        draw(latenesses()),
        PaneTime.END_OF_WINDOW if plain else draw(st.sampled_from(PaneTime)),
        OnTime.IF_CHANGED if plain else draw(st.sampled_from(OnTime)),
    )


def put_into(collection: PCollection[A], strategy: WindowingStrategy) -> PCollection[A]:
    """A collection in the windows of a strategy."""
    return collection.window(
        strategy.windows,
        trigger=strategy.trigger,
        accumulation=strategy.accumulation,
        allowed_lateness=strategy.allowed_lateness,
        pane_time=strategy.pane_time,
        on_time=strategy.on_time,
    )


__all__ = [
    "Reading",
    "batches",
    "durations",
    "fixed_windows",
    "free_timelines",
    "halfway",
    "histories",
    "latenesses",
    "minutes",
    "once_leaves",
    "once_triggers",
    "policies",
    "put_into",
    "quantiles",
    "readings",
    "sessions",
    "sightings",
    "sliding_windows",
    "timelines",
    "triggers",
    "watermark_policies",
    "window_fns",
    "windowing_strategies",
]
