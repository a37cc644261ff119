"""Watermark policies by example: limits of their options, user-defined policies, their errors and descriptions.

The properties in ``test_watermarks.py`` and the conformance jobs show what each policy and option does.
"""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta

import flowalg_reference as reference
import pytest
from attrs import frozen
from flowalg_laws import READINGS, VALUES, History, histories, watermark_policies
from flowalg_laws.strategies import Reading, halfway
from hypothesis import given

from flowalg import (
    BoundedOutOfOrderness,
    FixedWindows,
    MonotonicTimestamps,
    Perfect,
    Sum,
    Timeline,
    Window,
    event_time,
    processing_time,
)
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.errors import ArgumentError, ElementError, UserFunctionError
from flowalg.watermarks import (
    ClockSummary,
    ClockView,
    CustomPolicy,
    FittedLag,
    IngressTime,
    LagDistribution,
    LagQuantile,
    Observation,
    ProcessingTimeLag,
    SourceClock,
    Timeout,
    WatermarkPolicy,
)
from flowalg.watermarks.history import SourceInstant, replay_policy
from tests.support.scores import NOON, minute

MINUTE = timedelta(minutes=1)
HALFWAY = CustomPolicy("half the median lag behind", halfway)


def record(partition: str, at: float, processed: float) -> Observation:
    """Returns the observation of a record, with times in minutes since noon."""
    return Observation(partition, event_time(minute(at)), processing_time(minute(processed)))


def watermarks_after(policy: WatermarkPolicy, *instants: tuple[float, list[Observation]]) -> list[str]:
    """Returns the watermark after each instant, in minutes since noon; ``-`` before the first watermark."""
    history = [SourceInstant(processing_time(minute(now)), tuple(records)) for now, records in instants]
    watermarks = [clock.watermark for clock in replay_policy(policy, history)]
    return ["-" if point == MIN_TIME else f"{(point.datetime - NOON) / MINUTE:g}" for point in watermarks]


def test_if_all_partitions_are_idle_the_most_advanced_counts() -> None:
    """When all partitions are idle the most advanced one counts, from the next instant on, even without records."""
    records = [record("a", 10, 10), record("b", 5, 10)]
    instants: list[tuple[float, list[Observation]]] = [(10, records), (14, []), (15, [])]
    assert watermarks_after(BoundedOutOfOrderness(MINUTE), *instants) == ["4", "4", "4"]
    idle = BoundedOutOfOrderness(MINUTE, idle_after=5 * MINUTE)
    assert watermarks_after(idle, *instants) == ["4", "4", "9"]


def test_max_ahead_is_relative_to_the_processing_time_of_the_record() -> None:
    """``max_ahead`` compares a record with its own processing time, not its batch's; a record at the limit counts."""
    policy = MonotonicTimestamps(max_ahead=MINUTE)
    assert watermarks_after(policy, (9.0, [record("a", 2, 1)])) == ["2"]
    assert watermarks_after(policy, (9.0, [record("a", 2.5, 1)])) == ["-"]


def test_an_event_too_far_ahead_still_advances_processing_time() -> None:
    """A record too far ahead advances processing time; its event time and its lag are ignored."""
    report = MonotonicTimestamps(max_ahead=MINUTE, percentiles=(0.5,)).summarize([record("a", 9, 1)])
    assert report == ClockSummary(latest_processing=processing_time(minute(1)))


def test_processing_time_never_goes_back() -> None:
    """A clock that is set back neither moves processing time back nor makes a partition active."""
    policy = BoundedOutOfOrderness(timedelta(0), idle_after=5 * MINUTE)
    *_, last = replay_policy(policy, [SourceInstant(processing_time(minute(minutes))) for minutes in (9, 3)])
    assert last.processing_time == processing_time(minute(9))


def test_a_fitted_lag_extrapolates_beyond_the_observed_lags() -> None:
    """A distribution that is fitted to lags of 1 to 10 minutes has a 0.999 quantile beyond the longest of them."""
    records = tuple(record("p", 20 - lag, 20) for lag in range(1, 11))
    instants = [SourceInstant(processing_time(minute(20)), records)]

    def lag(policy: WatermarkPolicy) -> float:
        *_, last = replay_policy(policy, instants)
        return (minute(20) - last.watermark.datetime) / MINUTE

    assert lag(LagQuantile(0.999)) == 10
    assert 15 < lag(FittedLag(0.999)) < lag(FittedLag(0.999, LagDistribution.LOG_NORMAL)) < 25
    assert 5 < lag(FittedLag(0.5)) < 5.5


