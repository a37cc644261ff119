"""From the nodes of a pipeline to streams: element-wise work as flows, groupings and side inputs as stages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import assert_never

from attrs import define, evolve, field
from flowalg_shard import FromStage, Grouping, Operator, Side, StageDescription, describe_stage
from flowalg_shard.step.side_inputs import SideStage
from flowalg_shard.tables.columns import END, EVENT_TIME, SHARD, START, VALUE, WEIGHT
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import RecordOf, Shape
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import analyse
from flowalg.pipeline.graph import Fold, nodes_of
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    GroupingNode,
    Hole,
    Node,
    SourceNode,
    WindowInto,
    WithSide,
)
from flowalg.windows.window_functions import GlobalWindows
from flowalg_spark.encoding.layout import col, key_and_value, layout_of, leaf_columns, nest
from flowalg_spark.encoding.meta import (
    CLOCK_META,
    DROP,
    DROP_COUNT,
    DROP_META,
    DROP_REASON,
    ERROR,
    FORWARDED_META,
    KEEP,
    META_TYPES,
    METRICS,
    PANE_META,
    PANE_TIME,
    REPORT,
    WATERMARK,
    pane_meta_types,
)
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.lowering.binding import bind_source
from flowalg_spark.lowering.element_wise import apply_steps, lifting_note
from flowalg_spark.lowering.flow import Flow, LiftingNote, require_equal_shapes, row_schema
from flowalg_spark.lowering.python_columns import arrow_column
from flowalg_spark.lowering.side_inputs import shape_with_side, steps_on_mapping
from flowalg_spark.streaming.dry_run import trials
from flowalg_spark.streaming.emissions import FromEmissions, OutOfGrouping, OutOfSide
from flowalg_spark.streaming.exchange import (
    BUNDLE_SCHEMA,
    Broadcast,
    Divided,
    Precombined,
    Routing,
    ToBundles,
)
from flowalg_spark.streaming.grouping import Prepared, prepared, shard_of, weight_of
from flowalg_spark.streaming.processor import EMISSION_SCHEMA, ShardProcessor
from flowalg_spark.streaming.python_values import Pickled
from flowalg_spark.streaming.stream import SourceStream, Stream, united


@define
class Lowering:
    """The streams of a pipeline's nodes. ``sources`` has the frame and the clocks of each, with where they come from.

    ``heard`` are the stages that another one is behind. With ``several`` stages what is dropped is told in texts. Of
    its state a Python worker keeps up to ``state_cache_bytes`` at hand. With ``metrics`` each stage tells of each
    instant; ``stages`` are the names of those that there are so far.
    """

    sources: Mapping[str, SourceStream]
    shards: tuple[int, ...]
    heard: frozenset[int]
    several: bool
    state_cache_bytes: int
    metrics: bool
    stages: list[str] = field(factory=list)
    known: Fold[Node, Stream] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.known = Fold(lambda node, _: self.lowered(node))

    @classmethod
    def of(
        cls,
        root: Node,
        sources: Mapping[str, SourceStream],
        shards: tuple[int, ...],
        state_cache_bytes: int,
        *,
        metrics: bool,
    ) -> Lowering:
        """The lowering of a whole pipeline."""
        stages = [node for node in nodes_of(root) if isinstance(node, GroupingNode | WithSide)]
        read = nodes_of(*(inner for stage in stages for inner in stage.inputs))
        heard = frozenset(id(node) for node in read if isinstance(node, GroupingNode | WithSide))
        several = len(stages) > 1 or any(source.clocks.dead_letters for source in sources.values())
        return cls(sources, shards, heard, several, state_cache_bytes, metrics)

    def stream(self, node: Node) -> Stream:
        """The stream of a node. Where it is read again it has the same rows, but without the drops."""
        if node in self.known:
            return _without_drops(self.known(node))
        return self.known(node)

    def lowered(self, node: Node) -> Stream:
        """The stream of a node that is read for the first time."""
        match node:
            case SourceNode(name=name):
                source = self.sources[name]
                return Stream(bind_source(node, source.frame, source.clocks), (source.upstream,))
            case Hole():
                raise node.refused()
            case WindowInto(input=inner):
                return self.stream(inner)
            case ElementWise():
                chain = node.unsplit
                if isinstance(chain.input, WithSide):
                    return self.beside(chain.input, chain.steps)
                return self.through(self.stream(chain.input), chain.steps)
            case CombinePerKey(input=inner):
                return self.grouped(node, prepared(node, [self.tried(node, self.stream(inner))], self.shards))
            case CoGroupByKey(inputs=inputs):
                return self.grouped(
                    node, prepared(node, [self.stream(inner) for inner in inputs], self.shards)
                )
            case Flatten(inputs=inputs):
                return self.flattened([self.stream(inner) for inner in inputs])
            case WithSide():
                return self.beside(node, ())
        assert_never(node)

    def through(self, stream: Stream, steps: tuple[Step, ...]) -> Stream:
        """A stream after a chain of element-wise steps."""
        return evolve(stream, flow=apply_steps(stream.flow, steps)) if steps else stream

    def tried(self, node: CombinePerKey, stream: Stream) -> Stream:
        """The input of a grouping, less the elements that its combiners' functions cannot take, where they are told."""
        return self.through(stream, trials(node.combiner)) if stream.flow.dead_letters else stream

    def flattened(self, streams: list[Stream]) -> Stream:
        """The union of streams of one shape."""
        require_equal_shapes([one.flow for one in streams])
        return united(streams)

    def grouped(self, node: GroupingNode, ready: Prepared) -> Stream:
        """The panes and drops of a grouping: pre-combined, exchanged by shard, stepped, and unpacked."""
        stage = ready.stage
        if stage.strategy.allowed_lateness is None and not isinstance(stage.strategy.windows, GlobalWindows):
            raise UnsupportedError(
                f"{stage.label} over {stage.strategy.windows} has no allowed_lateness, so it would keep the state of "
                "every window for ever; pass window(..., allowed_lateness=timedelta(...)), or FOREVER if that is meant"
            )
        bundles = self.sent(0, ready.rows, Precombined(stage))
        out = OutOfGrouping(stage, ready.pair, self.several)
        operator = Grouping(stage, ready.rows.upstreams)
        described = describe_stage(stage, str(ready.pair))
        flow = self.emitted(node, bundles, operator, described, out, ready.rows.flow, ready.pair)
        return Stream(flow if self.several else _with_drop_column(flow), (FromStage(),))

    def beside(self, node: WithSide, steps: tuple[Step, ...]) -> Stream:
        """Elements beside what they read of a side input, and through the steps that follow."""
        main, side = self.stream(node.input), self.stream(node.side)
        shape = shape_with_side(main.flow, side.flow, node.view)
        together = steps_on_mapping(analyse(steps, shape))
        after = together[-1].after if together else shape
        assert after is not None, "steps run together up to one whose result is known"
        effective = node.side.windowing
        stage = SideStage("with_side", node.view, effective.strategy.windows, effective.fresh)
        elements, columns = _divided(main, self.shards)
        others, theirs = _broadcast(side, fresh=effective.fresh)
        bundles = self.sent(0, elements, Divided(columns)).union(self.sent(1, others, Broadcast(theirs)))
        taken = tuple(one.step for one in together)
        out = OutOfSide(stage.label, layout_of(main.flow.shape), side.flow.shape, taken, layout_of(after))
        operator = Side(stage, elements.upstreams, others.upstreams)
        notes = [
            LiftingNote("with_side", "a side input, which is kept in Python", None),
            *map(lifting_note, together),
        ]
        before = main.flow.with_notes(*side.flow.notes, *notes)
        described = describe_stage(stage, f"{main.flow.shape} beside {side.flow.shape}")
        flow = self.emitted(node, bundles, operator, described, out, before, after)
        return self.through(Stream(flow, (FromStage(),)), steps[len(together) :])

    def sent(self, number: int, rows: Stream, routing: Routing) -> DataFrame:
        """What the partitions of an input send to every shard."""
        frame = rows.flow.frame
        bundling = ToBundles(number, rows.upstreams, routing, self.shards, arrow_schema(frame.schema))
        return frame.mapInArrow(bundling, BUNDLE_SCHEMA)

    def emitted(
        self,
        node: Node,
        bundles: DataFrame,
        operator: Operator,
        stage: StageDescription,
        out: OutOfGrouping | OutOfSide,
        before: Flow,
        shape: Shape,
    ) -> Flow:
        """What a stage gives: elements of ``shape``, drops, and its reports if there is a stage behind it."""
        reports = id(node) in self.heard
        meta = {
            **pane_meta_types(),
            KEEP: META_TYPES[KEEP],
            DROP_REASON: META_TYPES[DROP_REASON],
            DROP_COUNT: META_TYPES[DROP_COUNT],
        }
        if self.several:
            meta |= {name: META_TYPES[name] for name in DROP_META}
        if before.dead_letters:
            meta[ERROR] = META_TYPES[ERROR]
        if reports:
            meta[REPORT] = META_TYPES[REPORT]
        if self.metrics:
            meta[METRICS] = META_TYPES[METRICS]
        schema = row_schema(shape, meta)
        processor = ShardProcessor(
            operator,
            stage,
            len(self.shards),
            reports=reports,
            metrics=len(self.stages) if self.metrics else None,
            state_cache_bytes=self.state_cache_bytes,
        )
        self.stages.append(stage.label)
        frame = (
            bundles.groupBy(SHARD)
            .transformWithState(processor, EMISSION_SCHEMA, "append", "None")
            .mapInArrow(FromEmissions(out, reports, arrow_schema(schema)), schema)
        )
        return evolve(before, frame=frame, shape=shape, meta=meta)


