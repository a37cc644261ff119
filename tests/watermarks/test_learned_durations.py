"""What policies learn from recent records: the letter of SEMANTICS section 9.

These tests catch a policy whose watermark depends on how its records are divided into instants and partitions in
another way than the contract says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from flowalg import BoundedOutOfOrderness, MonotonicTimestamps, Perfect
from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime
from flowalg.watermarks import FittedLag, LagQuantile, WatermarkPolicy
from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.summaries import Observation, Publication

SECOND = 1_000_000
HOUR = timedelta(hours=1)
START = 1_700_000_000 * SECOND // (3600 * SECOND) * 3600 * SECOND
"""A whole hour."""

Record = tuple[str, float, float]
"""A partition, an event time and a processing time, in seconds after the start."""


def observed(policy: WatermarkPolicy, instants: Iterable[tuple[float, Sequence[Record]]]) -> SourceClock:
    """Returns the clock of a policy after some instants, at seconds after the start."""
    clock = policy.start()
    for time, records in instants:
        summary = policy.summarize(
            Observation(name, EventTime(at(event)), ProcessingTime(at(arrival)))
            for name, event, arrival in records
        )
        clock = policy.advance(clock, summary, ProcessingTime(at(time)))
    return clock


def at(seconds: float) -> int:
    """Returns a time, in seconds after the start."""
    return START + round(seconds * SECOND)


@given(
    st.lists(st.lists(st.integers(0, 3000), min_size=1, max_size=4), min_size=1, max_size=6),
    st.sampled_from([0.001, 0.5, 1.0, 7.0]),
)
def test_a_percentile_watermark_of_a_source_in_order_is_at_most_one_resolution_behind(
    steps: list[list[int]], resolution: float
) -> None:
    """It is behind the event time reached by less than the resolution, or not at all in multiples of it."""
    policy = BoundedOutOfOrderness(HOUR, percentiles=(0.5,), resolution=timedelta(seconds=resolution))
    event, instants = 0.0, list[tuple[float, list[Record]]]()
    for number, gaps in enumerate(steps):
        records = list[Record]()
        for gap in gaps:
            event += gap / 1000
            records.append(("", event, event))
        instants.append((event + number, records))
    clock = observed(policy, instants)
    behind = at(event) - clock.percentiles[0.5]
    assert 0 <= behind <= round(resolution * SECOND)
    if resolution == 0.001:
        assert behind == 0


def test_the_event_time_reached_before_an_instant_is_that_of_the_source() -> None:
    """A record is behind what all active partitions had reached, and not behind what its own had."""
    policy = BoundedOutOfOrderness(HOUR, percentiles=(0.5,), resolution=timedelta(seconds=1))
    first: list[Record] = [("ahead", 100, 0), ("behind", 10, 0)]
    last: list[Record] = [("behind", 20, 2)]
    clock = observed(policy, [(0, first), (1, [("ahead", 50, 1)] * 9), (2, last)])
    assert clock.percentiles[0.5] == at(20)
    clock = observed(policy, [(0, first), (1, [("behind", 4, 1)] * 9), (2, last)])
    assert clock.percentiles[0.5] == at(20 - 6)


def test_a_record_is_recent_by_the_processing_time_of_its_instant() -> None:
    """A slice of the period is forgotten as a whole; of its own processing time a record has only its lag."""
    policy = LagQuantile(0.99, recent=timedelta(seconds=80), resolution=timedelta(seconds=1))

    def delay(*instants: tuple[float, Sequence[Record]]) -> int:
        return (at(instants[-1][0]) - observed(policy, instants).watermark) // SECOND

    slow: tuple[float, list[Record]] = (9, [("", -60, 0)])
    assert delay(slow, (89, [("", 89, 89)])) == 60
    assert delay(slow, (90, [("", 90, 90)])) == 0
    assert delay(slow, (900, [])) == 60


def test_the_lags_of_a_fitted_distribution_are_rounded_up() -> None:
    """The mean and the variance are those of the lags in multiples of the resolution; early records have lag zero."""
    policy = FittedLag(0.5, resolution=timedelta(seconds=1))
    exact = observed(policy, [(0, [("", -1, 0), ("", -2, 0)])])
    assert observed(policy, [(0, [("", -0.2, 0), ("", -1.2, 0)])]).watermark == exact.watermark
    assert exact.watermark == at(-2)
    assert observed(policy, [(0, [("", 5, 0), ("", 0, 0)])]).watermark == at(0)


def test_a_partition_that_has_published_nothing_is_not_waited_for() -> None:
    """The source's watermark is the least published one, unless a declared partition has sent nothing at all."""
    records = [Observation("silent", EventTime(at(1)), ProcessingTime(at(1)))]
    published = [Publication("loud", EventTime(at(10)), ProcessingTime(at(1)))]

    def watermark(policy: WatermarkPolicy, observations: Sequence[Observation]) -> int:
        summary = policy.summarize(observations, publications=published)
        return policy.advance(policy.start(), summary, ProcessingTime(at(1))).watermark

    assert watermark(Perfect(), records) == at(10)
    declared = Perfect(partitions={"silent", "loud"})
    assert watermark(declared, []) == MIN_TIME
    assert watermark(declared, records) == at(10)
    assert watermark(MonotonicTimestamps(), records) == at(1)
