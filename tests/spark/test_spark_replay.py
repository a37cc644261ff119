"""Replays of recorded data on Spark: the panes and drops of the timeline that the data are divided into.

These tests catch sources whose instants come apart, rows in the wrong file, and files or queries that stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import islice
from pathlib import Path

import flowalg_polars
import polars as pl
import pytest
from attrs import asdict, frozen
from flowalg_laws import check_interpreter
from flowalg_laws.conformance import JOBS, covering
from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.kit.readings import READINGS, VALUES
from flowalg_spark import StreamInput, record_table, replay, streaming
from flowalg_spark.streaming.timelines import observed_stream
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg import (
    AtPeriod,
    BoundedOutOfOrderness,
    FixedWindows,
    Outputs,
    PCollection,
    Repeat,
    Run,
    Source,
    Sum,
    Timeline,
    flatten,
)
from flowalg.analysis import Capabilities
from flowalg.errors import (
    ArgumentError,
    ElementError,
    SchemaMismatchError,
    UnsupportedError,
    UserFunctionError,
)
from flowalg.runs.inputs import AnySource
from flowalg.runs.output import joined
from tests.polars.test_replay import FRAME, MINUTE, POLICY, SOME, SUMS, reading
from tests.support.depth import a_few
from tests.support.engines import Collections, Engine, Timelines
from tests.support.replays import NUMBER, recorded_tables

REPLAYED = (
    "a sum per key",
    "sessions that retract",
    "a map side input",
    "a left join",
    "panes beside elements",
    "two groupings of one source",
)
"""Jobs with one and several sources, stages and outputs, early and late panes, and retractions."""

REJECTED = covering(JOBS, set(streaming.CAPABILITIES.missing))
"""Jobs with the features that streams on Spark lack."""


@frozen
class SparkReplays(Engine):
    """Spark as an interpreter: it replays the recorded rows of a timeline."""

    spark: SparkSession

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of Spark streaming."""
        return streaming.CAPABILITIES

    def execute(self, outputs: PCollection[object] | Collections, inputs: Timelines) -> Run[object] | Outputs:
        """Replays the timelines."""
        streams = self._streams(inputs)
        if isinstance(outputs, PCollection):
            batches = replay(outputs, streams, micro_batch=F.col(NUMBER), ends=False, shards=2)
            emitted = [(batch.output, batch.dropped) for batch in batches]
            output = joined(output for output, _ in emitted)
            dropped = tuple(drop for _, drops in emitted for drop in drops)
            return Run(output.panes, dropped, elements=output.elements)
        several = replay(outputs, streams, micro_batch=F.col(NUMBER), ends=False, shards=2)
        parts = [batch.outputs for batch in several]
        return Outputs(
            {name: joined(part[name] for part in parts) for name in outputs},
            tuple(drop for part in parts for drop in part.dropped),
            outputs,
        )

    def _streams(self, inputs: Mapping[AnySource, Timeline[object]]) -> dict[AnySource, StreamInput]:
        return {
            source: observed_stream(source.name, self.spark.createDataFrame(table), inputs[source])
            for source, table in recorded_tables(inputs).items()
        }


@pytest.fixture(scope="module")
def recorded(spark: SparkSession) -> DataFrame:
    """The readings of the tests of the local engine."""
    return spark.createDataFrame(record_table(READINGS, SOME[::-1]))


@pytest.mark.parametrize("name", a_few(REPLAYED, ["two groupings of one source"]))
def test_a_replay_conforms(spark: SparkSession, name: str) -> None:
    """Recorded rows with the numbers of their micro-batches give the panes and drops of their timeline.

    Jobs with a feature that is declared missing are rejected.
    """
    (job,) = (job for job in JOBS if job.name == name)
    check_interpreter(SparkReplays(spark), jobs=[job, *REJECTED])


@pytest.mark.thorough
def test_a_generated_replay_conforms(spark: SparkSession) -> None:
    """A generated pipeline over recorded rows gives the panes and drops of its timeline."""
    check_interpreter(SparkReplays(spark), jobs=REJECTED, generated=1)


