"""A grouping in the local engine: elements become rows, rows become bundles for shards, emissions become elements."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import polars as pl
from attrs import define, evolve, field, frozen

from flowalg.data.kv import KV
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.data.values import sort_key
from flowalg.pipeline.nodes import GroupingNode
from flowalg.runs.clocks import Clocks
from flowalg.runs.elements import Element
from flowalg.runs.panes import Change, Drop, DropReason, PaneInfo, Timing
from flowalg.windows.window import Window
from flowalg_shard.clocks.exchange import FromStage, StageReport, merge_reports
from flowalg_shard.local.elements import NodeOutput
from flowalg_shard.local.keys import KEY
from flowalg_shard.local.rows import CompiledGrouping
from flowalg_shard.operators import Grouping, Operator, OperatorOutput, OperatorState, ShardInput, advance
from flowalg_shard.state.window_store import Segment, WindowStore
from flowalg_shard.step.bundle import precombine
from flowalg_shard.step.panes import ORDER_END, ORDER_START
from flowalg_shard.tables.columns import (
    CHANGE,
    DROPPED,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    POSITION,
    REASON,
    SHARD,
    START,
    TIMING,
)
from flowalg_shard.tables.packing import pack, unpack


@frozen
class Cluster:
    """How a local run is distributed: the numbers of input partitions and of shards. Results do not depend on it.

    With ``restarts`` each shard is restored from its packed segments in every instant, as after a restart.
    """

    partitions: int = 1
    shards: int = 1
    restarts: bool = False


@define
class Shards:
    """A stage in a local run: the state of each of its shards."""

    operator: Operator
    states: list[OperatorState | None]
    restarts: bool

    @classmethod
    def of(cls, operator: Operator, cluster: Cluster) -> Shards:
        """Returns the stage before the first instant."""
        return cls(operator, [None] * cluster.shards, cluster.restarts)

    def advance(self, bundles: Sequence[Sequence[list[ShardInput]]]) -> list[OperatorOutput]:
        """Advances by one instant; returns the outputs of the shards from the bundles of each input's partitions."""
        outputs = []
        for shard, (stored, parts) in enumerate(zip(self.states, bundles, strict=True)):
            after, emitted = advance(self.operator, stored, parts, first_shard=shard == 0)
            self.states[shard] = _restart(after) if self.restarts else after
            outputs.append(emitted)
        return outputs


@define
class ShardedGrouping:
    """A grouping in a local run."""

    compiled: CompiledGrouping
    cluster: Cluster
    shards: Shards
    drops: list[Drop] = field(factory=list)

    @classmethod
    def of(cls, node: GroupingNode, cluster: Cluster, upstreams: int) -> ShardedGrouping:
        """Returns the grouping of a node with ``upstreams`` upstreams, before the first instant."""
        compiled = CompiledGrouping.of(node)
        operator = Grouping(compiled.stage, (FromStage(),) * upstreams)
        return cls(compiled, cluster, Shards.of(operator, cluster))

    def advance(self, received: NodeOutput) -> NodeOutput:
        """Advances by one instant; returns the panes in order, and the clock report of the shards."""
        emissions = self.shards.advance([[parts] for parts in self._bundles(received)])
        report = stage_report_of(emissions)
        panes: list[tuple[tuple[object, ...], Element]] = []
        for emission in emissions:
            panes += self._panes(unpack(emission.panes), report.clocks)
            self.drops += self._drops(unpack(emission.drops), report.clocks)
        ordered = sorted(panes, key=lambda pair: pair[0])
        return NodeOutput(tuple(element for _, element in ordered), {0: report})

    def _bundles(self, received: NodeOutput) -> Iterator[list[ShardInput]]:
        """Returns what the input partitions send to each shard. Clock reports are broadcast."""
        rows = self.compiled.rows(received.elements, self.cluster.shards)
        count = self.cluster.partitions
        parts = [precombine(self.compiled.stage, rows.gather_every(count, part)) for part in range(count)]
        filled = [part for part in parts if not part.is_empty()]
        for shard in range(self.cluster.shards):
            bundles = [pack(part.filter(pl.col(SHARD) == shard).drop(SHARD)) for part in filled]
            yield [ShardInput(bundle, received.reports) for bundle in bundles or [b""]]

    def _panes(self, panes: pl.DataFrame, clocks: Clocks) -> Iterator[tuple[tuple[object, ...], Element]]:
        """Returns panes as elements, each with its sort key (SEMANTICS section 7)."""
        for row in panes.iter_rows(named=True):
            key = self.compiled.keys.decode(row[KEY])
            info = PaneInfo(
                Change(row[CHANGE]),
                Timing(row[TIMING]),
                row[INDEX],
                row[IS_FIRST],
                row[IS_LAST],
                clocks.processing_time,
                clocks.watermark,
            )
            window = Window(EventTime(row[START]), EventTime(row[END]))
            weight = -1 if info.change is Change.RETRACTION else 1
            element = Element(KV(key, self._value(row)), EventTime(row[EVENT_TIME]), window, weight, info)
            position = (row.get(ORDER_END, row[END]), row.get(ORDER_START, row[START]))
            yield (*position, sort_key(key), row.get(POSITION, 0)), element

    def _value(self, row: dict[str, object]) -> object:
        results = [row[name] for name in self.compiled.stage.results]
        if self.compiled.stage.combiner is not None:
            (packed,) = results
            assert isinstance(packed, bytes)
            return pickle.loads(packed)
        return results[0] if len(results) == 1 else tuple(results)

    def _drops(self, drops: pl.DataFrame, clocks: Clocks) -> Iterator[Drop]:
        for row in drops.iter_rows(named=True):
            key = self.compiled.keys.decode(row[KEY])
            window = Window(EventTime(row[START]), EventTime(row[END]))
            yield Drop(key, window, DropReason(row[REASON]), clocks.processing_time, count=row[DROPPED])

    def next_deadline(self) -> ProcessingTime | None:
        """Returns the next processing time at which a trigger of any shard becomes ready without new elements."""
        deadlines = (state.windows.next_deadline for state in self.shards.states if state is not None)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)


def _restart(stored: OperatorState) -> OperatorState:
    """Returns the state after its segments have been packed and restored."""
    packed = {segment.name: segment.packed for segment in stored.windows.segments}
    windows = WindowStore.restore(list(packed), lambda name: Segment.restore(name, packed[name]))
    return evolve(stored, windows=windows)


def stage_report_of(emissions: Sequence[OperatorOutput]) -> StageReport:
    """Returns the clock report of all shards."""
    report = merge_reports({0: emission.report} for emission in emissions)[0]
    assert isinstance(report, StageReport)
    return report


__all__ = ["Cluster", "ShardedGrouping", "Shards", "stage_report_of"]
