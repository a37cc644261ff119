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
        """The stage before the first instant."""
        return cls(operator, [None] * cluster.shards, cluster.restarts)

    def advance(self, sent: Sequence[Sequence[list[ShardInput]]]) -> list[OperatorOutput]:
        """Advance by one instant: the output of each shard, from what the partitions of each input send to it."""
        found = []
        for shard, (stored, parts) in enumerate(zip(self.states, sent, strict=True)):
            after, emitted = advance(self.operator, stored, parts, first_shard=shard == 0)
            self.states[shard] = _restart(after) if self.restarts else after
            found.append(emitted)
        return found


@define
class ShardedGrouping:
    """A grouping in a local run."""

    grouped: CompiledGrouping
    cluster: Cluster
    shards: Shards
    drops: list[Drop] = field(factory=list)

    @classmethod
    def of(cls, node: GroupingNode, cluster: Cluster, upstreams: int) -> ShardedGrouping:
        """The grouping of a node with so many upstreams, before the first instant."""
        grouped = CompiledGrouping.of(node)
        operator = Grouping(grouped.stage, (FromStage(),) * upstreams)
        return cls(grouped, cluster, Shards.of(operator, cluster))

    def advance(self, received: NodeOutput) -> NodeOutput:
        """Advance by one instant: the panes in order, and the clock report of the shards."""
        emissions = self.shards.advance([[parts] for parts in self._sent(received)])
        report = stage_report_of(emissions)
        panes: list[tuple[tuple[object, ...], Element]] = []
        for one in emissions:
            panes += self._panes(unpack(one.panes), report.clocks)
            self.drops += self._drops(unpack(one.drops), report.clocks)
        ordered = sorted(panes, key=lambda pair: pair[0])
        return NodeOutput(tuple(element for _, element in ordered), {0: report})

    def _sent(self, received: NodeOutput) -> Iterator[list[ShardInput]]:
        """What the input partitions send to each shard. Clock reports are broadcast."""
        rows = self.grouped.rows(received.elements, self.cluster.shards)
        count = self.cluster.partitions
        parts = [precombine(self.grouped.stage, rows.gather_every(count, part)) for part in range(count)]
        filled = [part for part in parts if not part.is_empty()]
        for shard in range(self.cluster.shards):
            bundles = [pack(part.filter(pl.col(SHARD) == shard).drop(SHARD)) for part in filled]
            yield [ShardInput(one, received.reports) for one in bundles or [b""]]

    def _panes(self, panes: pl.DataFrame, clocks: Clocks) -> Iterator[tuple[tuple[object, ...], Element]]:
        """Panes as elements, each with its sort key (SEMANTICS section 7)."""
        for row in panes.iter_rows(named=True):
            key = self.grouped.keys.decode(row[KEY])
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
            turn = (row.get(ORDER_END, row[END]), row.get(ORDER_START, row[START]))
            yield (*turn, sort_key(key), row.get(POSITION, 0)), element

    def _value(self, row: dict[str, object]) -> object:
        results = [row[name] for name in self.grouped.stage.results]
        if self.grouped.stage.combiner is not None:
            (packed,) = results
            assert isinstance(packed, bytes)
            return pickle.loads(packed)
        return results[0] if len(results) == 1 else tuple(results)

    def _drops(self, drops: pl.DataFrame, clocks: Clocks) -> Iterator[Drop]:
        for row in drops.iter_rows(named=True):
            key = self.grouped.keys.decode(row[KEY])
            window = Window(EventTime(row[START]), EventTime(row[END]))
            yield Drop(key, window, DropReason(row[REASON]), clocks.processing_time, count=row[DROPPED])

    def next_deadline(self) -> ProcessingTime | None:
        """The next processing time at which a trigger of any shard becomes ready without new elements."""
        found = (one.windows.next_deadline for one in self.shards.states if one is not None)
        return min((one for one in found if one is not None), default=None)


def _restart(stored: OperatorState) -> OperatorState:
    """The state after its segments have been packed and restored."""
    shelf = {one.name: one.packed for one in stored.windows.segments}
    windows = WindowStore.restore(list(shelf), lambda name: Segment.restore(name, shelf[name]))
    return evolve(stored, windows=windows)


def stage_report_of(emissions: Sequence[OperatorOutput]) -> StageReport:
    """The clock report of all shards."""
    report = merge_reports({0: one.report} for one in emissions)[0]
    assert isinstance(report, StageReport)
    return report


__all__ = ["Cluster", "ShardedGrouping", "Shards", "stage_report_of"]
