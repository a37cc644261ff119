"""The operators of a streaming pipeline: what each does in one instant, and the state that it keeps."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, reduce
from types import MappingProxyType
from typing import Final, Generic, TypeVar

import polars as pl
from attrs import define, evolve, field, frozen
from flowalg_columns.layout import layout_of
from flowalg_columns.names import PANE_META, PANE_TIME, WATERMARK
from flowalg_columns.values import read_elements
from flowalg_shard.clocks.exchange import InputClocks, Reports, StageReport
from flowalg_shard.metrics import (
    count_emitted,
    metrics_of_shards,
    source_metrics,
)
from flowalg_shard.operators import (
    Grouping,
    OperatorState,
    Reader,
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
from flowalg_shard.step.side_inputs import SideDrops
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
from flowalg_shard.tables.queries import compute, without

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.runs.clocks import Clocks
from flowalg.runs.metrics import SourceMetrics, StageMetrics
from flowalg.serialization.stored import store_value
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


R = TypeVar("R", bound=Reader)


@define
class ShardedStage(ABC, Generic[R]):
    """A stage and the state of each of its shards; ``received`` are the reports of its inputs in the last instant.

    ``operator`` advances a shard. The last instant took ``seconds``.
    """

    label: str
    operator: R
    cluster: Cluster
    late_data: bool = field(default=False, kw_only=True)
    states: list[OperatorState] = field(init=False)
    received: Sequence[Reports] = field(init=False)
    seconds: float = field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        clocks = known_clocks(self.operator, ())
        self.states = [OperatorState(clocks) for _ in range(self.cluster.shards)]
        self.received = [{} for _ in self.operator.inputs]

    @property
    def clocks(self) -> Clocks:
        """The clocks of the last instant."""
        return self.states[0].input_clocks[0].clocks

    def receive(self, reports: Sequence[Reports]) -> tuple[InputClocks, ...]:
        """Returns the clocks after an instant, given the reports of the inputs and of the followed sources."""
        self.received = reports[: len(self.operator.inputs)]
        return next_clocks(self.operator, self.states[0], reports)

    def emit(self, frame: pl.DataFrame, reports: Sequence[StageReport], started: float) -> Arrival:
        """Returns elements with the report of all shards, in an instant that ``started`` then."""
        self.seconds = time.perf_counter() - started
        report = StageReport(reports[0].clocks, min(report.hold for report in reports))
        return Arrival(frame.lazy(), {0: report})

    def sources(self) -> tuple[SourceMetrics, ...]:
        """Returns the metrics of the sources that flow into the stage directly."""
        return source_metrics(self.operator.inputs, self.received, self.states[0])

    def metrics(self, number: int) -> StageMetrics:
        """Returns the metrics of the last instant."""
        shards = zip(self.counts(), self.windows(), self.states, strict=True)
        return metrics_of_shards(number, self.label, self.clocks, shards, self.sources(), self.seconds)

    @abstractmethod
    def counts(self) -> Sequence[Counter[str]]:
        """Returns what the metrics of each shard count in the last instant."""

    def windows(self) -> Sequence[int]:
        """Returns the number of windows that each shard keeps."""
        return [state.windows.window_count for state in self.states]

    def next_deadline(self) -> ProcessingTime | None:
        """Returns the next processing time at which a trigger becomes ready, or a timer fires, without new elements."""
        deadlines = (state.windows.next_deadline for state in self.states)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)


@define
class ShardedGrouping(ShardedStage[Grouping]):
    """A grouping. With ``late_data``, ``arrived_rows`` are those that each input received in the last instant."""

    prepared: PreparedGrouping
    arrived_rows: list[pl.DataFrame] = field(factory=list, init=False)
    emissions: list[Emission] = field(factory=list, init=False)

    def advance(
        self, inputs: Sequence[pl.LazyFrame], arriving: Arriving, followed: Arriving = MappingProxyType({})
    ) -> Arrival:
        """Advances by one instant; returns the panes in order, and the clock report of all shards."""
        started = time.perf_counter()
        prepared = [prepare(frame) for prepare, frame in zip(self.prepared.inputs, inputs, strict=True)]
        rows, reports = collect_together(prepared, [arriving, followed])
        self.arrived_rows = rows if self.late_data else []
        bundles = self._bundles(self._stacked(rows))
        clocks = self.receive(reports)
        self.emissions, received = [], []
        for shard, parts in enumerate(bundles):
            after, emission, report = self.operator.step(self.states[shard], clocks, parts)
            self.states[shard] = restarted(after) if self.cluster.restarts else after
            self.emissions.append(emission)
            received.append(report)
        panes = self._panes(stack([emission.panes for emission in self.emissions]), clocks[0].clocks)
        return self.emit(panes, received, started)

    def _stacked(self, rows: list[pl.DataFrame]) -> pl.DataFrame:
        """Returns the rows of all inputs. The elements of several have different columns, which are left out."""
        return stack(rows) if len(rows) == 1 else stack([without_elements(part) for part in rows])

    @cached_property
    def description(self) -> StageDescription:
        """The facts about the stage that its state depends on."""
        prepared = self.prepared
        return describe_stage(prepared.stage, prepared.pair, prepared.values, self.operator.inputs)

    def counts(self) -> list[Counter[str]]:
        """Returns the numbers of panes by timing, of retractions, and of dropped elements by reason."""
        return [count_emitted(emission.panes, emission.drops) for emission in self.emissions]

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
            return [[without(part, {SHARD}) for part in filled]]
        return [
            [part.filter(pl.col(SHARD) == shard).drop(SHARD) for part in filled]
            for shard in range(cluster.shards)
        ]

    def _panes(self, table: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
        """Returns panes as elements, in the order of SEMANTICS section 7."""
        pair = self.prepared.pair
        if table.is_empty():
            return pl.DataFrame(schema=frame_schema(pair, PANE_META))
        ordered = _sorted(table.lazy(), self._order(table)) if table.height > 1 else table.lazy()
        columns = {name: pl.col(name) for name in PANE_META} | {
            PANE_TIME: pl.lit(clocks.processing_time, pl.Int64()),
            WATERMARK: pl.lit(clocks.watermark, pl.Int64()),
            CHANGE: pl.col(CHANGE).cast(pl.String()),
            TIMING: pl.col(TIMING).cast(pl.String()),
        }
        meta = [column.alias(name) for name, column in columns.items()]
        return compute(pair_columns(self.prepared.stage, ordered, pair, meta))

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
        late = [emission.late for emission in self.emissions]
        rows = self.arrived_rows if self.late_data else None
        return GroupingDrops(name, self.prepared, self.clocks, late, rows)


def _sorted(table: pl.LazyFrame, order: Sequence[str]) -> pl.LazyFrame:
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
class ShardedSide(ShardedStage[Side]):
    """A side input; elements are divided among the shards by their position.

    ``arrived`` is the number of the next element: greater than those of all that wait, so that elements keep the order
    of their arrival. After a start it follows from the restored states, which are read with the first instant.
    """

    main: Elements
    side: Elements
    read: SideRead
    dropped: SideDrops = field(factory=SideDrops, init=False)
    arrived: int | None = field(default=None, init=False)

    def advance(self, main: Arrival, side: Arrival, followed: Arriving = MappingProxyType({})) -> Arrival:
        """Advances by one instant; returns the elements whose side window is complete, after the steps, in order."""
        started = time.perf_counter()
        rows, reports = collect_together([main.frame, side.frame], [main.reports, side.reports, followed])
        elements, values = self._numbered(rows[0]), self._side_rows(rows[1])
        clocks = self.receive(reports)
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
        table = stack(passed)
        frame = self.read(table.sort(NUMBER), readings) if table.height else self._empty
        return self.emit(frame, received, started)

    @cached_property
    def description(self) -> StageDescription:
        """The facts about the stage that its state depends on."""
        return describe_side(self.operator.stage, self.main.shape, self.side.shape, self.operator.inputs)

    def counts(self) -> list[Counter[str]]:
        """Returns the numbers of dropped elements, which the first shard has."""
        return [self.dropped.counts, *(Counter() for _ in self.states[1:])]

    def windows(self) -> list[int]:
        """Returns the number of windows of the side, which all shards keep alike, for the first."""
        return [count_side_windows(self.states[0]), *(0 for _ in self.states[1:])]

    @property
    def _empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema=frame_schema(self.read.after, self.main.meta))

    def _numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        first = self._after_waiting() if self.arrived is None else self.arrived
        self.arrived = first + rows.height
        numbers = pl.int_range(first, self.arrived, dtype=pl.Int64(), eager=True)
        return rows.with_columns(numbers.alias(NUMBER))

    def _after_waiting(self) -> int:
        """Returns the number that follows those of all elements which wait in the states."""
        waiting = stack([unpack_side(state).waiting for state in self.states])
        return int(waiting.select(pl.col(NUMBER).max() + 1).item()) if waiting.height else 0

    def _side_rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the elements of the side, as stored values."""
        table = to_arrow(rows, self.side.shape, self.side.meta)
        values = read_elements(layout_of(self.side.shape), table)
        packed = pl.Series(
            VALUE,
            [store_value(self.label, "a value of its side input", value) for value in values],
            pl.Binary(),
        )
        bounds = () if self.operator.stage.fresh else (START, END)
        return rows.select(EVENT_TIME, weight_of(self.side.meta), *bounds).with_columns(packed)

    def drops(self, name: str) -> DropsOfSide:
        """Returns the late elements of the last instant, under the name of the stage."""
        return DropsOfSide(
            name, self.label, self.main, self.side.shape, self.clocks, self.dropped, self.late_data
        )


NUMBER: Final = "__number"
"""The order of the elements that wait for a side input, among those of all shards."""