def _divided(main: Stream, shards: tuple[int, ...]) -> tuple[Stream, tuple[str, ...]]:
    """The elements of a stream, each with its shard; and the columns that travel."""
    flow = main.flow
    own = leaf_columns(layout_of(flow.shape))
    kept = [name for name in flow.meta if name in (*PANE_META, EVENT_TIME)]
    meta = _meta_of_stage(flow, kept)
    place = shard_of([col(EVENT_TIME), *map(col, own)], shards)
    frame = flow.frame.select(*map(col, own), place.alias(SHARD), *map(col, meta))
    return evolve(main, flow=evolve(flow, frame=frame, meta=meta)), (*own, *kept)


def _broadcast(side: Stream, *, fresh: bool) -> tuple[Stream, tuple[str, ...]]:
    """The elements of a side, pickled; and the columns that travel."""
    flow = side.flow
    columns = leaf_columns(flow.element)
    value = arrow_column(Pickled(layout_of(flow.shape), None), T.BinaryType(), [col(KEEP), *columns])
    bounds = () if fresh else (START, END)
    meta = _meta_of_stage(flow, [EVENT_TIME, *bounds])
    frame = flow.frame.select(value.alias(VALUE), weight_of(flow).alias(WEIGHT), *map(col, meta))
    return evolve(side, flow=evolve(flow, frame=frame, meta=meta)), (VALUE, WEIGHT, EVENT_TIME, *bounds)


