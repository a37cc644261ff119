"""An output of elements as a stage: its only state is the clocks, which give elements their processing time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import polars as pl
from attrs import define, field
from flowalg_shard import OperatorState, StageDescription
from flowalg_shard.clocks.exchange import InputClocks, Reports, StageReport, Upstream
from flowalg_shard.metrics import metrics_of_shards, source_metrics
from flowalg_shard.operators import next_clocks
from flowalg_shard.state.compatibility import describe_output
from flowalg_shard.tables.columns import PROCESSING_TIME

from flowalg.data.time import ProcessingTime
from flowalg.runs.metrics import SourceMetrics, StageMetrics
from flowalg_polars.streaming.arrivals import Arrival, Arriving, collect_together
from flowalg_polars.streaming.drops import NoDrops
from flowalg_polars.streaming.rows import Elements


@define
class ElementOutput:
    """Elements that nothing has grouped, on their way out. Each shard has the same state."""

    label: str
    elements: Elements
    upstreams: Sequence[Upstream]
    followed: tuple[Upstream, ...]
    states: list[OperatorState]
    received: Reports = field(factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(
        cls,
        label: str,
        elements: Elements,
        upstreams: Sequence[Upstream],
        followed: tuple[Upstream, ...],
        shards: int,
    ) -> ElementOutput:
        """Returns the output before the first instant."""
        clocks = (InputClocks.initial(upstreams),)
        return cls(label, elements, upstreams, followed, [OperatorState(clocks)] * shards)

    def advance(self, arrival: Arrival, followed: Arriving) -> Arrival:
        """Advances by one instant; returns the elements with its processing time."""
        started = time.perf_counter()
        (rows,), reports = collect_together([arrival.frame], [arrival.reports, followed])
        self.received = reports[0]
        clocks = next_clocks(self, self.states[0], reports)
        self.states = [OperatorState(clocks)] * len(self.states)
        now = clocks[0].clocks
        passed = rows.with_columns(pl.lit(now.processing_time, pl.Int64()).alias(PROCESSING_TIME))
        self.seconds = time.perf_counter() - started
        return Arrival(passed.lazy(), {0: StageReport(now)})

    @property
    def inputs(self) -> tuple[tuple[Upstream, ...], ...]:
        """The upstreams of its only input."""
        return (tuple(self.upstreams),)

    @cached_property
    def description(self) -> StageDescription:
        """The facts about the output that its state depends on."""
        return describe_output(self.label, self.elements.shape, self.inputs)

    def sources(self) -> tuple[SourceMetrics, ...]:
        """Returns the metrics of the sources that flow into the output directly."""
        return source_metrics([self.upstreams], [self.received], self.states[0])

    def metrics(self, number: int) -> StageMetrics:
        """Returns the metrics of the last instant."""
        clocks = self.states[0].input_clocks[0].clocks
        shards = [(Counter[str](), 0, self.states[0])]
        return metrics_of_shards(number, self.label, clocks, shards, self.sources(), self.seconds)

    def drops(self, name: str) -> NoDrops:
        """An output drops nothing."""
        return NoDrops()

    def next_deadline(self) -> ProcessingTime | None:
        """An output waits for no processing time."""
        return None
