"""hypothesis strategies for timelines and what lies on them; they shrink to something that a person can read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    FOREVER,
    KV,
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
    FixedWindows,
    GlobalWindows,
    Instant,
    Never,
    OnceTrigger,
    OnTime,
    Or,
    OrFinally,
    PaneTime,
    PCollection,
    Repeat,
    SequenceOf,
    Sessions,
    SlidingWindows,
    Source,
    Timeline,
    Trigger,
    WindowFn,
)
from flowalg.time import MAX_TIME, MIN_TIME, EventTime, event_time, processing_time

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

    start: SearchStrategy[Trigger] = once_triggers()  # type: ignore[assignment]  # a once-trigger is a trigger
    return st.recursive(start, compound, max_leaves=4)


def latenesses() -> SearchStrategy[AllowedLateness]:
    """Allowed latenesses: none, some, and for ever."""
    return st.one_of(durations(0), st.just(FOREVER))


@st.composite
def strategies_of_windowing(
    draw: st.DrawFn,
    collection: PCollection[KV[str, int]],
    *,
    windows: SearchStrategy[WindowFn] | None = None,
    trigger: SearchStrategy[Trigger] | None = None,
    modes: SearchStrategy[Accumulation] | None = None,
    plain: bool = False,
) -> PCollection[KV[str, int]]:
    """A keyed collection put into generated windows, with a generated trigger, mode and lateness.

    With ``plain`` panes carry the end of their window, and only what has changed comes out.
    """
    return collection.window(
        draw(windows or window_fns()),
        trigger=draw(trigger or triggers()),
        accumulation=draw(modes or st.sampled_from(Accumulation)),
        allowed_lateness=draw(latenesses()),
        pane_time=PaneTime.END_OF_WINDOW if plain else draw(st.sampled_from(PaneTime)),
        on_time=OnTime.IF_CHANGED if plain else draw(st.sampled_from(OnTime)),
    )


__all__ = [
    "Reading",
    "batches",
    "durations",
    "fixed_windows",
    "free_timelines",
    "latenesses",
    "minutes",
    "once_leaves",
    "once_triggers",
    "policies",
    "readings",
    "sessions",
    "sliding_windows",
    "strategies_of_windowing",
    "timelines",
    "triggers",
    "window_fns",
]
