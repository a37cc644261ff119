"""Windows of side inputs are freed: which elements are too late to read one, and what remains in state.

These tests catch a bound that drops elements which a grouping would have accepted, or that keeps windows for ever.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import pytest
from flowalg_laws import READINGS
from flowalg_laws.kit.readings import VALUES, Reading
from flowalg_laws.strategies.times import event_times, point
from flowalg_polars import Cluster, PolarsStreaming, streaming
from flowalg_reference import Reference
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    KV,
    BoundedOutOfOrderness,
    CalendarDays,
    Count,
    FixedWindows,
    GlobalWindows,
    Interpreter,
    PCollection,
    Sessions,
    SlidingWindows,
    Source,
    Sum,
    Timeline,
)
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, event_time
from flowalg.pipeline.nodes import WithSide
from flowalg.pipeline.side_inputs import Lateness
from flowalg.pipeline.structure import lateness_of_readers
from flowalg.runs import Drop, DropReason
from flowalg.windows import AllowedLateness, CalendarMonths, WindowFn, WindowingStrategy
from flowalg.windows.window_functions import are_by_key, assign_windows
from tests.support.depth import a_few

MINUTE = timedelta(minutes=1)
RATES = Source("rates", Reading, event_time=lambda r: r.at)
SEVEN = FixedWindows(7 * MINUTE)
TOTALS = (
    RATES.map(lambda r: r.value)
    .window(SEVEN, allowed_lateness=timedelta(0))
    .combine_globally(Sum())
    .as_singleton(default=0)
)

Values = PCollection[KV[str, int]]

ALIGNED: st.SearchStrategy[WindowFn] = st.sampled_from(
    [FixedWindows(5 * MINUTE), FixedWindows(7 * MINUTE, offset=2 * MINUTE), CalendarDays("Europe/Berlin")]
)
ZONES = ("UTC", "Asia/Kathmandu", "America/Havana", "Pacific/Apia", "Europe/Berlin")
OTHERS: st.SearchStrategy[WindowFn] = st.sampled_from(
    [
        SlidingWindows(10 * MINUTE, 3 * MINUTE),
        SlidingWindows(2 * MINUTE, 5 * MINUTE),
        FixedWindows(5 * MINUTE, offset_by_key=lambda key: key * MINUTE),
        CalendarMonths(lambda key: ZONES[key]),
    ]
)
LATENESSES = st.sampled_from([timedelta(0), MINUTE, 9 * MINUTE])


def add_total(values: Values) -> Values:
    """Adds the total of the rates in its window, the side input, to each value."""
    return values.map_with(TOTALS, lambda pair, total: KV(pair.key, pair.value + total))


@given(ALIGNED | OTHERS, LATENESSES, event_times() | st.sampled_from([MIN_TIME, MAX_TIME]), event_times())
def test_all_windows_before_the_horizon_have_expired(
    windows: WindowFn, allowed: timedelta, watermark: EventTime, time: EventTime
) -> None:
    """All windows of an event time before the horizon have expired, and one of a later event time has not."""
    strategy = WindowingStrategy(windows, allowed_lateness=allowed)
    lateness = Lateness.of(strategy)
    assert lateness is not None
    horizon = lateness.horizon(watermark)
    keys = [*range(5)] if are_by_key(windows) else [None]
    for candidate in {time, EventTime(max(horizon - 1, MIN_TIME)), EventTime(min(horizon, MAX_TIME - 1))}:
        assigned = [window for key in keys for window in assign_windows(windows, candidate, key, None)]
        expired = all(window.end + allowed // timedelta(microseconds=1) <= watermark for window in assigned)
        assert expired or candidate >= horizon
        if assigned and keys == [None]:
            assert expired == (candidate < horizon)


def lateness_of(values: PCollection[object]) -> Lateness | None:
    """Returns the lateness of elements that read a side input."""
    return lateness_of_readers(WithSide(values.node, TOTALS.node, TOTALS.view))


@pytest.mark.parametrize("allowed", [None, FOREVER])
def test_elements_without_a_bound_are_never_too_late(allowed: AllowedLateness | None) -> None:
    """Without a lateness, in windows that merge, and in the global window, no element is too late."""
    five = FixedWindows(5 * MINUTE)
    assert lateness_of(VALUES) is None
    assert lateness_of(VALUES.window(five, allowed_lateness=allowed)) is None
    for windows in (GlobalWindows(), Sessions(MINUTE)):
        assert lateness_of(VALUES.window(windows, allowed_lateness=MINUTE)) is None
    counts = VALUES.window(five, allowed_lateness=MINUTE).combine_per_key(Count())
    assert lateness_of(counts) == Lateness(five, MINUTE)
    again = counts.map_values(lambda count: count + 1).with_timestamps(lambda pair: point(pair.value))
    assert lateness_of(again) is None


@pytest.mark.parametrize(
    "engine", [Reference(), PolarsStreaming(Cluster(shards=2))], ids=["reference", "step"]
)
def test_only_elements_whose_windows_have_expired_are_dropped(engine: Interpreter) -> None:
    """An element is dropped if its window plus the lateness is at or before the watermark of the instant before it."""
    enriched = add_total(VALUES.window(FixedWindows(5 * MINUTE), allowed_lateness=2 * MINUTE))

    def elements(watermark: datetime) -> tuple[list[int], list[Drop]]:
        """Returns the values of elements of two windows that arrive after a watermark, and the drops."""
        late = [Reading("a", 1, point(4), point(9)), Reading("a", 2, point(5), point(9))]
        main = Timeline[Reading]().at(point(8), watermark=watermark).at(point(9), *late, watermark=point(30))
        rates = Timeline[Reading]().end(point(0))
        run = engine.run(enriched, {READINGS: main, RATES: rates})
        return [element.value for element in run.elements], [*run.dropped]

    just_before = point(7) - timedelta(microseconds=1)
    assert elements(just_before) == ([1, 2], [])
    values, drops = elements(point(7))
    assert values == [2]
    (drop,) = drops
    (read,) = assign_windows(SEVEN, event_time(point(4)), None, None)
    assert (drop.key, drop.window, drop.reason) == ("a", read, DropReason.EXPIRED)
    assert elements(point(12) - timedelta(microseconds=1))[0] == [2]
    assert elements(point(12))[0] == []


@pytest.mark.parametrize("engine", [Reference(), PolarsStreaming()])
def test_an_element_in_sliding_windows_is_too_late_when_its_last_window_has_expired(
    engine: Interpreter,
) -> None:
    """Of an element in sliding windows, the last window decides, which starts before the element."""
    windows = SlidingWindows(10 * MINUTE, period=5 * MINUTE)
    enriched = add_total(VALUES.window(windows, allowed_lateness=timedelta(0)))

    def dropped(watermark: datetime) -> int:
        """The number of drops of an element in [0, 10) and in an earlier window that arrives after a watermark."""
        main = Timeline[Reading]().at(point(30), watermark=watermark)
        main = main.at(point(31), Reading("a", 1, point(4), point(31)), watermark=point(40))
        run = engine.run(enriched, {READINGS: main, RATES: Timeline[Reading]().end(point(0))})
        assert len(run.elements) + len(run.dropped) == 1
        return len(run.dropped)

    assert dropped(point(10) - timedelta(microseconds=1)) == 0
    assert dropped(point(10)) == 1


@pytest.mark.parametrize("engine", [Reference(), PolarsStreaming()])
def test_an_element_in_a_gap_is_too_late_as_if_a_window_contained_it(engine: Interpreter) -> None:
    """Between sliding windows with gaps, an element is dropped when any window of their size would have expired."""
    windows = SlidingWindows(2 * MINUTE, period=5 * MINUTE)
    assert assign_windows(windows, event_time(point(3)), None, None) == ()

    def reasons(watermark: datetime) -> list[DropReason]:
        """Returns why an element in a gap was dropped that arrives after a watermark."""
        main = Timeline[Reading]().at(point(8), watermark=watermark)
        main = main.at(point(9), Reading("a", 1, point(3), point(9)), watermark=point(30))
        pipeline = add_total(VALUES.window(windows, allowed_lateness=timedelta(0)))
        run = engine.run(pipeline, {READINGS: main, RATES: Timeline[Reading]().end(point(0))})
        assert len(run.elements) + len(run.dropped) == 1
        return [drop.reason for drop in run.dropped]

    assert reasons(point(5) - timedelta(microseconds=1)) == []
    assert reasons(point(5)) == [DropReason.EXPIRED]


@pytest.mark.long
@pytest.mark.parametrize("shards", a_few([3, 1], 1))
def test_the_number_of_kept_windows_is_bounded(shards: int) -> None:
    """Of a long stream only the windows of a side input that elements can still read are kept, in every shard."""
    schema = {
        "key": pl.String(),
        "value": pl.Int64(),
        "at": pl.Datetime("us", "UTC"),
        "seen": pl.Datetime("us", "UTC"),
    }
    frames = [
        pl.DataFrame({"key": ["a"], "value": [1], "at": [at], "seen": [at]}, schema)
        for at in map(point, range(0, 100, 2))
    ]
    inputs = dict.fromkeys(
        (READINGS, RATES), streaming.StreamInput(streaming.Frames(frames), BoundedOutOfOrderness(MINUTE))
    )

    def kept(values: Values) -> list[int]:
        """The number of windows of the side input after each micro-batch."""
        batches = streaming.batches(add_total(values), inputs, metrics=True, shards=shards)
        return [batch.metrics[1].windows for batch in batches]

    bounded = kept(VALUES.window(FixedWindows(5 * MINUTE), allowed_lateness=30 * MINUTE))
    assert 3 < max(bounded[17:]) <= 7
    assert kept(VALUES)[-1] > 13
