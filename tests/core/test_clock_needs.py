"""What waits for processing time, and a clock that goes back: the decisions of engines about silent input."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_shard.clocks.steady_clock import SteadyClock
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    AtCount,
    AtPeriod,
    AtWatermark,
    BoundedOutOfOrderness,
    Computation,
    FixedWindows,
    MonotonicTimestamps,
    PCollection,
    Perfect,
    Sum,
)
from flowalg.analysis.clock_needs import clock_needs
from flowalg.computations import Clocks, EventTimer, Observed, Timer, Transition
from flowalg.data.time import ProcessingTime
from flowalg.triggers import AfterDelay, AfterInactivity, Trigger
from flowalg.watermarks import (
    CustomPolicy,
    FittedLag,
    IngressTime,
    LagQuantile,
    ProcessingTimeLag,
    Timeout,
    WatermarkPolicy,
)
from tests.support.scores import POINTS

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
BY_EVENTS = BoundedOutOfOrderness(MINUTE)


def windowed(trigger: Trigger | None = None) -> PCollection[object]:
    """Returns sums of a minute with a trigger."""
    chosen = AtWatermark().repeat() if trigger is None else trigger
    return POINTS.window(FixedWindows(MINUTE), trigger=chosen, allowed_lateness=MINUTE).combine_per_key(Sum())


def needs(pipeline: PCollection[object], policy: WatermarkPolicy = BY_EVENTS) -> list[str]:
    """Returns what waits for processing time."""
    return list(clock_needs([pipeline.node], {"scores": policy}))


@pytest.mark.parametrize(
    "trigger",
    [
        AtPeriod(SECOND).repeat(),
        AtWatermark().with_early_firings(AfterDelay(SECOND)),
        (AtCount(3) | AfterInactivity(SECOND)).repeat(),
    ],
    ids=["period", "delay", "inactivity"],
)
def test_a_trigger_of_processing_time_needs_the_clock(trigger: Trigger) -> None:
    """A part of a trigger that waits for processing time is enough."""
    assert needs(windowed(trigger=trigger)) == [
        "combine_per_key(Sum), whose trigger fires by processing time"
    ]


def test_what_waits_for_elements_alone_needs_no_clock() -> None:
    """Watermarks of event time, counts, deduplication and tuples advance with elements."""
    for policy in (BY_EVENTS, MonotonicTimestamps(), Perfect()):
        assert needs(windowed(), policy) == []
        assert needs(windowed(trigger=AtWatermark().with_early_firings(AtCount(1)))) == []
    assert needs(POINTS.every(3)) == []


@pytest.mark.parametrize(
    "policy",
    [
        ProcessingTimeLag(MINUTE),
        LagQuantile(0.9),
        FittedLag(0.9),
        Timeout(MINUTE),
        IngressTime(),
        BoundedOutOfOrderness(MINUTE, idle_after=MINUTE),
        BoundedOutOfOrderness(MINUTE, lag_percentiles=(0.5,)),
        CustomPolicy("a minute behind", lambda clock: clock.processing_time - MINUTE),
    ],
    ids=str,
)
def test_a_policy_that_follows_the_clock_needs_it(policy: WatermarkPolicy) -> None:
    """So does one with ``idle_after``, and one of which nothing is known."""
    (need,) = needs(windowed(), policy)
    assert need == f"source 'scores', whose watermark may advance by processing time: {policy}"


def test_a_computation_with_timers_may_need_the_clock() -> None:
    """Which kind of timers its functions set is not known."""

    def set_timer(number: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
        return Transition(number, set=[EventTimer("end", seen.event_time)])

    def fire(number: int, timer: Timer, clocks: Clocks) -> Transition[int, int]:
        return Transition(None)

    timed = Computation(initial=0, on_element=set_timer, on_timer=fire, name="timed")
    assert needs(POINTS.process(timed)) == ["process(timed), whose timers may be of processing time"]


READINGS = st.lists(st.integers(0, 10**6), min_size=2, max_size=20).map(
    lambda readings: list(map(ProcessingTime, readings))
)


@given(READINGS)
def test_processing_time_never_goes_back(readings: list[ProcessingTime]) -> None:
    """Whatever the clock of the machine reads, processing time does not go back, and is not behind it."""
    clock = SteadyClock(readings[0])
    for reading in readings:
        after = clock.read(reading)
        assert after.time >= max(clock.time, reading)
        clock = after


@given(st.integers(1, 10**9), st.integers(1, 10**7), st.integers(1, 100))
def test_a_delay_takes_at_most_twice_as_long(jump: int, delay: int, steps: int) -> None:
    """After the clock has gone forward and back, twice the delay on the clock is the delay in processing time."""
    ahead = SteadyClock(ProcessingTime(jump), ProcessingTime(jump))
    clock = start = ahead.read(ProcessingTime(0))
    for step in range(1, steps + 1):
        clock = clock.read(ProcessingTime(2 * delay * step // steps))
    assert clock.time - start.time >= delay - steps


def test_one_warning_says_that_the_clock_has_gone_back() -> None:
    """A clock that is more than a second behind is warned of once, and again only if it has caught up in between."""
    clock = SteadyClock(ProcessingTime(0), ProcessingTime(0))
    warnings = []
    for seconds in (10, 4, 5, 6, 20, 19.5, 3):
        after = clock.read(ProcessingTime(int(seconds * 1_000_000)))
        warnings.append(after.warning(clock))
        clock = after
    assert [warning is not None for warning in warnings] == [False, True, False, False, False, False, True]
    assert str(warnings[1]).startswith("the clock of this machine has gone back: it is 0:00:06 behind")