@pytest.mark.thorough
@pytest.mark.parametrize(("every", "tick"), [(5 * MINUTE, 10 * MINUTE), (None, None)])
def test_instants_are_those_of_the_local_engine(
    spark: SparkSession, recorded: DataFrame, every: timedelta | None, tick: timedelta | None
) -> None:
    """Two sources are divided together, and their panes are those of a replay on the local engine."""
    others = Source("others", type(SOME[0]), event_time=lambda reading: reading.at)
    more = [reading("a", 1, 0, 1), reading("b", 2, 3, 6), reading("b", 2, 8, 50)]
    both = flatten(
        VALUES, others.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)
    )
    sums = both.window(
        FixedWindows(4 * MINUTE), trigger=Repeat(AtPeriod(10 * MINUTE)), allowed_lateness=MINUTE
    ).combine_per_key(Sum())
    local = flowalg_polars.replay(
        sums,
        {READINGS: FRAME, others: pl.DataFrame([asdict(reading) for reading in more])},
        watermark=POLICY,
        processing_time="seen",
        every=every,
        tick=tick,
    )
    replayed = replay(
        sums,
        {READINGS: recorded, others: spark.createDataFrame(record_table(others, more))},
        watermark=POLICY,
        processing_time=F.col("seen"),
        every=every,
        tick=tick,
        shards=2,
    )
    expected = [(batch.processing_time, list(map(full_line, batch.panes))) for batch in local]
    assert [(batch.processing_time, list(map(full_line, batch.panes))) for batch in replayed] == expected
    assert any(panes for _, panes in expected[:-1])


def test_without_a_column_rows_are_in_order_of_event_time(recorded: DataFrame) -> None:
    """The event time is then the processing time, if Spark can compute it."""
    local = flowalg_polars.replay(SUMS, {READINGS: FRAME}, watermark=POLICY, every=5 * MINUTE)
    replayed = replay(SUMS, {READINGS: recorded}, watermark=POLICY, every=5 * MINUTE)
    assert [batch.panes for batch in replayed] == [batch.panes for batch in local]
    opaque = Source("opaque", type(SOME[0]), event_time=lambda reading: min([reading.at], key=str))
    with pytest.raises(UnsupportedError, match="source 'opaque': its event times are computed in Python"):
        replay(opaque, {opaque: recorded}, watermark=POLICY)


def fail_at_5(value: int) -> int:
    """Fails on one value."""
    if value == 5:
        raise ValueError(value)
    return value


@pytest.mark.thorough
def test_rows_after_the_last_batch_are_not_processed(
    spark: SparkSession, recorded: DataFrame, tmp_path: Path
) -> None:
    """A function that fails on the last reading fails the replay only if that is read; files and query are removed."""
    checked = VALUES.map_values(fail_at_5, result=int)
    large = checked.filter(lambda pair: pair.value > 1)
    arguments = {READINGS: recorded}
    batches = replay(
        large, arguments, watermark=POLICY, processing_time=F.col("seen"), every=5 * MINUTE, folder=tmp_path
    )
    values = [[element.value for element in batch.elements] for batch in islice(batches, 2)]
    assert values == [[2], [3, 4]]
    batches.close()
    assert (list(tmp_path.iterdir()), spark.streams.active) == ([], [])
    with pytest.raises(UserFunctionError, match="raised ValueError: 5"):
        list(replay(large, arguments, watermark=POLICY, processing_time=F.col("seen"), folder=tmp_path))
    assert (list(tmp_path.iterdir()), spark.streams.active) == ([], [])


def test_data_without_order_are_refused(spark: SparkSession, recorded: DataFrame) -> None:
    """A message names the source, the argument, and what is wrong with it."""
    seen = F.when(F.col("value") != 3, F.col("seen"))
    with pytest.raises(
        ElementError, match=r"^source 'readings': processing_time must not be null, .* null in 1 of 5 rows$"
    ):
        replay(SUMS, {READINGS: recorded}, watermark=POLICY, processing_time=seen)
    with pytest.raises(SchemaMismatchError, match="processing_time must be a timestamp .* got bigint"):
        replay(SUMS, {READINGS: recorded}, watermark=POLICY, processing_time=F.col("value"))
    with pytest.raises(ElementError, match="source 'readings': micro_batch must not be null"):
        replay(SUMS, {READINGS: recorded}, watermark=POLICY, micro_batch=seen)
    with pytest.raises(SchemaMismatchError, match="micro_batch must be a column of integers, .* got boolean"):
        replay(SUMS, {READINGS: recorded}, watermark=POLICY, micro_batch=F.lit(True))
    with pytest.raises(
        ArgumentError, match="watermark must be a watermark policy, since the input of source"
    ):
        replay(SUMS, {READINGS: recorded})
    rate = spark.readStream.format("rate").load()
    with pytest.raises(ArgumentError, match="must be a bounded DataFrame"):
        replay(SUMS, {READINGS: rate}, watermark=BoundedOutOfOrderness(MINUTE))
