"""Lowers the nodes of a pipeline to streams: element-wise steps to flows, groupings and side inputs to stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
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
    LATE_META,
    METRICS,
    PANE_META,
    PANE_TIME,
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
from pyspark.sql import types as T

from flowalg.data.shapes import RecordOf, Shape
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import analyse
from flowalg.lifting.lookups import steps_on_mapping
from flowalg.pipeline.co_group import drops_sides
from flowalg.pipeline.pcollection import PCollection
from flowalg.plan import nodes as planned
from flowalg.plan.nodes import PlanNode, StageNode
from flowalg.plan.plan import Plan, plan_stream
from flowalg.runs.placement import PLACEMENT
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, nest, select, where
from flowalg_spark.encoding.meta import META_TYPES, pane_meta_types
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.encoding.sql import NULL
from flowalg_spark.frames.drop_columns import typed_drop_struct
from flowalg_spark.lowering.binding import bind_source
from flowalg_spark.lowering.element_wise import apply_steps, lifting_note
from flowalg_spark.lowering.fan_out import fan_out
from flowalg_spark.lowering.flow import Flow, row_schema
from flowalg_spark.lowering.metadata import pair_with_metadata
from flowalg_spark.lowering.python_columns import arrow_column
from flowalg_spark.state.variables import Postponed
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
from flowalg_spark.streaming.grouping import prepare_grouping, shard_of, weight_of
from flowalg_spark.streaming.processor import ShardProcessor
from flowalg_spark.streaming.python_values import PickleValues
from flowalg_spark.streaming.streams.batch_time import now, time_in_bundles
from flowalg_spark.streaming.streams.parked_rows import Slot, parked_columns, without_parked
from flowalg_spark.streaming.streams.stream import SourceStream, Stream, unite


def plan_query(outputs: Mapping[str, PCollection[object]], *, dead_letters: bool) -> Plan:
    """Returns the plan of a query; a plan of Spark is a tree."""
    return plan_stream(outputs, dead_letters=dead_letters, most_paths=1)


@define
class Lowering:
    """Lowers a plan to streams.

    With ``json_drops`` the keys and values of drops are JSON, and with ``late_data`` each is one element.
    ``state_cache_bytes`` is the size of a Python worker's state cache. With ``metrics`` each stage reports metrics in
    each micro-batch. ``stages`` are the names of the stages that have been lowered, and ``streams`` their streams by
    node.

    ``waiting`` has, by node, the number of further outputs that read its stages. Its rows are parked in one of
    ``slots`` until then, and ``parked`` are the streams that no output has continued yet.
    """

    plan: Plan
    sources: Mapping[str, SourceStream]
    shards: tuple[int, ...]
    json_drops: bool
    state_cache_bytes: int
    metrics: bool
    late_data: bool
    waiting: Counter[PlanNode] = field(factory=Counter)
    stages: list[str] = field(factory=list)
    numbers: Iterator[int] = field(factory=count)
    slots: dict[PlanNode, Slot] = field(factory=dict)
    parked: list[Stream] = field(factory=list)
    streams: dict[PlanNode, Stream] = field(factory=dict)

    @classmethod
    def of(
        cls,
        plan: Plan,
        sources: Mapping[str, SourceStream],
        shards: tuple[int, ...],
        state_cache_bytes: int,
        *,
        metrics: bool,
        late_data: bool,
    ) -> Lowering:
        """Returns the lowering of the outputs of a query."""
        in_columns = (
            list(map(_drops_what_it_emits, plan.stages)) == [True]
            and len(plan.outputs) == 1
            and not plan.dead_letters
            and not late_data
        )
        upstreams = read_together(
            {name: source.upstream for name, source in sources.items()}, plan.read_together
        )
        with_upstreams = {name: evolve(source, upstream=upstreams[name]) for name, source in sources.items()}
        return cls(
            plan,
            with_upstreams,
            shards,
            not in_columns,
            state_cache_bytes,
            metrics,
            late_data,
            Counter(plan.read_again),
        )

    def stream(self, node: PlanNode) -> Stream:
        """Returns the stream of a node. Only its first reader receives the drops.

        A stage that several outputs read runs once: each of them continues the plan of the one before it. It is
        computed again for a second reader in one output, and for one that needs two parked streams of one plan.
        """
        slot = self.slots.get(node)
        if slot is not None:
            for stream in self.parked:
                if slot.mark in stream.flow.meta:
                    self.parked.remove(stream)
                    return self.with_copy(node, slot, slot.take(stream))
        if node in self.streams:
            return _without_drops(self.streams[node])
        stream = self.streams[node] = self.lower(node)
        if not self.waiting[node]:
            return stream
        slot = self.slots[node] = Slot.of(next(self.numbers), stream)
        return self.with_copy(node, slot, stream)

    def with_copy(self, node: PlanNode, slot: Slot, stream: Stream) -> Stream:
        """Returns the stream of a node, with a copy in its slot if further outputs read it."""
        if not self.waiting[node]:
            return stream
        self.waiting[node] -= 1
        return slot.copy(stream)

    def output(self, name: str) -> Stream:
        """Returns the stream of an output. Elements have a processing time: that of a stage that they waited in."""
        stream = self.stream(self.plan.outputs[name])
        if self.plan.emits_panes(name):
            return stream
        times = [col(name) for name in (PANE_TIME, PROCESSING_TIME) if name in stream.flow.meta]
        time = sql.coalesce(*times, now())
        return evolve(stream, flow=stream.flow.with_meta(**{PROCESSING_TIME: time}))

    def outputs(self) -> dict[str, Slot]:
        """Lowers all outputs, and returns where each is parked in one of ``parked``."""
        slots = {}
        for name in self.plan.outputs:
            stream = self.output(name)
            slot = slots[name] = Slot.of(next(self.numbers), stream)
            self.parked.append(slot.park(stream))
        return slots

    def lower(self, node: PlanNode) -> Stream:
        """Lowers a node, once."""
        match node:
            case planned.Read(source=source):
                read = self.sources[source.name]
                return Stream(bind_source(source, read.frame, read.columns), (read.upstream,))
            case planned.Apply(input=inner, steps=steps):
                return self.apply_steps(self.stream(inner), steps)
            case planned.PairWithMetadata(input=inner, metadata=metadata):
                stream = self.stream(inner)
                return evolve(stream, flow=pair_with_metadata(stream.flow, metadata))
            case planned.Combine() | planned.CoGroup():
                return self.grouping(node)
            case planned.Union(inputs=inputs):
                return self.unite(list(map(self.stream, inputs)))
            case planned.FanOut():
                return self.branches(node)
            case planned.ReadSide():
                return self.side_input(node)
            case planned.Compute():
                return self.computation(node)
            case planned.JoinByKey() | planned.ExplodeLists():
                raise AssertionError(f"{node} is of a batch")
        assert_never(node)

    def apply_steps(self, stream: Stream, steps: tuple[Step, ...]) -> Stream:
        """Returns a stream after a chain of element-wise steps."""
        return evolve(stream, flow=apply_steps(stream.flow, steps)) if steps else stream

    def branches(self, node: planned.FanOut) -> Stream:
        """Returns the union of several branches of one collection, from one pass over its rows if possible."""
        stream = self.stream(node.input)
        flow = fan_out(stream.flow, node.chains)
        if flow is not None:
            return evolve(stream, flow=flow)
        first, *others = node.chains
        again = _without_drops(stream)
        branches = [self.apply_steps(stream, first), *(self.apply_steps(again, chain) for chain in others)]
        return self.unite(branches)

    def unite(self, streams: list[Stream]) -> Stream:
        """Returns the union of streams of one shape."""
        require_equal_shapes([one.flow.shape for one in streams])
        return unite(streams)

    def grouping(self, node: planned.Combine | planned.CoGroup) -> Stream:
        """Returns the panes and drops of a grouping: pre-combine, exchange by shard, step, and unpack."""
        inputs = list(map(self.stream, node.inputs))
        prepared = prepare_grouping(node.transform, inputs, self.shards, late_data=self.late_data)
        stage, rows = prepared.stage, prepared.rows
        require_lateness(stage.label, stage.strategy)
        bundles, followed = self.bundles((rows, CombineByShard(stage, prepared.elements)))
        operator = Grouping((rows.upstreams,), stage, self.late_data, followed=followed)
        name = self.plan.stage_names[node]
        described = self.with_shards(
            name, describe_stage(stage, prepared.pair, prepared.values, operator.inputs)
        )
        elements = tuple(stream.flow.shape for stream in inputs) if self.late_data else ()
        unpacker = GroupingRows(name, stage, prepared.pair, prepared.dropped, self.json_drops, elements)
        flow = self.run_stage(node, bundles, operator, described, unpacker, rows.flow, prepared.pair)
        shown = flow if self.json_drops else _with_drop_column(flow)
        return Stream(shown, (FromStage(),), (described, *rows.stages))

    def side_input(self, node: planned.ReadSide) -> Stream:
        """Returns elements with the values that they read from a side input, after the steps of the node."""
        main, side = self.stream(node.input), self.stream(node.side)
        shape = shape_with_side(main.flow.shape, side.flow.shape, node.transform.view)
        together, after, later = steps_on_mapping(analyse(node.steps, shape), shape)
        stage = SideStage.of(node.transform)
        elements, columns = _divide(main, self.shards)
        others, side_columns = _broadcast(side, fresh=stage.fresh)
        bundles, followed = self.bundles(
            (elements, DivideByShard(columns)), (others, Broadcast(side_columns))
        )
        operator = Side((elements.upstreams, others.upstreams), stage, followed=followed)
        layout, name = layout_of(main.flow.shape), self.plan.stage_names[node]
        described = self.with_shards(
            name, describe_side(stage, main.flow.shape, side.flow.shape, operator.inputs)
        )
        steps = tuple(step.step for step in together)
        unpacker = SideInputRows(name, stage.label, layout, side.flow.shape, steps, layout_of(after))
        note = LiftingNote("with_side", "a side input, which is kept in Python", None)
        before = main.flow.with_notes(*side.flow.notes, note, *map(lifting_note, together))
        flow = self.run_stage(node, bundles, operator, described, unpacker, before, after)
        read = Stream(flow, (FromStage(),), (described, *main.stages, *side.stages))
        return self.apply_steps(read, tuple(step.step for step in later))

    def computation(self, node: planned.Compute) -> Stream:
        """Returns the outputs and drops of a computation: exchange by shard, step, and unpack."""
        stream = self.stream(node.input)
        meta = _meta_of_stage(stream.flow, [EVENT_TIME])
        letters = self.plan.dead_letters
        prepared = prepare_computation(node.transform, stream, meta, self.shards, dead_letters=letters)
        stage, rows = prepared.stage, prepared.rows
        bundles, followed = self.bundles((rows, DivideByShard(prepared.columns)))
        operator = Computing((rows.upstreams,), stage, followed=followed)
        name = self.plan.stage_names[node]
        described = self.with_shards(name, describe_computation(stage, stream.flow.shape, operator.inputs))
        unpacker = ComputationRows(name, stage, prepared.pair, stream.flow.shape)
        emitted = self.run_stage(node, bundles, operator, described, unpacker, rows.flow, prepared.pair)
        return Stream(emitted, (FromStage(),), (described, *stream.stages))

    def with_shards(self, name: str, described: StageDescription) -> StageDescription:
        """Returns the description of a stage under a name with the ids of its shards, and the hash that places keys."""
        return evolve(described, name=name, shards=self.shards, placement=PLACEMENT)

    def bundles(self, *inputs: tuple[Stream, Routing]) -> tuple[DataFrame, tuple[Upstream, ...]]:
        """Returns the bundles of the inputs of a stage, and the further sources whose clocks it needs, if any.

        Only an idle source follows others, so most stages need none. The rows of these sources are one more input.
        """
        upstreams = [upstream for rows, _ in inputs for upstream in rows.upstreams]
        names = sources_followed(upstreams, {name: source.upstream for name, source in self.sources.items()})
        clocks = [_clocks_of(self.lower(self.plan.sources[name])) for name in names]
        everything = (*inputs, (unite(clocks), ClocksOnly())) if clocks else inputs
        bundles = (self.to_bundles(number, *routed) for number, routed in enumerate(everything))
        return reduce(DataFrame.union, bundles), tuple(
            upstream for rows in clocks for upstream in rows.upstreams
        )

    def to_bundles(self, number: int, rows: Stream, routing: Routing) -> DataFrame:
        """Returns the bundles that the partitions of an input send to every shard.

        The time of the micro-batch is with the bundles, unless rows carry their own. Rows have it only if the clocks
        need the time of each row.
        """
        frame, time = rows.flow.frame, NULL.cast("array<long>")
        sources = [upstream for upstream in rows.upstreams if isinstance(upstream, FromSource)]
        if sources and all(source.at_batch_time for source in sources):
            time = time_in_bundles()
        if sources and not any(source.observes_times for source in sources):
            frame = frame.drop(PROCESSING_TIME)
        bundling = ToBundles(number, rows.upstreams, routing, self.shards, arrow_schema(frame.schema))
        return select(frame.mapInArrow(bundling, BUNDLE_SCHEMA), "*", time.alias(NOW))

    def run_stage(
        self,
        node: StageNode,
        bundles: DataFrame,
        operator: Operator,
        stage: StageDescription,
        unpacker: RowsOfStage,
        before: Flow,
        shape: Shape,
    ) -> Flow:
        """Returns the rows of a stage: elements of ``shape``, drops, and reports if another stage reads it."""
        reports = node in self.plan.read_by_stages
        meta = {
            **pane_meta_types(),
            KEEP: META_TYPES[KEEP],
            DROP_REASON: META_TYPES[DROP_REASON],
            DROP_COUNT: META_TYPES[DROP_COUNT],
        }
        if self.json_drops:
            meta |= {name: META_TYPES[name] for name in DROP_META}
        if self.late_data:
            meta |= {name: META_TYPES[name] for name in LATE_META}
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
            [T.StructField(field.name, T.ArrayType(field.dataType)) for field in schema.fields]
        )
        emitted = bundles.groupBy(SHARD).transformWithState(Postponed(processor), arrays, "append", "None")
        # No array is empty. Without ``_outer``, Spark adds a filter that zips the arrays twice more.
        frame = select(emitted, sql.inline_outer(sql.arrays_zip(*map(col, schema.names))))
        return evolve(before, frame=frame, shape=shape, meta=meta)


def _drops_what_it_emits(stage: StageNode) -> bool:
    """Returns whether the drops of a stage have the columns of its elements."""
    if isinstance(stage, planned.Combine | planned.CoGroup):
        return not drops_sides(stage.transform.combiner)
    return False


def _divide(main: Stream, shards: tuple[int, ...]) -> tuple[Stream, tuple[str, ...]]:
    """Returns the elements of a stream with their shards, and the columns that the stage reads."""
    flow = main.flow
    own = leaf_columns(layout_of(flow.shape))
    kept = [name for name in flow.meta if name in (*PANE_META, EVENT_TIME)]
    meta = _meta_of_stage(flow, kept)
    shard = shard_of([col(EVENT_TIME), *map(col, own)], shards)
    frame = select(flow.frame, *map(col, own), shard.alias(SHARD), *map(col, meta))
    return evolve(main, flow=evolve(flow, frame=frame, meta=meta)), (*own, *kept)


def _broadcast(side: Stream, *, fresh: bool) -> tuple[Stream, tuple[str, ...]]:
    """Returns the elements of a side, pickled, and the columns that the stage reads."""
    flow = side.flow
    columns = leaf_columns(flow.element)
    packed = PickleValues("a side input", layout_of(flow.shape))
    value = arrow_column(packed, T.BinaryType(), [col(KEEP), *columns])
    bounds = () if fresh else (START, END)
    meta = _meta_of_stage(flow, [EVENT_TIME, *bounds])
    with_values = flow.frame.select("*", value.alias(VALUE))
    frame = select(with_values, col(VALUE), weight_of(flow).alias(WEIGHT), *map(col, meta))
    return evolve(side, flow=evolve(flow, frame=frame, meta=meta)), (VALUE, WEIGHT, EVENT_TIME, *bounds)


def _clocks_of(source: Stream) -> Stream:
    """Returns the rows of a source with the columns that its clocks observe."""
    flow = source.flow
    meta = {name: kind for name, kind in flow.meta.items() if name in (EVENT_TIME, KEEP, *CLOCK_META)}
    return evolve(source, flow=evolve(flow, frame=select(flow.frame, *map(col, meta)), meta=meta))


def _meta_of_stage(flow: Flow, kept: list[str]) -> dict[str, T.DataType]:
    """Returns the meta columns that a stage reads."""
    forwarded = (*(FORWARDED_META if DROP_REASON in flow.meta else ()), *parked_columns(flow.meta))
    wanted = {*kept, KEEP, *CLOCK_META, *forwarded}
    return {name: kind for name, kind in flow.meta.items() if name in wanted}


def _with_drop_column(flow: Flow) -> Flow:
    """Returns the panes and drops of the only stage, with the column ``DROP``."""
    assert isinstance(flow.shape, RecordOf), "a grouping emits pairs"
    key, value = key_and_value(flow.element)
    drop = typed_drop_struct(nest(key), nest(value)).alias(DROP)
    own = [col(name) for name in leaf_columns(layout_of(flow.shape))]
    others = [name for name in flow.meta if name not in (DROP_REASON, DROP_COUNT)]
    frame = select(flow.frame, *own, *map(col, others), drop)
    meta = {**{name: flow.meta[name] for name in others}, DROP: frame.schema[DROP].dataType}
    return evolve(flow, frame=frame, meta=meta)


def _without_drops(stream: Stream) -> Stream:
    """Returns a stream without its drops and metrics, and without rows that are parked in it.

    The event times of bad records that no stage has received advance the clocks of each reader, so their rows stay.
    """
    flow = without_parked(stream.flow)
    if not stream.stages:
        unset = {name: NULL for name in (*DROP_META, ERROR) if name in flow.meta}
        return evolve(stream, flow=flow.with_meta(**unset) if unset else flow)
    conditions = [col(name).is_null() for name in (DROP_REASON, DROP, METRICS) if name in flow.meta]
    frame = reduce(where, conditions, flow.frame)
    return evolve(stream, flow=evolve(flow, frame=frame))
