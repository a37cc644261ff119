"""Watermark policies and histories of sources, with idle partitions and wrong clocks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import BoundedOutOfOrderness, EventTime, MonotonicTimestamps, Perfect, ProcessingTime
from flowalg.data.time import event_time, processing_time
from flowalg.watermarks import (
    ClockView,
    CustomPolicy,
    FittedLag,
    IngressTime,
    LagDistribution,
    LagQuantile,
    Observation,
    ProcessingTimeLag,
    Publication,
    Timeout,
    WatermarkPolicy,
)
from flowalg.watermarks.history import SourceInstant
from flowalg_laws.kit.history import History
from flowalg_laws.kit.readings import START
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.times import MAX_MINUTE, durations, minutes, quantiles


@cached
def policies() -> SearchStrategy[BoundedOutOfOrderness]:
    """Bounded out-of-orderness, from zero to more than the range of generated times."""
    return durations(0, MAX_MINUTE).map(BoundedOutOfOrderness)


def halfway(view: ClockView) -> datetime | None:
    """Returns a user-defined watermark: the processing time minus half of the median lag."""
    lag = view.lag(0.5)
    return None if lag is None else view.processing_time - lag / 2


@cached
def watermark_policies() -> SearchStrategy[WatermarkPolicy]:
    """Returns all watermark policies, with any options."""
    options = {
        "idle_after": st.none() | durations(1, 20),
        "max_ahead": st.none() | durations(0, 20),
        "percentiles": st.lists(quantiles(), max_size=3, unique=True).map(tuple),
        "partitions": st.just(frozenset()) | st.just(frozenset()) | st.frozensets(st.sampled_from("pq")),
        "recent": durations(1, 60),
        "resolution": st.sampled_from(
            (timedelta(microseconds=7), timedelta(seconds=50), timedelta(minutes=3))
        ),
    }
    kinds: tuple[SearchStrategy[WatermarkPolicy], ...] = (
        st.builds(MonotonicTimestamps, **options),
        st.builds(BoundedOutOfOrderness, durations(0, MAX_MINUTE), **options),
        st.builds(Perfect, **options),
        st.builds(Timeout, durations(0, MAX_MINUTE), **options),
        st.builds(ProcessingTimeLag, durations(0, MAX_MINUTE), **options),
        st.builds(LagQuantile, quantiles(), **options),
        st.builds(FittedLag, quantiles(), st.sampled_from(LagDistribution), **options),
        st.builds(IngressTime, **options),
        st.builds(CustomPolicy, st.just("halfway"), st.just(halfway), **options),
    )
    return st.tuples(st.one_of(kinds), st.booleans()).map(_by_lag)


def _by_lag(drawn: tuple[WatermarkPolicy, bool]) -> WatermarkPolicy:
    """Returns a policy, or the same with some of its percentile watermarks derived from lags."""
    policy, by_lag = drawn
    if not by_lag:
        return policy
    middle = len(policy.percentiles) // 2
    percentiles, others = policy.percentiles[:middle], policy.percentiles[middle:]
    return evolve(policy, percentiles=percentiles, lag_percentiles=others)


@cached
def observations() -> SearchStrategy[Observation]:
    """Records of three partitions with independent times: late, early and ahead of the clock."""
    return st.builds(
        Observation, st.sampled_from("pqr"), minutes().map(event_time), minutes().map(processing_time)
    )


@cached
def histories(*, most: int = 8) -> SearchStrategy[History]:
    """Histories of a source. An instant is not before its records, nor before the previous instant.

    Some sources publish watermarks, with records or without, that do not go back in any partition.
    """
    advances = st.lists(st.tuples(st.sampled_from("pqr"), st.integers(0, 9), st.booleans()), max_size=3)
    instant = st.tuples(
        st.integers(0, 9), st.lists(observations(), max_size=5), st.just([]) | st.just([]) | advances
    )
    return st.lists(instant, max_size=most).map(_history)


Advance: TypeAlias = tuple[str, int, bool]
"""A partition, by how many minutes it advances its watermark, and whether it does so with its records."""


def _history(steps: list[tuple[int, list[Observation], list[Advance]]]) -> History:
    clock = processing_time(START)
    instants: list[SourceInstant] = []
    published = dict.fromkeys("pqr", event_time(START))
    for gap, batch, advances in steps:
        clock = ProcessingTime(clock + gap * 60_000_000)
        clock = max([clock, *(record.processing_time for record in batch)])
        carried: set[str] = set()
        publications: list[Publication] = []
        for partition, by, with_records in advances:
            published[partition] = EventTime(published[partition] + by * 60_000_000)
            if with_records:
                carried.add(partition)
            else:
                publications.append(Publication(partition, published[partition], clock))
        records = [
            evolve(record, published=published[record.partition]) if record.partition in carried else record
            for record in batch
        ]
        instants.append(SourceInstant(clock, tuple(records), tuple(publications)))
    return tuple(instants)
