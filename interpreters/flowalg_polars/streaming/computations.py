"""A computation as a stage of a stream: what it does in one instant, and the state of each of its shards."""

from __future__ import annotations

import time
from collections import Counter
from functools import cached_property
from types import MappingProxyType

import polars as pl
from attrs import define, field
from flowalg_shard.computations.step import ComputationOutput
from flowalg_shard.operators import Computing
from flowalg_shard.state.compatibility import StageDescription, describe_computation
from flowalg_shard.step.side_inputs import SideDrops
from flowalg_shard.tables.columns import SHARD
from flowalg_shard.tables.packing import stack

from flowalg_polars.lowering.computation_rows import PreparedComputation
from flowalg_polars.streaming.arrivals import Arrival, Arriving, collect_together
from flowalg_polars.streaming.drops import DropsOfSide
from flowalg_polars.streaming.operators import ShardedStage, restarted
from flowalg_polars.streaming.reading.bad_records import BadRecords
from flowalg_polars.streaming.rows import Elements
from flowalg_polars.streaming.storage.placement import shard_of


@define
class ShardedComputation(ShardedStage[Computing]):
    """A computation. Failed transitions are added to ``bad_records``."""

    prepared: PreparedComputation
    bad_records: BadRecords | None
    outputs: list[ComputationOutput] = field(factory=list, init=False)

    def advance(self, arrival: Arrival, followed: Arriving = MappingProxyType({})) -> Arrival:
        """Advances by one instant; returns the outputs, and the clock report of all shards."""
        started = time.perf_counter()
        (elements,), reports = collect_together([arrival.frame], [arrival.reports, followed])
        clocks = self.receive(reports)
        self.outputs, received = [], []
        for shard, rows in enumerate(self._shares(elements)):
            after, output, report = self.operator.step(self.states[shard], clocks, rows)
            self.states[shard] = restarted(after) if self.cluster.restarts else after
            self.outputs.append(output)
            received.append(report)
            if self.bad_records is not None:
                self.bad_records.records += output.bad_records
        emitted = self.prepared.elements(stack([output.outputs for output in self.outputs]))
        return self.emit(emitted, received, started)

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
        return describe_computation(self.prepared.stage, self.prepared.shape, self.operator.inputs)

    def counts(self) -> list[Counter[str]]:
        """Returns the numbers of late elements and of timers that do not fire."""
        return [
            Counter(dropped_late=len(output.drops), unfired_timers=output.unfired) for output in self.outputs
        ]

    @property
    def unfired_timers(self) -> int:
        """The number of timers that firings at the end of the input have set in the last instant."""
        return sum(output.unfired for output in self.outputs)

    def drops(self, name: str) -> DropsOfSide:
        """Returns the late elements of the last instant, under the name of the stage."""
        late = SideDrops(tuple(drop for output in self.outputs for drop in output.drops))
        elements = Elements(self.prepared.shape, self.prepared.meta)
        return DropsOfSide(name, self.label, elements, elements.shape, self.clocks, late, self.late_data)
