"""What a changed pipeline can continue from the checkpoint of a query, before it is started."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from attrs import evolve
from flowalg_columns.checks.plans import reporting_all_parts
from flowalg_shard import FromSource, StageDescription
from flowalg_shard.state import plans
from flowalg_shard.state.compatibility import Outcome, StageFinding, compare_stages
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from flowalg.data.errors import CheckpointError, path_text, require_flag
from flowalg.pipeline.nodes import SourceNode
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.plan.plan import Plan
from flowalg.watermarks import MonotonicTimestamps
from flowalg_spark.capabilities import STREAM_REQUIREMENTS
from flowalg_spark.encoding.columns import select
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import NULL
from flowalg_spark.lowering.binding import StreamColumns
from flowalg_spark.session import require_session
from flowalg_spark.state.open_state import count_stages, read_heads
from flowalg_spark.streaming.lowering import Lowering, plan_query
from flowalg_spark.streaming.shards import shard_ids
from flowalg_spark.streaming.streams.batch_time import now
from flowalg_spark.streaming.streams.stream import SourceStream


def plan(
    session: SparkSession,
    pipeline: PCollection[object] | Mapping[str, PCollection[object]],
    checkpoint: str | PathLike[str],
    *,
    shards: int | None = None,
    dead_letters: bool = False,
) -> plans.ChangePlan:
    """Returns what a pipeline, or the named outputs of ``compile``, can continue from the checkpoint of a query.

    It makes the comparison that each shard makes in the first micro-batch after a restart. Spark itself gives a state
    to the stage with the same number, and rejects another number of stages, so no stage can be new or removed. Nothing
    runs, and the checkpoint is not changed. ``shards`` is the number that the query starts with, in a session with as
    many shuffle partitions as this one; ``None`` leaves that out. ``dead_letters`` is that of ``compile``, since it
    affects how often a stage is computed.

    Not compared are user-defined functions, the options and the number of Spark's own sources, and what
    ``check_checkpoint`` reads.

    Raises ``ArgumentError``, ``UnsupportedError`` for features that streaming lacks, and ``CheckpointError`` for a
    checkpoint that has no micro-batch yet, is damaged, or has a state of another version.

    Example::

        print(flowalg_spark.plan(spark, totals, "checkpoint"))
    """
    require_session("session", session)
    require_flag("dead_letters", dead_letters)
    outputs = require_outputs(pipeline)
    planned = plan_query(outputs, dead_letters=dead_letters)
    ids = None if shards is None else shard_ids(session, shards)
    now = _stages(session, planned, ids, single=isinstance(pipeline, PCollection))
    stored_count = count_stages(session, checkpoint)
    path = path_text("checkpoint", checkpoint)
    if now and not stored_count:
        raise CheckpointError(
            f"{path} has no state; give the checkpoint directory of a query that has committed a micro-batch"
        )
    problems: list[str] = []
    if stored_count != len(now):
        names = ", ".join(repr(stage.label) for stage in now) or "none"
        problems.append(
            f"the checkpoint {path} has {stored_count} stages, and the pipeline {len(now)} ({names}); Spark "
            "rejects another number of stages: start the changed pipeline with a new checkpoint"
        )
        return plans.ChangePlan((), problems=tuple(problems))
    findings: list[StageFinding] = []
    for number, stage in enumerate(now):
        heads = read_heads(session, checkpoint, number)
        stored = {head.shards for head in heads}
        if shards is not None and stored - {shards} and not problems:
            problems.append(
                f"the checkpoint was written with {stored.pop()} shards, and the query now has {shards}; start "
                "it with the same number, or reshard the checkpoint first"
            )
        compared = [evolve(compare_stages(head.stage, stage), before=number, now=number) for head in heads]
        # Without a state, a shard begins with an empty one. All shards have the same description.
        findings.append(
            max(compared, key=_severity, default=StageFinding(stage.label, Outcome.NEW, now=number))
        )
    return plans.ChangePlan(tuple(findings), problems=tuple(problems))


def stages_of_query(
    session: SparkSession,
    pipeline: PCollection[object] | Mapping[str, PCollection[object]],
    ids: tuple[int, ...],
    *,
    dead_letters: bool,
) -> list[StageDescription]:
    """Returns the stages of a pipeline, or of named outputs, in the order in which Spark numbers them."""
    planned = plan_query(require_outputs(pipeline), dead_letters=dead_letters)
    return _stages(session, planned, ids, single=isinstance(pipeline, PCollection))


def _severity(finding: StageFinding) -> int:
    return [Outcome.CONTINUES, Outcome.CHANGES, Outcome.INCOMPATIBLE].index(finding.outcome)


def _stages(
    session: SparkSession, planned: Plan, ids: tuple[int, ...] | None, *, single: bool
) -> list[StageDescription]:
    """Returns the stages of a query in the order in which Spark numbers them; ``ids`` are those of shards, if known."""
    sources = {
        name: _stream(session, read.source, dead_letters=planned.dead_letters)
        for name, read in planned.sources.items()
    }
    lowering = Lowering.of(planned, sources, ids or (0,), 0, metrics=False, late_data=False)
    with reporting_all_parts(planned, STREAM_REQUIREMENTS):
        if single:
            streams = [lowering.output(name) for name in planned.outputs]
        else:
            lowering.outputs()
            streams = lowering.parked
    stages = [stage for stream in streams for stage in stream.stages]
    return stages if ids is not None else [evolve(stage, shards=None) for stage in stages]


def _stream(session: SparkSession, node: SourceNode, *, dead_letters: bool) -> SourceStream:
    """Returns a stream with the schema of a source, which is never read."""
    schema = spark_type(node.shape)
    fields = schema.fields if isinstance(schema, T.StructType) else [T.StructField("value", schema)]
    columns = (NULL.cast(field.dataType).alias(field.name) for field in fields)
    frame = select(session.readStream.format("rate").load(), *columns)
    times = StreamColumns(now(), None, dead_letters=dead_letters)
    return SourceStream(frame, times, FromSource(MonotonicTimestamps(), node.name, at_batch_time=True))
