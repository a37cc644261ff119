"""An output of elements as a stage: its only state is the clocks, which give elements their processing time."""

from __future__ import annotations

import time
from collections import Counter
from functools import cached_property

import polars as pl
from attrs import define
from flowalg_shard import OperatorState, StageDescription, StageReport
from flowalg_shard.operators import Reader
from flowalg_shard.state.compatibility import describe_output
from flowalg_shard.tables.columns import PROCESSING_TIME

from flowalg_polars.streaming.arrivals import Arrival, Arriving, collect_together
from flowalg_polars.streaming.drops import NoDrops
from flowalg_polars.streaming.operators import ShardedStage
from flowalg_polars.streaming.rows import Elements


@define
class ElementOutput(ShardedStage[Reader]):
    """Elements that nothing has grouped, on their way out. Each shard has the same state."""

    elements: Elements

    def advance(self, arrival: Arrival, followed: Arriving) -> Arrival:
        """Advances by one instant; returns the elements with its processing time."""
        started = time.perf_counter()
        (rows,), reports = collect_together([arrival.frame], [arrival.reports, followed])
        clocks = self.receive(reports)
        self.states = [OperatorState(clocks)] * len(self.states)
        now = pl.lit(self.clocks.processing_time, pl.Int64())
        return self.emit(rows.with_columns(now.alias(PROCESSING_TIME)), [StageReport(self.clocks)], started)

    @cached_property
    def description(self) -> StageDescription:
        """The facts about the output that its state depends on."""
        return describe_output(self.label, self.operator.inputs)

    def counts(self) -> list[Counter[str]]:
        """Returns no counts."""
        return [Counter() for _ in self.states]

    def drops(self, name: str) -> NoDrops:
        """An output drops nothing."""
        return NoDrops()
