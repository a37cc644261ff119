"""Two sources with any watermark policies, where they meet: the engine's clocks against those of the timelines.

The reference reads the watermarks that the policy gave the timelines. The local engine generates them again, from what
its partitions observe: learned lags, percentiles of both kinds, idle and declared partitions.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate
from typing import Final

import pytest
from attrs import evolve
from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.conformance.drops import count_drops
from flowalg_laws.conformance.jobs.transforms import OTHERS, other_values
from flowalg_laws.kit.readings import READINGS, VALUES, Reading, key_of
from flowalg_laws.strategies.elements import batches
from flowalg_laws.strategies.sources import watermark_policies
from flowalg_laws.strategies.times import point
from flowalg_polars import Cluster, PolarsStreaming
from flowalg_reference import Reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    KV,
    AtCount,
    AtWatermark,
    FixedWindows,
    Mode,
    PCollection,
    Perfect,
    Source,
    Sum,
    Timeline,
    flatten,
)
from flowalg.watermarks import WatermarkPolicy

MINUTE: Final = timedelta(minutes=1)
MEDIAN: Final = 0.5


def with_median(drawn: tuple[WatermarkPolicy, bool]) -> WatermarkPolicy:
    """Returns a policy with the percentile watermark of the median, by event time or by lag."""
    policy, by_lag = drawn
    others = [
        tuple(q for q in percentiles if q != MEDIAN)
        for percentiles in (policy.percentiles, policy.lag_percentiles)
    ]
    event_time, lag = others
    if by_lag:
        return evolve(policy, percentiles=event_time, lag_percentiles=(*lag, MEDIAN))
    return evolve(policy, percentiles=(*event_time, MEDIAN), lag_percentiles=lag)


def timelines() -> SearchStrategy[dict[Source[object], Timeline[object]]]:
    """Timelines of two sources with a partition for each key, of any policies but that of recorded knowledge.

    Each micro-batch is an instant of both, as in a stream: it ends with a record of its processing time.
    """
    policies = watermark_policies().filter(lambda policy: not isinstance(policy, Perfect))
    sources: list[Source[Reading]] = [READINGS, OTHERS]

    def build(
        drawn: tuple[list[list[list[Reading]]], list[tuple[WatermarkPolicy, bool]], bool],
    ) -> dict[Source[object], Timeline[object]]:
        both, chosen, ends = drawn
        count = min(map(len, both))
        seen = [
            [reading.seen for micro_batches in both for reading in micro_batches[number]]
            for number in range(count)
        ]
        times = list(accumulate((max(arrivals, default=point(0)) for arrivals in seen), max))
        inputs: dict[Source[object], Timeline[object]] = {}
        for source, micro_batches, policy in zip(sources, both, chosen, strict=True):
            timeline = Timeline.micro_batches(
                source,
                [
                    [*micro_batches[number], Reading("c", 0, point(0), times[number])]
                    for number in range(count)
                ],
                processing_time=lambda reading: reading.seen,
                watermark=with_median(policy),
                partition=key_of,
                ends=ends,
            )
            inputs[source] = timeline
        return inputs

    two = st.lists(batches(most=5), min_size=2, max_size=2)
    medians = st.lists(st.tuples(policies, st.booleans()), min_size=2, max_size=2)
    return st.tuples(two, medians, st.booleans()).map(build)


def in_fives(collection: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns a collection in windows of five minutes, which fire at the median of the event times."""
    trigger = AtWatermark(percentile=MEDIAN).with_late_firings(AtCount(1))
    return collection.window(FixedWindows(5 * MINUTE), trigger=trigger, allowed_lateness=9 * MINUTE)


def add(pair: KV[str, int], side: int) -> KV[str, int]:
    """Adds the value of a side input to a value."""
    return KV(pair.key, pair.value + side)


TOTALS = other_values.map(lambda pair: pair.value).window(FixedWindows(5 * MINUTE), allowed_lateness=MINUTE)
SIDE = TOTALS.combine_globally(Sum()).as_singleton(default=0)
PIPELINES: Final[dict[str, PCollection[KV[str, object]]]] = {
    "union": in_fives(flatten(VALUES, other_values)).combine_per_key(Sum()),
    "inner join": in_fives(VALUES).inner_join(in_fives(other_values)),
    "full join": in_fives(VALUES).full_join(in_fives(other_values)),
    "side": in_fives(VALUES.map_with(SIDE, add)).combine_per_key(Sum()),
    "latest": in_fives(VALUES.map_with(SIDE.latest_complete(), add)).combine_per_key(Sum()),
}


@pytest.mark.long
@pytest.mark.parametrize("name", PIPELINES)
@given(inputs=timelines())
def test_generated_clocks_are_those_of_the_timelines(
    name: str, inputs: dict[Source[object], Timeline[object]]
) -> None:
    """Panes and drops are those of the reference, where two sources of any policies meet in any way."""
    expected = Reference(Mode.MICRO_BATCH).run(PIPELINES[name], inputs)
    engine = PolarsStreaming(Cluster(partitions=2, shards=2), generate_watermarks=True)
    run = engine.run(PIPELINES[name], inputs)
    assert list(map(full_line, run.panes)) == list(map(full_line, expected.panes))
    assert count_drops(run.dropped) == count_drops(expected.dropped)