def _meta_of_stage(flow: Flow, kept: list[str]) -> dict[str, T.DataType]:
    """What a stage reads of a flow beside its elements."""
    wanted = {*kept, KEEP, *CLOCK_META, *(FORWARDED_META if DROP_REASON in flow.meta else ())}
    return {name: kind for name, kind in flow.meta.items() if name in wanted}


def _with_drop_column(flow: Flow) -> Flow:
    """Panes and drops with their element and their ``DROP`` in place, where one stage alone can drop."""
    assert isinstance(flow.shape, RecordOf), "what a grouping gives is pairs"
    key, value = key_and_value(flow.element)
    drop = F.struct(
        col(DROP_REASON).alias("reason"),
        col(DROP_COUNT).alias("count"),
        nest(key).alias("key"),
        nest(value).alias("value"),
        F.timestamp_micros(col(PANE_TIME)).alias("processing_time"),
        F.timestamp_micros(col(WATERMARK)).alias("watermark"),
    )
    own = [col(name) for name in leaf_columns(layout_of(flow.shape))]
    others = [name for name in flow.meta if name not in (DROP_REASON, DROP_COUNT)]
    frame = flow.frame.select(*own, *map(col, others), F.when(col(DROP_REASON).isNotNull(), drop).alias(DROP))
    meta = {**{name: flow.meta[name] for name in others}, DROP: frame.schema[DROP].dataType}
    return evolve(flow, frame=frame, meta=meta)


def _without_drops(stream: Stream) -> Stream:
    flow = stream.flow
    told = [col(name).isNull() for name in (DROP_REASON, DROP, METRICS) if name in flow.meta]
    frame = reduce(DataFrame.filter, told, flow.frame)
    return evolve(stream, flow=evolve(flow, frame=frame))


__all__ = ["Lowering"]