def test_nothing_moves_a_watermark_after_the_end() -> None:
    """After the end no summary moves a watermark, and a user-defined function is not called any more."""
    policy = CustomPolicy("once", lambda view: 1 // 0, percentiles=(0.5,))  # type: ignore[arg-type,return-value]  # it raises
    ended = policy.advance(policy.start(), policy.summarize((), ended=True), processing_time(NOON))
    later = policy.advance(ended, policy.summarize([record("a", 1, 2)]), processing_time(minute(2)))
    assert (later.watermark, later.percentiles) == (MAX_TIME, {0.5: MAX_TIME})


def test_old_lags_are_removed_by_slices() -> None:
    """A lag counts for the recent period and up to an eighth more; a silent source keeps its last lags."""
    policy = LagQuantile(0.99, recent=8 * MINUTE)
    slow = SourceInstant(processing_time(minute(0)), (record("p", -60, 0),))

    def delay(*minutes: int) -> timedelta:
        instants = [SourceInstant(processing_time(minute(at)), (record("p", at, at),)) for at in minutes]
        *_, last = replay_policy(policy, [slow, *instants])
        quantile = last.lags.quantile(0.99)
        assert quantile is not None
        return timedelta(microseconds=quantile)

    assert delay(8) == 60 * MINUTE
    assert delay(9) == timedelta(0)
    silent = SourceInstant(processing_time(minute(1000)))
    *_, last = replay_policy(policy, [slow, silent])
    assert last.watermark == event_time(minute(940))


# Sources that publish their watermark, and declared partitions.


def test_a_published_watermark_must_not_go_back() -> None:
    """In a timeline too, the error names the partition and both watermarks."""
    readings = [Reading("a", 1, minute(at), minute(seen)) for seen, at in ((1, 5), (2, 4))]
    with pytest.raises(
        ElementError,
        match="partition 'a' published the watermark 2024-01-01T12:04:00Z after 2024-01-01T12:05:00Z",
    ):
        Timeline.from_records(
            READINGS,
            readings,
            processing_time=lambda reading: reading.seen,
            watermark=Perfect(),
            partition=lambda reading: reading.key,
            published=lambda reading: reading.at,
        )


def test_why_not_names_a_declared_partition_that_sends_nothing() -> None:
    """The cause of waiting is the declared partition from which nothing has come."""
    timeline = Timeline.from_records(
        READINGS,
        [Reading("a", 1, minute(0), minute(0)), Reading("a", 1, minute(9), minute(9))],
        processing_time=lambda reading: reading.seen,
        watermark=MonotonicTimestamps(partitions={"a", "b", "c"}, idle_after=MINUTE),
        partition=lambda reading: reading.key,
        ends=False,
    )
    run = reference.run(VALUES.window(FixedWindows(5 * MINUTE)).combine_per_key(Sum()), {READINGS: timeline})
    window = Window(event_time(minute(0)), event_time(minute(5)))
    hold = reference.why_not(run, "a", window).hold
    assert str(hold) == "source 'readings', whose declared partitions 'b', 'c' have sent nothing"
    assert hold is not None
    assert hold.partition == "b"


# User-defined policies.


def test_a_user_defined_policy_receives_the_clock_as_datetimes() -> None:
    """A user-defined function receives all that built-in policies use, with the watermark before the instant."""
    views: list[ClockView] = []

    def latest_of_a(view: ClockView) -> datetime | None:
        views.append(view)
        return view.partitions.get("a")

    policy = CustomPolicy("a alone", latest_of_a, idle_after=5 * MINUTE)
    instants = ((10.0, [record("a", 8, 10), record("b", 4, 10)]), (15.0, [record("b", 9, 15)]))
    assert watermarks_after(policy, *instants) == ["8", "8"]
    first, second = views
    assert (first.processing_time, first.watermark) == (minute(10), MIN_TIME.datetime)
    assert (first.reached, first.source_watermark, first.idle) == (minute(4), minute(9), frozenset())
    assert (second.watermark, second.reached, second.idle) == (minute(8), minute(9), frozenset("a"))
    assert second.source_watermark == minute(9), "the latest event times are kept"
    assert second.partitions == {"a": minute(8), "b": minute(9)}
    assert [second.lag(q) for q in (0.5, 0.9)] == [6 * MINUTE, 6 * MINUTE]
    assert [first.lag(q) for q in (0.5, 0.9)] == [2 * MINUTE, 6 * MINUTE]


def test_a_user_defined_policy_may_return_none_or_the_end() -> None:
    """A user-defined function that returns ``None`` leaves the watermark; ``MAX_TIME`` ends the input."""
    silent = CustomPolicy("silent", lambda view: None)
    assert watermarks_after(silent, (1.0, [record("a", 1, 1)])) == ["-"]
    ended = CustomPolicy("at once", lambda view: MAX_TIME.datetime)
    (clock,) = replay_policy(ended, [SourceInstant(processing_time(NOON))])
    assert clock.watermark == MAX_TIME


def test_a_quantile_must_be_between_0_and_1() -> None:
    """A quantile in percent is an error that gives the valid range."""
    (clock,) = replay_policy(HALFWAY, [SourceInstant(processing_time(NOON))])
    with pytest.raises(
        ArgumentError, match=r"lag\(q\) must be a float between 0 and 1, such as 0.99; got 99 \(int\)"
    ):
        HALFWAY.view(clock).lag(99)


def test_an_error_in_a_user_defined_policy_names_its_function() -> None:
    """An error in a user-defined function names the policy, the function with its place, and its argument."""
    broken = CustomPolicy("mine", lambda view: view.partitions["b"])
    with pytest.raises(UserFunctionError) as caught:
        watermarks_after(broken, (1.0, [record("a", 1, 1)]))
    message = str(caught.value)
    assert "mine: <lambda> at tests/watermarks/test_watermark_examples.py:" in message
    assert (
        "raised KeyError: 'b'; its argument was ClockView(processing_time=datetime.datetime(2024" in message
    )


@frozen
class Fractional(WatermarkPolicy):
    """A policy whose candidate is not an integer."""

    def candidate(self, clock: SourceClock) -> int:
        """Returns half of the processing time, as a float."""
        return clock.processing_time / 2  # type: ignore[return-value]  # the error under test


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            CustomPolicy("mine", lambda view: datetime(2024, 1, 1)),
            "the watermark of mine must be a timezone-aware datetime, .*; got datetime.*: it is naive",
        ),
        (CustomPolicy("mine", lambda view: 3), r"the watermark of mine must be .*; got 3 \(int\)"),  # type: ignore[arg-type,return-value]
        (CustomPolicy("mine", lambda view: datetime.min.replace(tzinfo=UTC)), "must be a point between"),
        (
            Fractional(),
            r"the candidate of Fractional must be an int, the microseconds since the epoch, or None; got .* \(float\)",
        ),
    ],
)
def test_a_watermark_must_be_a_point_in_time(policy: WatermarkPolicy, message: str) -> None:
    """A candidate that is not a point in time is an error; nothing is rounded."""
    with pytest.raises(ArgumentError, match=message):
        watermarks_after(policy, (1.0, []))


