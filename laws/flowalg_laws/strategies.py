"""hypothesis strategies for timelines and what lies on them; they shrink to something that a person can read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    FOREVER,
    KV,
    AllowedLateness,
    AtWatermark,
    BoundedDisorder,
    FixedWindows,
    GlobalWindows,
    PCollection,
    Repeat,
    Source,
    Timeline,
    Trigger,
    WindowFn,
)

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
    return st.integers(0, MAX_MINUTE).map(lambda minute: BoundedDisorder(timedelta(minutes=minute)))


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


def fixed_windows() -> SearchStrategy[FixedWindows]:
    """Fixed windows of one to fifteen minutes, with any offset."""
    return st.integers(1, 15).flatmap(
        lambda size: st.integers(0, size - 1).map(
            lambda offset: FixedWindows(timedelta(minutes=size), timedelta(minutes=offset))
        )
    )


def window_fns() -> SearchStrategy[WindowFn]:
    """Every built-in window strategy."""
    return st.one_of(st.builds(GlobalWindows), fixed_windows())


def triggers() -> SearchStrategy[Trigger]:
    """Every trigger, of small depth."""
    leaves: SearchStrategy[Trigger] = st.builds(AtWatermark)
    return st.one_of(st.just(Repeat(AtWatermark())), leaves, st.just(Repeat(Repeat(AtWatermark()))))


def latenesses() -> SearchStrategy[AllowedLateness]:
    """Allowed latenesses: none, some, and for ever."""
    return st.one_of(st.integers(0, 15).map(lambda minute: timedelta(minutes=minute)), st.just(FOREVER))


@st.composite
def strategies_of_windowing(
    draw: st.DrawFn, collection: PCollection[KV[str, int]]
) -> PCollection[KV[str, int]]:
    """A keyed collection put into generated windows, with a generated trigger and lateness."""
    return collection.window(
        draw(window_fns()), trigger=draw(triggers()), allowed_lateness=draw(latenesses())
    )


__all__ = [
    "Reading",
    "batches",
    "fixed_windows",
    "latenesses",
    "minutes",
    "policies",
    "readings",
    "strategies_of_windowing",
    "timelines",
    "triggers",
    "window_fns",
]
