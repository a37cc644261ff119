"""A grouping in the local engine: elements to rows, bundles of partitions to shards, emissions to elements."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import polars as pl
from attrs import define, evolve, field, frozen

from flowalg.data.kv import KV
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.data.values import sort_key
from flowalg.pipeline.nodes import GroupingNode
from flowalg.runs.panes import Change, PaneInfo, Timing
from flowalg.windows.window import Window
from flowalg_shard.clocks.clocks import Clocks
from flowalg_shard.clocks.exchange import FromStage, StageReport, merge_reports
from flowalg_shard.local.elements import Arrivals, Element
from flowalg_shard.local.keys import KEY
from flowalg_shard.local.rows import Grouped
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
    """How a local run is spread: over so many input partitions and so many shards. The result does not depend on it.

    If it ``forgets``, shards know in each instant only what has been stored as bytes, as after a restart.
    """

    partitions: int = 1
    shards: int = 1
    forgets: bool = False


@frozen
class Dropped:
    """So many elements that one window of one key refused in an instant."""

    key: object
    window: Window
    reason: str
    count: int
    processing_time: ProcessingTime


@define
class Shards:
    """A stage in a local run: what each of its shards remembers, moved on by one instant at a time."""

    operator: Operator
    states: list[OperatorState | None]
    forgets: bool

    @classmethod
    def of(cls, operator: Operator, cluster: Cluster) -> Shards:
        """The stage before its first instant."""
        return cls(operator, [None] * cluster.shards, cluster.forgets)

    def instant(self, sent: Sequence[Sequence[list[ShardInput]]]) -> list[OperatorOutput]:
        """What each shard gives, of what the parts of each input send to it."""
        found = []
        for shard, (stored, parts) in enumerate(zip(self.states, sent, strict=True)):
            after, emitted = advance(self.operator, stored, parts, first_shard=shard == 0)
            self.states[shard] = _restored(after) if self.forgets else after
            found.append(emitted)
        return found


@define
class ShardedGrouping:
    """A grouping in a local run."""

    grouped: Grouped
    cluster: Cluster
    shards: Shards
    drops: list[Dropped] = field(factory=list)

    @classmethod
    def of(cls, node: GroupingNode, cluster: Cluster, origins: int) -> ShardedGrouping:
        """The grouping of a node, whose elements have so many origins, before its first instant."""
        grouped = Grouped.of(node)
        operator = Grouping(grouped.stage, (FromStage(),) * origins)
        return cls(grouped, cluster, Shards.of(operator, cluster))

    def instant(self, arrivals: Arrivals) -> Arrivals:
        """The panes of one instant in order, and what the shards say of the clocks."""
        emissions = self.shards.instant([[parts] for parts in self._sent(arrivals)])
        report = together(emissions)
        panes: list[tuple[tuple[object, ...], Element]] = []
        for one in emissions:
            panes += self._panes(unpack(one.panes), report.clocks)
            self.drops += self._drops(unpack(one.drops), report.clocks)
        ordered = sorted(panes, key=lambda pair: pair[0])
        return Arrivals(tuple(element for _, element in ordered), {0: report})

    def _sent(self, arrivals: Arrivals) -> Iterator[list[ShardInput]]:
        """What the input partitions send to each shard; all of them tell what is said of the clocks."""
        rows = self.grouped.rows(arrivals.elements, self.cluster.shards)
        count = self.cluster.partitions
        parts = [precombine(self.grouped.stage, rows.gather_every(count, part)) for part in range(count)]
        filled = [part for part in parts if not part.is_empty()]
        for shard in range(self.cluster.shards):
            bundles = [pack(part.filter(pl.col(SHARD) == shard).drop(SHARD)) for part in filled]
            yield [ShardInput(one, arrivals.reports) for one in bundles or [b""]]

    def _panes(self, panes: pl.DataFrame, clocks: Clocks) -> Iterator[tuple[tuple[object, ...], Element]]:
        """Panes as elements, each with what they are sorted by (SEMANTICS section 7)."""
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
            window = Window(end=EventTime(row[END]), start=EventTime(row[START]))
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

    def _drops(self, drops: pl.DataFrame, clocks: Clocks) -> Iterator[Dropped]:
        for row in drops.iter_rows(named=True):
            key = self.grouped.keys.decode(row[KEY])
            window = Window(end=EventTime(row[END]), start=EventTime(row[START]))
            yield Dropped(key, window, row[REASON], row[DROPPED], clocks.processing_time)

    def next_deadline(self) -> ProcessingTime | None:
        """When a trigger of any shard becomes ready by itself."""
        found = (one.windows.next_deadline for one in self.shards.states if one is not None)
        return min((one for one in found if one is not None), default=None)


def _restored(stored: OperatorState) -> OperatorState:
    """What is known of it once its segments have been written and read."""
    shelf = {one.name: one.packed for one in stored.windows.segments}
    windows = WindowStore.restore(list(shelf), lambda name: Segment.restore(name, shelf[name]))
    return evolve(stored, windows=windows)


def together(emissions: Sequence[OperatorOutput]) -> StageReport:
    """What all shards say of the clocks."""
    report = merge_reports({0: one.report} for one in emissions)[0]
    assert isinstance(report, StageReport)
    return report


__all__ = ["Cluster", "Dropped", "ShardedGrouping", "Shards", "together"]