# Values.


def test_an_error_in_a_partition_function_names_the_record() -> None:
    """An error in a partition function names the function and the record."""
    with pytest.raises(
        UserFunctionError, match=r"partition: <lambda> at .*raised ZeroDivisionError.*Reading\("
    ):
        Timeline.from_records(
            READINGS,
            [Reading("a", 1, minute(0), minute(1))],
            processing_time=lambda reading: reading.seen,
            watermark=Perfect(),
            partition=lambda reading: str(1 // 0),
        )


@given(watermark_policies(), histories())
def test_policies_and_clocks_equal_their_pickled_copies(policy: WatermarkPolicy, history: History) -> None:
    """Law: policies and clocks equal their pickled copies."""
    clocks = list(replay_policy(policy, history))
    report = policy.summarize(record for instant in history for record in instant.observations)
    assert pickle.loads(pickle.dumps((policy, clocks, report))) == (policy, clocks, report)


@pytest.mark.parametrize(
    ("policy", "description"),
    [
        (Perfect(), "the watermark that the source itself knows"),
        (
            MonotonicTimestamps(partitions={"b", "a"}),
            "the least of the greatest event times of the partitions, once the partitions a, b have sent something",
        ),
        (MonotonicTimestamps(), "the least of the greatest event times of the partitions"),
        (BoundedOutOfOrderness(timedelta(seconds=30)), "the greatest event time observed, minus 0:00:30"),
        (Timeout(MINUTE), "the greatest event time observed at least 0:01:00 ago"),
        (ProcessingTimeLag(MINUTE), "the processing time, minus 0:01:00"),
        (
            FittedLag(0.9),
            "the processing time, minus the 0.9 quantile of a gamma distribution fitted to the lags of the last "
            "1:00:00",
        ),
        (LagQuantile(0.9), "the processing time, minus the 0.9 quantile of the lags of the last 1:00:00"),
        (IngressTime(), "the processing time"),
        (HALFWAY, "half the median lag behind"),
        (Fractional(), "Fractional"),
        (
            ProcessingTimeLag(
                MINUTE,
                idle_after=2 * MINUTE,
                max_ahead=MINUTE,
                percentiles=(0.9, 0.5),
                lag_percentiles=(0.8,),
            ),
            "the processing time, minus 0:01:00, ignoring partitions that are idle for 0:02:00, "
            "ignoring event times more than 0:01:00 ahead, with percentiles 0.9, 0.5, with percentiles 0.8 of the lags",
        ),
    ],
)
def test_policies_are_described_in_plain_english(policy: WatermarkPolicy, description: str) -> None:
    """Policies are described in plain English."""
    assert str(policy) == description
