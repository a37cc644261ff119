"""The operators of a streaming pipeline: what each does in one instant, and the state that it keeps."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, reduce
from types import MappingProxyType

import polars as pl
from attrs import define, evolve, field, frozen
from flowalg_columns.layout import layout_of
from flowalg_columns.names import PANE_META, PANE_TIME, WATERMARK
from flowalg_columns.values import read_elements
from flowalg_shard.clocks.exchange import Reports, StageReport, Upstream
from flowalg_shard.metrics import (
    count_emitted,
    metrics_of_shards,
    source_metrics,
)
from flowalg_shard.operators import (
    Grouping,
    OperatorState,
    Side,
    count_side_windows,
    known_clocks,
    next_clocks,
    unpack_side,
)
from flowalg_shard.state.compatibility import StageDescription, describe_side, describe_stage
from flowalg_shard.state.window_store import Segment, WindowStore
from flowalg_shard.step.bundle import precombine
from flowalg_shard.step.panes import ORDER_END, ORDER_START
from flowalg_shard.step.shard_state import Emission
from flowalg_shard.step.side_inputs import SideDrops, SideStage
from flowalg_shard.tables.columns import (
    CHANGE,
    END,
    EVENT_TIME,
    POSITION,
    SHARD,
    START,
    TIMING,
    VALUE,
)
from flowalg_shard.tables.packing import stack
from flowalg_shard.tables.pickled import pickle_value

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.pipeline.nodes import WithSide
from flowalg.runs.clocks import Clocks
from flowalg.runs.metrics import SourceMetrics, StageMetrics
from flowalg.windows.window_functions import partition_time
from flowalg_polars.lowering.python_steps import frame_schema, to_arrow
from flowalg_polars.meta import weight_of
from flowalg_polars.streaming.arrivals import Arrival, Arriving, collect_together
from flowalg_polars.streaming.drops import DropsOfSide, GroupingDrops, pair_columns
from flowalg_polars.streaming.rows import Elements, PreparedGrouping, without_elements
from flowalg_polars.streaming.side_reads import SideRead


@frozen
class Cluster:
    """How a run is divided: the numbers of input partitions and of shards. Results do not depend on it.

    With ``restarts`` each shard is restored from its packed segments in every instant, as after a restart.
    """

    partitions: int = 1
    shards: int = 1
    restarts: bool = False


@define
class ShardedGrouping:
    """A grouping, and the state of each of its shards.

    With ``late_data`` it keeps the rows that each input received in the last instant, as ``arrived_rows``.
    """

    prepared: PreparedGrouping
    operator: Grouping
    cluster: Cluster
    states: list[OperatorState]
    late_data: bool = False
    arrived_rows: list[pl.DataFrame] = field(factory=list)
    emissions: list[Emission] = field(factory=list)
    report: StageReport | None = None
    received: Reports = field(factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(
        cls,
        prepared: PreparedGrouping,
        upstreams: Sequence[Upstream],
        cluster: Cluster,
        followed: tuple[Upstream, ...] = (),
        *,
        late_data: bool = False,
    ) -> ShardedGrouping:
        """Returns the grouping before the first instant."""
        operator = Grouping(prepared.stage, tuple(upstreams), followed)
        clocks = known_clocks(operator, ())
        states = [OperatorState(clocks) for _ in range(cluster.shards)]
        return cls(prepared, operator, cluster, states, late_data)

    @property
    def inputs(self) -> tuple[tuple[Upstream, ...], ...]:
        """The upstreams of each input."""
        return self.operator.inputs

    @property
    def label(self) -> str:
        """The label of the grouping."""
        return self.prepared.stage.label

    def advance(
        self, inputs: Sequence[pl.LazyFrame], arriving: Arriving, followed: Arriving = MappingProxyType({})
    ) -> Arrival:
        """Advances by one instant; returns the panes in order, and the clock report of all shards."""
        started = time.perf_counter()
        prepared = [prepare(frame) for prepare, frame in zip(self.prepared.inputs, inputs, strict=True)]
        rows, reports = collect_together(prepared, [arriving, followed])
        self.arrived_rows = rows if self.late_data else []
        self.received = reports[0]
        bundles = self._bundles(self._stacked(rows))
        clocks = next_clocks(self.operator, self.states[0], reports)
        self.emissions, received = [], []
        for shard, parts in enumerate(bundles):
            after, emission, report = self.operator.step(self.states[shard], clocks, parts)
            self.states[shard] = restarted(after) if self.cluster.restarts else after
            self.emissions.append(emission)
            received.append(report)
        self.report = StageReport(clocks[0].clocks, min(report.hold for report in received))
        panes = self._panes(stack([emission.panes for emission in self.emissions]), clocks[0].clocks)
        self.seconds = time.perf_counter() - started
        return Arrival(panes.lazy(), {0: self.report})

    def _stacked(self, rows: list[pl.DataFrame]) -> pl.DataFrame:
        """Returns the rows of all inputs. The elements of several have different columns, which are left out."""
        return stack(rows) if len(rows) == 1 else stack([without_elements(part) for part in rows])

    @cached_property
    def description(self) -> StageDescription:
        """The facts about the stage that its state depends on."""
        prepared = self.prepared
        return describe_stage(prepared.stage, prepared.pair, prepared.values, self.inputs)

    def sources(self) -> tuple[SourceMetrics, ...]:
        """Returns the metrics of the sources that flow into the stage directly."""
        return source_metrics(self.operator.inputs, [self.received], self.states[0])

    def metrics(self, number: int) -> StageMetrics:
        """Returns the metrics of the last instant."""
        assert self.report is not None, "an instant has been"
        shards = (
            (count_emitted(emission.panes, emission.drops), state.windows.window_count, state)
            for emission, state in zip(self.emissions, self.states, strict=True)
        )
        return metrics_of_shards(number, self.label, self.report.clocks, shards, self.sources(), self.seconds)

    def _bundles(self, rows: pl.DataFrame) -> list[list[pl.DataFrame]]:
        """Returns what the input partitions send to each shard."""
        stage, cluster = self.prepared.stage, self.cluster
        if rows.is_empty():
            return [[] for _ in range(cluster.shards)]
        parts = (
            [rows]
            if cluster.partitions == 1
            else [rows.gather_every(cluster.partitions, part) for part in range(cluster.partitions)]
        )
        combined = [precombine(stage, part, alone=True) for part in parts]
        filled = [part for part in combined if not part.is_empty()]
        if cluster.shards == 1:
            return [[part.drop(SHARD) for part in filled]]
        return [
            [part.filter(pl.col(SHARD) == shard).drop(SHARD) for part in filled]
            for shard in range(cluster.shards)
        ]

    def _panes(self, table: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
        """Returns panes as elements, in the order of SEMANTICS section 7."""
        pair = self.prepared.pair
        if table.is_empty():
            return pl.DataFrame(schema=frame_schema(pair, PANE_META))
        ordered = _sorted(table, self._order(table)) if table.height > 1 else table
        meta = {
            **{name: pl.col(name) for name in PANE_META},
            PANE_TIME: pl.lit(clocks.processing_time, pl.Int64()),
            WATERMARK: pl.lit(clocks.watermark, pl.Int64()),
            CHANGE: pl.col(CHANGE).cast(pl.String()),
            TIMING: pl.col(TIMING).cast(pl.String()),
        }
        element = pair_columns(self.prepared.stage, ordered, pair)
        return element.with_columns(
            ordered.select(column.alias(name) for name, column in meta.items()).get_columns()
        )

    def _order(self, table: pl.DataFrame) -> list[str]:
        """Returns the columns that order panes. A retraction stands before the value that replaces it."""
        stage = self.prepared.stage
        if stage.merging is not None and POSITION in table.columns:
            return [ORDER_END, ORDER_START, *stage.keys, POSITION]
        windows = stage.strategy.windows
        # Windows that do not overlap end together only if they are equal.
        disjoint = partition_time(windows)
        return [END, *(() if disjoint else (START,)), *stage.keys]

    def drops(self, name: str) -> GroupingDrops:
        """Returns the drops of the last instant, under the name of the stage."""
        assert self.report is not None, "an instant has been"
        late = [emission.late for emission in self.emissions]
        rows = self.arrived_rows if self.late_data else None
        return GroupingDrops(name, self.prepared, self.report.clocks, late, rows)

    def next_deadline(self) -> ProcessingTime | None:
        """Returns the next processing time at which a trigger becomes ready without new elements."""
        deadlines = (state.windows.next_deadline for state in self.states)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)


def _sorted(table: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    """Returns a table in order; rows that are equal in it stay as they are."""
    if len(order) > 2:
        return table.sort(order, maintain_order=True)
    # For two columns this is faster than sorting by both at once.
    return reduce(lambda rows, name: rows.sort(name, maintain_order=True), reversed(order), table)


def restarted(stored: OperatorState) -> OperatorState:
    """Returns the state after its segments have been packed and restored."""
    packed = {segment.name: segment.packed for segment in stored.windows.segments}
    windows = WindowStore.restore(list(packed), lambda name: Segment.restore(name, packed[name]))
    return evolve(stored, windows=windows)


@define
class ShardedSide:
    """A side input, and the state of each of its shards; elements are divided by their position.

    ``arrived`` is the number of the next element: greater than those of all that wait, so that elements keep the order
    of their arrival. After a start it follows from the restored states, which are read with the first instant.
    """

    stage: SideStage
    operator: Side
    main: Elements
    side: Elements
    read: SideRead
    cluster: Cluster
    states: list[OperatorState]
    late_data: bool = False
    dropped: SideDrops = field(factory=SideDrops)
    report: StageReport | None = None
    arrived: int | None = None
    received: tuple[Reports, Reports] = field(factory=lambda: ({}, {}))
    seconds: float = 0.0

    @classmethod
    def of(
        cls,
        node: WithSide,
        main: Elements,
        side: Elements,
        upstreams: tuple[Sequence[Upstream], Sequence[Upstream]],
        read: SideRead,
        cluster: Cluster,
        followed: tuple[Upstream, ...] = (),
        *,
        late_data: bool = False,
    ) -> ShardedSide:
        """Returns the operator of a node before the first instant; ``read`` gives elements what they read."""
        stage = SideStage.of(node)
        operator = Side(stage, tuple(upstreams[0]), tuple(upstreams[1]), followed)
        clocks = known_clocks(operator, ())
        states = [OperatorState(clocks) for _ in range(cluster.shards)]
        return cls(stage, operator, main, side, read, cluster, states, late_data)

    @property
    def inputs(self) -> tuple[tuple[Upstream, ...], ...]:
        """The upstreams of each input."""
        return self.operator.inputs

    @property
    def label(self) -> str:
        """The label of the side input."""
        return self.stage.label

    def advance(self, main: Arrival, side: Arrival, followed: Arriving = MappingProxyType({})) -> Arrival:
        """Advances by one instant; returns the elements whose side window is complete, after the steps, in order."""
        started = time.perf_counter()
        rows, reports = collect_together([main.frame, side.frame], [main.reports, side.reports, followed])
        self.received = (reports[0], reports[1])
        elements, values = self._numbered(rows[0]), self._side_rows(rows[1])
        clocks = next_clocks(self.operator, self.states[0], reports)
        passed, drops, received = [], [], []
        readings: dict[EventTime, object] = {}
        for shard in range(self.cluster.shards):
            share = elements.gather_every(self.cluster.shards, shard)
            after, output, report = self.operator.step(self.states[shard], clocks, share, values)
            self.states[shard] = after
            passed.append(output.passed)
            readings.update(output.values)
            drops.append(output.drops)
            received.append(report)
        self.dropped = SideDrops(
            drops[0].side, stack([side_drops.elements for side_drops in drops]), drops[0].before
        )
        self.report = StageReport(received[0].clocks, min(report.hold for report in received))
        table = stack(passed)
        frame = self.read(table.sort(_NUMBER), readings) if table.height else self._empty
        self.seconds = time.perf_counter() - started
        return Arrival(frame.lazy(), {0: self.report})

    @cached_property
    def description(self) -> StageDescription:
        """The facts about the stage that its state depends on."""
        return describe_side(self.stage, self.main.shape, self.side.shape, self.inputs)

    def sources(self) -> tuple[SourceMetrics, ...]:
        """Returns the metrics of the sources that flow into the stage directly."""
        return source_metrics(self.operator.inputs, self.received, self.states[0])

    def metrics(self, number: int) -> StageMetrics:
        """Returns the metrics of the last instant."""
        assert self.report is not None, "an instant has been"
        first, *others = self.states
        shards = [(self.dropped.counts, count_side_windows(first), first)]
        shards += [(Counter(), 0, state) for state in others]
        return metrics_of_shards(number, self.label, self.report.clocks, shards, self.sources(), self.seconds)

    @property
    def _empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=frame_schema(self.read.after, self.main.meta))

    def _numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        first = self._after_waiting() if self.arrived is None else self.arrived
        self.arrived = first + rows.height
        numbers = pl.int_range(first, self.arrived, dtype=pl.Int64(), eager=True)
        return rows.with_columns(numbers.alias(_NUMBER))

    def _after_waiting(self) -> int:
        """Returns the number that follows those of all elements which wait in the states."""
        waiting = stack([unpack_side(state).waiting for state in self.states])
        return int(waiting.select(pl.col(_NUMBER).max() + 1).item()) if waiting.height else 0

    def _side_rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the elements of the side, pickled."""
        table = to_arrow(rows, self.side.shape, self.side.meta)
        values = read_elements(layout_of(self.side.shape), table)
        packed = pl.Series(
            VALUE,
            [pickle_value(self.label, "a value of its side input", value) for value in values],
            pl.Binary(),
        )
        bounds = () if self.stage.fresh else (START, END)
        return rows.select(EVENT_TIME, weight_of(self.side.meta), *bounds).with_columns(packed)

    def drops(self, name: str) -> DropsOfSide:
        """Returns the late elements of the last instant, under the name of the stage."""
        assert self.report is not None, "an instant has been"
        return DropsOfSide(
            name,
            self.label,
            self.main,
            self.side.shape,
            self.report.clocks,
            self.dropped,
            self.late_data,
        )

    def next_deadline(self) -> ProcessingTime | None:
        """A side input waits for no processing time."""
        return None


_NUMBER = "__number"
