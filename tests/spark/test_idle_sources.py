"""Idle sources on Spark: a stage knows the clocks of the sources that an idle one of its own follows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.conformance.jobs.transforms import OTHERS, in_fives, other_values
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.times import point
from flowalg_reference import Reference
from flowalg_spark import SparkStreaming
from pyspark.sql import SparkSession

from flowalg import KV, BoundedOutOfOrderness, Mode, Source, Sum, Timeline, flatten

MINUTE = timedelta(minutes=1)


def timeline(source: Source[Reading], *minutes: int) -> Timeline[Reading]:
    """Returns the timeline of a reading at each of some minutes, whose source is idle after four minutes."""
    return Timeline.from_records(
        source,
        [Reading("a", 1, point(at), point(at)) for at in minutes],
        processing_time=lambda reading: reading.seen,
        watermark=BoundedOutOfOrderness(timedelta(0), idle_after=4 * MINUTE),
        ends=False,
    )


@pytest.mark.thorough
def test_the_own_grouping_of_an_idle_source_emits(spark: SparkSession) -> None:
    """The last window of a silent source is emitted when the other source has passed it, as on the reference."""
    inputs = {READINGS: timeline(READINGS, 1), OTHERS: timeline(OTHERS, 2, 6, 7, 10)}
    own = in_fives(VALUES.map(lambda pair: KV("own", pair.value))).combine_per_key(Sum())
    pipeline = flatten(own, in_fives(other_values).combine_per_key(Sum()))
    expected = Reference(Mode.MICRO_BATCH).run(pipeline, inputs)
    run = SparkStreaming(spark, shards=2, generate_watermarks=True).run(pipeline, inputs)
    assert sorted(map(full_line, run.panes)) == sorted(map(full_line, expected.panes))
    assert "own" in {pane.key for pane in run.panes}
