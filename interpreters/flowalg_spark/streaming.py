"""Spark streaming: a grouping is one exchange and one stateful operator, keyed by shard, with clocks in band.

Each micro-batch is one instant. ``compile`` gives a streaming DataFrame of panes; starting it, with
``writeStream``, is the user's. Restart, replay and exactly-once are Spark's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar, assert_never

from attrs import evolve, field, frozen
from flowalg_shard.stage import SHARD, Stage
from flowalg_shard.support import require_policy, require_strategy
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg.assignment import GlobalWindows
from flowalg.errors import ArgumentError, UnsupportedError
from flowalg.inputs import AnySource, inputs_by_name
from flowalg.nodes import (
    CombinePerKey,
    ElementWise,
    Flatten,
    Node,
    SourceNode,
    WindowInto,
    WithSide,
    last_grouping,
)
from flowalg.pcollection import PCollection
from flowalg.watermarks import WatermarkPolicy
from flowalg_spark.binding import Clocks, bound_source, require_frame
from flowalg_spark.capabilities import STREAMING
from flowalg_spark.element_wise import through_steps
from flowalg_spark.exchange import FromEmissions, ToBundles
from flowalg_spark.flow import Flow, arrow_schema, guarded, row_schema
from flowalg_spark.frames import PaneFrame, pane_frame, visible
from flowalg_spark.grouping import GroupingColumns, grouping_columns
from flowalg_spark.layout import Branch, layout_of, leaves, named, nested
from flowalg_spark.meta import DROP, DROPPED, KEEP, META_TYPES, PANE_TIME, REASON, WATERMARK, pane_meta
from flowalg_spark.processor import BUNDLE_SCHEMA, EMISSION_SCHEMA, ShardProcessor
from flowalg_spark.session import require_state_store

A = TypeVar("A")

CAPABILITIES: Final = STREAMING
"""What this interpreter lacks, as data."""


@frozen
class StreamInput:
    """A streaming frame, with what it says about time.

    ``watermark`` is the policy that generates the source's watermark from its event times: so far
    ``BoundedDisorder(delay)`` without options; ``compile`` refuses the others. A micro-batch's
    processing time is Spark's timestamp of the batch, the same on replay; a source that carries processing times of
    its own says them with ``processing_time``, a timestamp column, and an instant's is then the greatest in its
    batch. ``end_of_input`` is a boolean column that is true on a row which is no element and says that nothing
    more will come: the watermark then goes to the end of time. A file source reads files by their modification times,
    so that the file with that row must be the newest.
    """

    frame: DataFrame
    watermark: WatermarkPolicy
    processing_time: Column | None = field(default=None, kw_only=True)
    end_of_input: Column | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        require_frame("StreamInput", self.frame)
        if not isinstance(self.watermark, WatermarkPolicy):
            valid = "a watermark policy, such as BoundedDisorder(timedelta(seconds=30))"
            raise ArgumentError("StreamInput.watermark", self.watermark, valid)

    @property
    def clocks(self) -> Clocks:
        """What each row says about time, as columns."""
        now = F.current_timestamp() if self.processing_time is None else self.processing_time
        return Clocks(F.unix_micros(now), F.lit(False) if self.end_of_input is None else self.end_of_input)


def compile(
    pipeline: PCollection[A], inputs: Mapping[AnySource, StreamInput], *, shards: int | None = None
) -> PaneFrame[A]:
    """The panes of a pipeline over unbounded frames, as a streaming DataFrame in append mode.

    ``shards`` is how many parts the state is split into, and is fixed for the life of a checkpoint; it defaults
    to the session's number of shuffle partitions. Raises ``UnboundSourceError``, ``SchemaMismatchError``,
    ``ArgumentError``, and ``UnsupportedError`` for what streaming cannot do.
    """
    grouping = last_grouping(pipeline.node)
    streams = inputs_by_name(pipeline.node, inputs, "StreamInput(frame, watermark)")
    for name, stream in streams.items():
        if not isinstance(stream, StreamInput):
            raise ArgumentError(f"the input of source {name!r}", stream, "a StreamInput")
        if not stream.frame.isStreaming:
            raise ArgumentError(
                f"the frame of source {name!r}",
                stream.frame,
                "a streaming frame, as spark.readStream gives; use batch.compile for a bounded one",
            )
        require_policy(stream.watermark, f"source {name!r}")
    session = next(iter(streams.values())).frame.sparkSession
    require_state_store(session)
    flow = _lower(pipeline.node, grouping, streams, _shard_ids(session, shards))
    return pane_frame(pipeline, flow, lambda: _with_drops(flow))


def _with_drops(flow: Flow) -> DataFrame:
    shown = flow.selected(guarded(flow.element), flow.shape)
    rows = shown.frame.filter(named(KEEP) | named(DROP).isNotNull())
    return rows.select(*visible(shown), named(DROP).alias("drop"))


def _shard_ids(session: SparkSession, shards: int | None) -> tuple[int, ...]:
    """As many shard numbers as there are shards, spread evenly over the partitions that they are hashed to.

    The first is always 0, so that a query restarted with another number of shards meets a state that says so.
    """
    partitions = int(session.conf.get("spark.sql.shuffle.partitions", "200") or "200")
    wanted = partitions if shards is None else shards
    if not isinstance(wanted, int) or wanted < 1:
        raise ArgumentError("shards", shards, "a positive int, or None for the number of shuffle partitions")
    if wanted == 1:
        return (0,)
    candidates = session.range(wanted * 16 + 64).select(
        F.col("id").cast("int").alias("id"),
        F.pmod(F.hash(F.col("id").cast("int")), F.lit(partitions)).alias("at"),
    )
    taken: dict[int, list[int]] = {}
    for row in sorted(candidates.collect(), key=lambda one: int(one["id"])):
        taken.setdefault(int(row["at"]), []).append(int(row["id"]))
    rounds = sorted((rank, number) for numbers in taken.values() for rank, number in enumerate(numbers))
    return tuple(sorted(number for _, number in rounds[:wanted]))


def _lower(
    node: Node, grouping: CombinePerKey, streams: Mapping[str, StreamInput], shards: tuple[int, ...]
) -> Flow:
    match node:
        case SourceNode(name=name):
            return bound_source(node, streams[name].frame, streams[name].clocks)
        case WindowInto(input=inner):
            return _lower(inner, grouping, streams, shards)
        case ElementWise(input=inner, steps=steps):
            return through_steps(_lower(inner, grouping, streams, shards), steps)
        case CombinePerKey(input=inner):
            if node is not grouping:
                raise UnsupportedError(
                    f"{node.label} is grouped again downstream; streaming runs pipelines of one grouping so far "
                    "(the reference interpreter and Spark batch run any number)"
                )
            upstream = _lower(inner, grouping, streams, shards)
            (stream,) = streams.values()
            return _grouped(node, upstream, stream.watermark, shards)
        case Flatten():
            raise UnsupportedError(
                "flatten, co_group_by_key and joins run in the reference interpreter only so far"
            )
        case WithSide():
            raise UnsupportedError("side inputs run in the reference interpreter only so far")
    assert_never(node)


def _grouped(node: CombinePerKey, flow: Flow, policy: WatermarkPolicy, shards: tuple[int, ...]) -> Flow:
    """The panes and drops of a grouping: pre-combined, exchanged by shard, stepped, and unpacked."""
    columns = grouping_columns(flow, node)
    require_strategy(columns.stage.strategy, columns.stage.label)
    _require_lateness(columns.stage)
    sharded = _sharded(columns, shards)
    to_bundles = ToBundles(columns.stage, shards, arrow_schema(sharded.schema))
    rows = row_schema(
        columns.pair, {**pane_meta(), **{name: META_TYPES[name] for name in (KEEP, REASON, DROPPED)}}
    )
    from_emissions = FromEmissions(columns.result_columns, arrow_schema(rows))
    emitted = (
        sharded.mapInArrow(to_bundles, BUNDLE_SCHEMA)
        .groupBy(SHARD)
        .transformWithState(
            ShardProcessor(columns.stage, policy, len(shards)), EMISSION_SCHEMA, "append", "None"
        )
        .mapInArrow(from_emissions, rows)
    )
    return _with_drop_column(evolve(columns.flow, frame=emitted, shape=columns.pair))


def _sharded(columns: GroupingColumns, shards: tuple[int, ...]) -> DataFrame:
    frame = columns.flow.frame
    numbers = F.array(*(F.lit(number) for number in shards))
    # A constant column keeps the hash defined for the one key that has no columns.
    place = F.pmod(F.xxhash64(F.lit(0), *map(named, columns.stage.keys)), F.lit(len(shards)))
    return frame.select("*", F.get(numbers, place.cast("int")).alias(SHARD))


def _with_drop_column(flow: Flow) -> Flow:
    """Panes and drops with their element and their ``DROP`` in place."""
    element = flow.element
    assert isinstance(element, Branch)
    key, value = element.parts
    drop = F.struct(
        named(REASON).alias("reason"),
        named(DROPPED).alias("count"),
        nested(key).alias("key"),
        nested(value).alias("value"),
        F.timestamp_micros(named(PANE_TIME)).alias("processing_time"),
        F.timestamp_micros(named(WATERMARK)).alias("watermark"),
    )
    own = [named(leaf.at) for leaf in leaves(layout_of(flow.shape))]
    others = [named(name) for name in (*pane_meta(), KEEP)]
    frame = flow.frame.select(*own, *others, F.when(~named(KEEP), drop).alias(DROP))
    meta = {**pane_meta(), KEEP: META_TYPES[KEEP], DROP: frame.schema[DROP].dataType}
    return evolve(flow, frame=frame, meta=meta)


def _require_lateness(stage: Stage) -> None:
    strategy = stage.strategy
    if strategy.allowed_lateness is None and not isinstance(strategy.windows, GlobalWindows):
        raise UnsupportedError(
            f"{stage.label} over {strategy.windows} has no allowed_lateness, so it would keep the state of every "
            "window for ever; pass window(..., allowed_lateness=timedelta(...)), or FOREVER if that is meant"
        )


__all__ = ["CAPABILITIES", "StreamInput", "compile"]
