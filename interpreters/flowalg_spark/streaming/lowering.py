"""Lowers the nodes of a pipeline to streams: element-wise steps to flows, groupings and side inputs to stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import count
from typing import assert_never

from attrs import define, evolve, field
from flowalg_columns.checks.shapes import require_equal_shapes, shape_with_side
from flowalg_columns.checks.streams import require_lateness
from flowalg_columns.layout import key_and_value, layout_of, leaf_columns
from flowalg_columns.names import (
    CLOCK_META,
    DROP,
    DROP_META,
    ERROR,
    FORWARDED_META,
    METRICS,
    PANE_META,
    PANE_TIME,
    WATERMARK,
)
from flowalg_columns.notes import LiftingNote
from flowalg_shard import FromSource, FromStage, Grouping, Operator, Side, StageDescription, describe_stage
from flowalg_shard.clocks.exchange import Upstream, read_together, sources_followed
from flowalg_shard.operators import Computing
from flowalg_shard.state.compatibility import describe_computation, describe_side
from flowalg_shard.step.side_inputs import SideStage
from flowalg_shard.tables.columns import (
    DROP_COUNT,
    DROP_REASON,
    END,
    EVENT_TIME,
    KEEP,
    PROCESSING_TIME,
    REPORT,
    SHARD,
    START,
    VALUE,
    WEIGHT,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.shapes import RecordOf, Shape
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import analyse
from flowalg.lifting.lookups import steps_on_mapping
from flowalg.pipeline.graph import Fold, nodes_of
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    GroupingNode,
    Hole,
    Node,
    Process,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.structure import branches_of, sources_of, sources_read_together
from flowalg_spark.encoding.columns import col, nest
from flowalg_spark.encoding.meta import META_TYPES, pane_meta_types
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.lowering.binding import bind_source
from flowalg_spark.lowering.element_wise import apply_steps, lifting_note
from flowalg_spark.lowering.fan_out import fan_out
from flowalg_spark.lowering.flow import Flow, row_schema
from flowalg_spark.lowering.metadata import pair_with_metadata
from flowalg_spark.lowering.python_columns import arrow_column
from flowalg_spark.lowering.stateless import STAGES, has_stages
from flowalg_spark.streaming.computations import prepare_computation
from flowalg_spark.streaming.emissions import (
    ComputationRows,
    EmittedRows,
    GroupingRows,
    RowsOfStage,
    SideInputRows,
)
from flowalg_spark.streaming.exchange import (
    BUNDLE_SCHEMA,
    NOW,
    Broadcast,
    ClocksOnly,
    CombineByShard,
    DivideByShard,
    Routing,
    ToBundles,
)
from flowalg_spark.streaming.grouping import PreparedGrouping, prepare_grouping, shard_of, weight_of
from flowalg_spark.streaming.processor import ShardProcessor
from flowalg_spark.streaming.python_values import PickleValues
from flowalg_spark.streaming.streams.batch_time import time_in_bundles
from flowalg_spark.streaming.streams.parked_rows import Slot, parked_columns, without_parked
from flowalg_spark.streaming.streams.stream import SourceStream, Stream, unite


@define
class Lowering:
    """Lowers a pipeline to streams.

    ``upstream`` has the ids of the nodes whose stages another stage reads. With ``json_drops`` the keys and values of
    drops are JSON. ``state_cache_bytes`` is the size of a Python worker's state cache. With ``metrics`` each stage
    reports metrics in each micro-batch. ``stages`` are the names of the stages that have been lowered.

    ``nodes`` are the sources by name.

    ``waiting`` has, by node, the number of further outputs that read its stages. Its rows are parked in one of
    ``slots`` until then, and ``parked`` are the streams that no output has continued yet.
    """

    sources: Mapping[str, SourceStream]
    nodes: Mapping[str, SourceNode]
    shards: tuple[int, ...]
    upstream: frozenset[int]
    json_drops: bool
    state_cache_bytes: int
    metrics: bool
    waiting: Counter[int] = field(factory=Counter)
    stages: list[str] = field(factory=list)
    numbers: Iterator[int] = field(factory=count)
    slots: dict[int, Slot] = field(factory=dict)
    parked: list[Stream] = field(factory=list)
    known: Fold[Node, Stream] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.known = Fold(lambda node, _: self.lower(node))

    @classmethod
    def of(
        cls,
        roots: Sequence[Node],
        sources: Mapping[str, SourceStream],
        shards: tuple[int, ...],
        state_cache_bytes: int,
        *,
        metrics: bool,
    ) -> Lowering:
        """Returns the lowering of the outputs of a query."""
        stages = [node for node in nodes_of(*roots) if isinstance(node, STAGES)]
        read_elements = nodes_of(*(inner for stage in stages for inner in stage.inputs))
        upstream = frozenset(id(node) for node in read_elements if isinstance(node, STAGES))
        in_json = any(not isinstance(node, GroupingNode) for node in stages)
        json_drops = len(stages) > 1 or len(roots) > 1 or in_json or _with_dead_letters(sources)
        waiting = _read_again(roots)
        upstreams = read_together(
            {name: source.upstream for name, source in sources.items()}, sources_read_together(*roots)
        )
        known = {name: evolve(source, upstream=upstreams[name]) for name, source in sources.items()}
        nodes = {node.name: node for node in sources_of(*roots)}
        return cls(known, nodes, shards, upstream, json_drops, state_cache_bytes, metrics, waiting)

    @property
    def dead_letters(self) -> bool:
        """Whether bad records are data."""
        return _with_dead_letters(self.sources)

    def stream(self, node: Node) -> Stream:
        """Returns the stream of a node. Only its first reader receives the drops.

        A stage that several outputs read runs once: each of them continues the plan of the one before it. It is
        computed again for a second reader in one output, and for one that needs two parked streams of one plan.
        """
        slot = self.slots.get(id(node))
        if slot is not None:
            for stream in self.parked:
                if slot.mark in stream.flow.meta:
                    self.parked.remove(stream)
                    return self.with_copy(node, slot, slot.take(stream))
        if node in self.known:
            return _without_drops(self.known(node))
        stream = self.known(node)
        if not self.waiting[id(node)]:
            return stream
        slot = self.slots[id(node)] = Slot.of(next(self.numbers), stream)
        return self.with_copy(node, slot, stream)

    def with_copy(self, node: Node, slot: Slot, stream: Stream) -> Stream:
        """Returns the stream of a node, with a copy in its slot if further outputs read it."""
        if not self.waiting[id(node)]:
            return stream
        self.waiting[id(node)] -= 1
        return slot.copy(stream)

    def output(self, root: Node) -> Stream:
        """Returns the stream of an output. Elements have a processing time: that of a stage that they waited in."""
        stream = self.stream(root)
        if emits_panes(root):
            return stream
        times = [col(name) for name in (PANE_TIME, PROCESSING_TIME) if name in stream.flow.meta]
        time = F.coalesce(*times, F.unix_micros(F.current_timestamp()))
        return evolve(stream, flow=stream.flow.with_meta(**{PROCESSING_TIME: time}))

    def outputs(self, roots: Sequence[Node]) -> list[Slot]:
        """Lowers several outputs, and returns where each is parked in one of ``parked``."""
        found = []
        for root in roots:
            stream = self.output(root)
            slot = Slot.of(next(self.numbers), stream)
            self.parked.append(slot.park(stream))
            found.append(slot)
        return found

    def lower(self, node: Node) -> Stream:
        """Lowers a node, once."""
        match node:
            case SourceNode(name=name):
                source = self.sources[name]
                return Stream(bind_source(node, source.frame, source.columns), (source.upstream,))
            case Hole():
                raise node.refused()
            case WindowInto(input=inner):
                return self.stream(inner)
            case ElementWise():
                chain = node.unsplit
                if isinstance(chain.input, WithSide):
                    return self.side_input(chain.input, chain.steps)
                return self.apply_steps(self.stream(chain.input), chain.steps)
            case WithMetadata(input=inner, metadata=metadata):
                stream = self.stream(inner)
                return evolve(stream, flow=pair_with_metadata(stream.flow, metadata))
            case CombinePerKey(input=inner):
                return self.grouping(node, prepare_grouping(node, [self.stream(inner)], self.shards))
            case CoGroupByKey(inputs=inputs):
                return self.grouping(
                    node, prepare_grouping(node, [self.stream(inner) for inner in inputs], self.shards)
                )
            case Flatten(inputs=inputs):
                # With dead letters, an element on which a shared step fails is one dead letter, of one node.
                found = None if self.dead_letters else branches_of(node)
                return self.branches(*found) if found else self.unite(list(map(self.stream, inputs)))
            case WithSide():
                return self.side_input(node, ())
            case Process(input=inner):
                return self.computation(node, self.stream(inner))
        assert_never(node)

    def apply_steps(self, stream: Stream, steps: tuple[Step, ...]) -> Stream:
        """Returns a stream after a chain of element-wise steps."""
        return evolve(stream, flow=apply_steps(stream.flow, steps)) if steps else stream

    def branches(self, base: Node, chains: tuple[tuple[Step, ...], ...]) -> Stream:
        """Returns the union of several branches of one collection, from one pass over its rows if possible."""
        stream = self.stream(base)
        flow = fan_out(stream.flow, chains)
        if flow is not None:
            return evolve(stream, flow=flow)
        first, *others = chains
        again = _without_drops(stream)
        return self.unite(
            [self.apply_steps(stream, first), *(self.apply_steps(again, chain) for chain in others)]
        )

    def unite(self, streams: list[Stream]) -> Stream:
        """Returns the union of streams of one shape."""
        require_equal_shapes([one.flow.shape for one in streams])
        return unite(streams)

    def grouping(self, node: GroupingNode, prepared: PreparedGrouping) -> Stream:
        """Returns the panes and drops of a grouping: pre-combine, exchange by shard, step, and unpack."""
        stage = prepared.stage
        require_lateness(stage.label, stage.strategy)
        bundles = self.to_bundles(0, prepared.rows, CombineByShard(stage))
        unpacker = GroupingRows(stage, prepared.pair, self.json_drops)
        followed, clocks = self.followed(1, prepared.rows.upstreams)
        operator = Grouping(stage, prepared.rows.upstreams, followed)
        described = self.with_shards(describe_stage(stage, prepared.pair, prepared.values, operator.inputs))
        bundles = reduce(DataFrame.union, clocks, bundles)
        flow = self.run_stage(node, bundles, operator, described, unpacker, prepared.rows.flow, prepared.pair)
        shown = flow if self.json_drops else _with_drop_column(flow)
        return Stream(shown, (FromStage(),), (described, *prepared.rows.stages))

    def side_input(self, node: WithSide, steps: tuple[Step, ...]) -> Stream:
        """Returns elements with the values that they read from a side input, after the given steps."""
        main, side = self.stream(node.input), self.stream(node.side)
        shape = shape_with_side(main.flow.shape, side.flow.shape, node.view)
        # With dead letters each element has the mapping that it reads, so that a step on it fails for this element.
        together = () if self.dead_letters else steps_on_mapping(analyse(steps, shape))
        after = together[-1].after if together else shape
        assert after is not None, "the last step on a mapping has a result of a known shape"
        stage = SideStage.of(node)
        elements, columns = _divide(main, self.shards)
        others, side_columns = _broadcast(side, fresh=stage.fresh)
        bundles = self.to_bundles(0, elements, DivideByShard(columns)).union(
            self.to_bundles(1, others, Broadcast(side_columns))
        )
        stage_steps = tuple(step.step for step in together)
        unpacker = SideInputRows(
            stage.label, layout_of(main.flow.shape), side.flow.shape, stage_steps, layout_of(after)
        )
        followed, clocks = self.followed(2, (*elements.upstreams, *others.upstreams))
        bundles = reduce(DataFrame.union, clocks, bundles)
        operator = Side(stage, elements.upstreams, others.upstreams, followed)
        notes = [
            LiftingNote("with_side", "a side input, which is kept in Python", None),
            *map(lifting_note, together),
        ]
        before = main.flow.with_notes(*side.flow.notes, *notes)
        described = self.with_shards(describe_side(stage, main.flow.shape, side.flow.shape, operator.inputs))
        flow = self.run_stage(node, bundles, operator, described, unpacker, before, after)
        stages = (described, *main.stages, *side.stages)
        return self.apply_steps(Stream(flow, (FromStage(),), stages), steps[len(together) :])

    def computation(self, node: Process, stream: Stream) -> Stream:
        """Returns the outputs and drops of a computation: exchange by shard, step, and unpack."""
        meta = _meta_of_stage(stream.flow, [EVENT_TIME])
        prepared = prepare_computation(node, stream, meta, self.shards, dead_letters=self.dead_letters)
        stage, flow = prepared.stage, prepared.rows.flow
        bundles = self.to_bundles(0, prepared.rows, DivideByShard(prepared.columns))
        unpacker = ComputationRows(stage, prepared.pair, stream.flow.shape)
        followed, clocks = self.followed(1, prepared.rows.upstreams)
        bundles = reduce(DataFrame.union, clocks, bundles)
        operator = Computing(stage, prepared.rows.upstreams, followed)
        described = self.with_shards(describe_computation(stage, stream.flow.shape, operator.inputs))
        emitted = self.run_stage(node, bundles, operator, described, unpacker, flow, prepared.pair)
        return Stream(emitted, (FromStage(),), (described, *stream.stages))

    def with_shards(self, described: StageDescription) -> StageDescription:
        """Returns the description of a stage with the ids of its shards."""
        return evolve(described, shards=self.shards)

    def followed(
        self, number: int, upstreams: Sequence[Upstream]
    ) -> tuple[tuple[Upstream, ...], list[DataFrame]]:
        """Returns the further sources whose clocks a stage needs, and their rows as an input that has a number.

        Only an idle source follows others, so most stages need none.
        """
        names = sources_followed(upstreams, {name: each.upstream for name, each in self.sources.items()})
        streams = [_clocks_of(self.lower(self.nodes[name])) for name in names]
        if not streams:
            return (), []
        rows = unite(streams)
        return rows.upstreams, [self.to_bundles(number, rows, ClocksOnly())]

    def to_bundles(self, number: int, rows: Stream, routing: Routing) -> DataFrame:
        """Returns the bundles that the partitions of an input send to every shard.

        The time of the micro-batch is with the bundles, unless rows carry their own. Rows have it only if the clocks
        need the time of each row.
        """
        frame, now = rows.flow.frame, F.lit(None).cast("array<long>")
        sources = [upstream for upstream in rows.upstreams if isinstance(upstream, FromSource)]
        if sources and all(source.at_batch_time for source in sources):
            now = time_in_bundles()
        if sources and not any(source.observes_times for source in sources):
            frame = frame.drop(PROCESSING_TIME)
        bundling = ToBundles(number, rows.upstreams, routing, self.shards, arrow_schema(frame.schema))
        return frame.mapInArrow(bundling, BUNDLE_SCHEMA).select("*", now.alias(NOW))

    def run_stage(
        self,
        node: Node,
        bundles: DataFrame,
        operator: Operator,
        stage: StageDescription,
        unpacker: RowsOfStage,
        before: Flow,
        shape: Shape,
    ) -> Flow:
        """Returns the rows of a stage: elements of ``shape``, drops, and reports if another stage reads it."""
        reports = id(node) in self.upstream
        meta = {
            **pane_meta_types(),
            KEEP: META_TYPES[KEEP],
            DROP_REASON: META_TYPES[DROP_REASON],
            DROP_COUNT: META_TYPES[DROP_COUNT],
        }
        if self.json_drops:
            meta |= {name: META_TYPES[name] for name in DROP_META}
        if before.dead_letters:
            meta[ERROR] = META_TYPES[ERROR]
        meta |= {name: before.meta[name] for name in parked_columns(before.meta)}
        if reports:
            meta[REPORT] = META_TYPES[REPORT]
        if self.metrics:
            meta[METRICS] = META_TYPES[METRICS]
        schema = row_schema(shape, meta)
        processor = ShardProcessor(
            operator,
            stage,
            len(self.shards),
            EmittedRows(unpacker, reports, arrow_schema(schema)),
            metrics=len(self.stages) if self.metrics else None,
            state_cache_bytes=self.state_cache_bytes,
        )
        self.stages.append(stage.label)
        arrays = T.StructType(
            [T.StructField(each.name, T.ArrayType(each.dataType)) for each in schema.fields]
        )
        emitted = bundles.groupBy(SHARD).transformWithState(processor, arrays, "append", "None")
        # No array is empty. Without ``_outer``, Spark adds a filter that zips the arrays twice more.
        frame = emitted.select(F.inline_outer(F.arrays_zip(*map(col, schema.names))))
        return evolve(before, frame=frame, shape=shape, meta=meta)


def _divide(main: Stream, shards: tuple[int, ...]) -> tuple[Stream, tuple[str, ...]]:
    """Returns the elements of a stream with their shards, and the columns that the stage reads."""
    flow = main.flow
    own = leaf_columns(layout_of(flow.shape))
    kept = [name for name in flow.meta if name in (*PANE_META, EVENT_TIME)]
    meta = _meta_of_stage(flow, kept)
    shard = shard_of([col(EVENT_TIME), *map(col, own)], shards)
    frame = flow.frame.select(*map(col, own), shard.alias(SHARD), *map(col, meta))
    return evolve(main, flow=evolve(flow, frame=frame, meta=meta)), (*own, *kept)


def _broadcast(side: Stream, *, fresh: bool) -> tuple[Stream, tuple[str, ...]]:
    """Returns the elements of a side, pickled, and the columns that the stage reads."""
    flow = side.flow
    columns = leaf_columns(flow.element)
    value = arrow_column(PickleValues(layout_of(flow.shape), None), T.BinaryType(), [col(KEEP), *columns])
    bounds = () if fresh else (START, END)
    meta = _meta_of_stage(flow, [EVENT_TIME, *bounds])
    frame = flow.frame.select(value.alias(VALUE), weight_of(flow).alias(WEIGHT), *map(col, meta))
    return evolve(side, flow=evolve(flow, frame=frame, meta=meta)), (VALUE, WEIGHT, EVENT_TIME, *bounds)


def _clocks_of(source: Stream) -> Stream:
    """Returns the rows of a source with the columns that its clocks observe."""
    flow = source.flow
    meta = {name: kind for name, kind in flow.meta.items() if name in (EVENT_TIME, KEEP, *CLOCK_META)}
    return evolve(source, flow=evolve(flow, frame=flow.frame.select(*map(col, meta)), meta=meta))


def _meta_of_stage(flow: Flow, kept: list[str]) -> dict[str, T.DataType]:
    """Returns the meta columns that a stage reads."""
    forwarded = (*(FORWARDED_META if DROP_REASON in flow.meta else ()), *parked_columns(flow.meta))
    wanted = {*kept, KEEP, *CLOCK_META, *forwarded}
    return {name: kind for name, kind in flow.meta.items() if name in wanted}


def _with_drop_column(flow: Flow) -> Flow:
    """Returns the panes and drops of the only stage, with the column ``DROP``."""
    assert isinstance(flow.shape, RecordOf), "a grouping emits pairs"
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


def _with_dead_letters(sources: Mapping[str, SourceStream]) -> bool:
    return any(source.columns.dead_letters for source in sources.values())


def _read_again(roots: Sequence[Node]) -> Counter[int]:
    """Returns how many outputs read a node, by its id, whose stages an earlier output has computed."""
    known: set[int] = set()
    found: Counter[int] = Counter()
    for root in roots:
        reached = list(nodes_of(root, inputs=lambda node: () if id(node) in known else _read_by(node)))
        found.update(id(node) for node in reached if id(node) in known and has_stages(node))
        known.update(map(id, reached))
    return found


def _read_by(node: Node) -> tuple[Node, ...]:
    """Returns the nodes whose streams ``Lowering.lower`` reads for a node."""
    if isinstance(node, ElementWise):
        inner = node.unsplit.input
        return inner.inputs if isinstance(inner, WithSide) else (inner,)
    branches = branches_of(node) if isinstance(node, Flatten) else None
    return (branches[0],) if branches else node.inputs


def _without_drops(stream: Stream) -> Stream:
    """Returns a stream without its drops and metrics, and without rows that are parked in it."""
    flow = without_parked(stream.flow)
    conditions = [col(name).isNull() for name in (DROP_REASON, DROP, METRICS) if name in flow.meta]
    frame = reduce(DataFrame.filter, conditions, flow.frame)
    return evolve(stream, flow=evolve(flow, frame=frame))
