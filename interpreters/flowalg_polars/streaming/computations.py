"""A computation as a stage of a stream: what it does in one instant, and the state of each of its shards."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from types import MappingProxyType

import polars as pl
from attrs import define, field
from flowalg_shard.clocks.exchange import Reports, StageReport, Upstream
from flowalg_shard.computations.step import ComputationOutput
from flowalg_shard.metrics import metrics_of_shards, source_metrics
from flowalg_shard.operators import Computing, OperatorState, known_clocks, next_clocks
from flowalg_shard.state.compatibility import StageDescription, describe_computation
from flowalg_shard.step.side_inputs import SideDrops
from flowalg_shard.tables.columns import SHARD
from flowalg_shard.tables.packing import stack

from flowalg.data.time import ProcessingTime
from flowalg.runs.metrics import SourceMetrics, StageMetrics
from flowalg_polars.lowering.computation_rows import PreparedComputation
from flowalg_polars.streaming.arrivals import Arrival, Arriving, collect_together
from flowalg_polars.streaming.drops import DropsOfSide
from flowalg_polars.streaming.operators import Cluster, restarted
from flowalg_polars.streaming.reading.bad_records import BadRecords
from flowalg_polars.streaming.rows import Elements
from flowalg_polars.streaming.storage.placement import shard_of


@define
class ShardedComputation:
    """A computation, and the state of each of its shards. Failed transitions are added to ``bad_records``."""

    prepared: PreparedComputation
    operator: Computing
    cluster: Cluster
    bad_records: BadRecords | None
    states: list[OperatorState]
    late_data: bool
    outputs: list[ComputationOutput] = field(factory=list)
    report: StageReport | None = None
    received: Reports = field(factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(
        cls,
        prepared: PreparedComputation,
        upstreams: Sequence[Upstream],
        cluster: Cluster,
        bad_records: BadRecords | None,
        followed: tuple[Upstream, ...] = (),
        *,
        late_data: bool = False,
    ) -> ShardedComputation:
        """Returns the computation before the first instant."""
        operator = Computing(prepared.stage, tuple(upstreams), followed)
        clocks = known_clocks(operator, ())
        states = [OperatorState(clocks) for _ in range(cluster.shards)]
        return cls(prepared, operator, cluster, bad_records, states, late_data)

    @property
    def inputs(self) -> tuple[tuple[Upstream, ...], ...]:
        """The upstreams of its input."""
        return self.operator.inputs

    @property
    def label(self) -> str:
        """The label of the computation."""
        return self.prepared.stage.label

    def advance(self, arrival: Arrival, followed: Arriving = MappingProxyType({})) -> Arrival:
        """Advances by one instant; returns the outputs, and the clock report of all shards."""
        started = time.perf_counter()
        (elements,), reports = collect_together([arrival.frame], [arrival.reports, followed])
        self.received = reports[0]
        clocks = next_clocks(self.operator, self.states[0], reports)
        self.outputs, received = [], []
        for shard, rows in enumerate(self._shares(elements)):
            after, output, report = self.operator.step(self.states[shard], clocks, rows)
            self.states[shard] = restarted(after) if self.cluster.restarts else after
            self.outputs.append(output)
            received.append(report)
            if self.bad_records is not None:
                self.bad_records.records += output.bad_records
        self.report = StageReport(clocks[0].clocks, min(report.hold for report in received))
        emitted = self.prepared.elements(stack([output.outputs for output in self.outputs]))
        self.seconds = time.perf_counter() - started
        return Arrival(emitted.lazy(), {0: self.report})

    def _shares(self, elements: pl.DataFrame) -> list[pl.DataFrame]:
        """Returns the rows of each shard."""
        shards = self.cluster.shards
        if elements.is_empty():
            return [pl.DataFrame()] * shards
        rows = self.prepared.rows(elements)
        if shards == 1:
            return [rows]
        numbers = elements.select(shard_of(self.prepared.key, shards))[SHARD]
        return [rows.filter(numbers == shard) for shard in range(shards)]

    @cached_property
    def description(self) -> StageDescription:
        """The facts about the stage that its state depends on."""
        return describe_computation(self.prepared.stage, self.prepared.shape, self.inputs)

    def sources(self) -> tuple[SourceMetrics, ...]:
        """Returns the metrics of the sources that flow into the stage directly."""
        return source_metrics(self.operator.inputs, [self.received], self.states[0])

    def metrics(self, number: int) -> StageMetrics:
        """Returns the metrics of the last instant."""
        assert self.report is not None, "an instant has been"
        shards = (
            (
                Counter(dropped_late=len(output.drops), unfired_timers=output.unfired),
                state.windows.window_count,
                state,
            )
            for output, state in zip(self.outputs, self.states, strict=True)
        )
        return metrics_of_shards(number, self.label, self.report.clocks, shards, self.sources(), self.seconds)

    @property
    def unfired_timers(self) -> int:
        """The number of timers that firings at the end of the input have set in the last instant."""
        return sum(output.unfired for output in self.outputs)

    def drops(self, name: str) -> DropsOfSide:
        """Returns the late elements of the last instant, under the name of the stage."""
        assert self.report is not None, "an instant has been"
        late = SideDrops(tuple(drop for output in self.outputs for drop in output.drops))
        elements = Elements(self.prepared.shape, self.prepared.meta)
        return DropsOfSide(
            name, self.label, elements, elements.shape, self.report.clocks, late, self.late_data
        )

    def next_deadline(self) -> ProcessingTime | None:
        """Returns the next processing time at which a timer fires."""
        deadlines = (state.windows.next_deadline for state in self.states)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)
