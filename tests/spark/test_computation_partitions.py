"""Computations over the partitions of a Spark batch, without Spark: the Arrow function against the reference.

The tests catch keys that are cut by the end of an Arrow batch, and outputs or bad records in wrong columns.
"""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
from attrs import evolve
from flowalg_columns.codec import Codec
from flowalg_columns.layout import layout_of
from flowalg_laws import READINGS, VALUES, Reading, computations, readings
from flowalg_laws.kit.readings import START
from flowalg_reference import ReferenceBatch
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.tables.columns import EVENT_TIME, PROCESSING_TIME
from flowalg_spark.batch.computations import HORIZON, ComputePartition
from flowalg_spark.encoding.meta import META_TYPES
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.lowering.flow import row_schema
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Timeline
from flowalg.computations import Late, Processor
from flowalg.data.shapes import RecordOf
from flowalg.data.time import event_time
from flowalg.pipeline.nodes import Process

NOW = START + timedelta(hours=1)


@given(computations(), st.lists(readings(keys="abc"), min_size=1, max_size=20), st.integers(1, 9))
def test_a_partition_is_that_of_the_reference(
    computation: Processor[str, int, int], readings: list[Reading], size: int
) -> None:
    """However a partition is divided into Arrow batches, each key has the outputs of the reference."""
    node = VALUES.process(computation).node
    assert isinstance(node, Process)
    pair, element = node.shape, node.input.shape
    assert isinstance(pair, RecordOf)
    assert isinstance(element, RecordOf)
    in_order = evolve(node, in_order=True, late=Late.DROP)
    stage = ComputationStage.of(in_order, element, pair, Codec.of, dead_letters=False)
    schema = arrow_schema(row_schema(pair, {EVENT_TIME: META_TYPES[EVENT_TIME]}))
    ordered = sorted(readings, key=lambda reading: reading.key)
    horizon = max(event_time(reading.at) for reading in readings) + 1
    rows = pa.table(
        {
            "key": pa.array([reading.key for reading in ordered], pa.string()),
            "value": pa.array([reading.value for reading in ordered], pa.int64()),
            EVENT_TIME: pa.array([event_time(reading.at) for reading in ordered], pa.int64()),
            PROCESSING_TIME: pa.array([event_time(NOW)] * len(ordered), pa.int64()),
            HORIZON: pa.array([horizon] * len(ordered), pa.int64()),
        }
    )
    run = ComputePartition(stage, layout_of(pair), schema)
    emitted = [row for batch in run(rows.to_batches(max_chunksize=size)) for row in batch.to_pylist()]
    expected = ReferenceBatch().run(
        VALUES.process(computation), {READINGS: Timeline.batch(readings, time=NOW)}
    )
    assert sorted((row["key"], row["value"], row[EVENT_TIME]) for row in emitted) == sorted(
        (output.key, output.value, output.event_time) for output in expected.elements
    )
