"""A grouping in the local engine: elements to rows, bundles of partitions to shards, emissions to elements."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import polars as pl
from attrs import define, field, frozen

from flowalg.kv import KV
from flowalg.nodes import CombinePerKey
from flowalg.panes import Change, PaneInfo, Timing
from flowalg.time import EventTime, ProcessingTime
from flowalg.values import order_key
from flowalg.windows import Window
from flowalg_shard.bundle import precombine
from flowalg_shard.clocks import BEGINNING, Clocks
from flowalg_shard.columns import (
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
from flowalg_shard.local.elements import Arrivals, Element
from flowalg_shard.local.keys import KEY
from flowalg_shard.local.rows import Grouped
from flowalg_shard.panes import AT_END, AT_START
from flowalg_shard.state import Emission, ShardState
from flowalg_shard.step import next_deadline, step
from flowalg_shard.tables import pack, unpack


@frozen
class Cluster:
    """How a local run is spread: over so many input partitions and so many shards. The result does not depend on it."""

    partitions: int = 1
    shards: int = 1


@frozen
class Dropped:
    """So many elements that one window of one key refused in an instant."""

    key: object
    window: Window
    reason: str
    count: int
    processing_time: ProcessingTime


@frozen
class Stored:
    """A shard's state at rest."""

    table: bytes = b""
    standing: bytes = b""


@define
class ShardedGrouping:
    """The state of one grouping, a part of it in each shard, moved on by one instant at a time."""

    grouped: Grouped
    cluster: Cluster
    states: list[Stored]
    before: Clocks = BEGINNING
    output: Clocks = BEGINNING
    drops: list[Dropped] = field(factory=list)

    @classmethod
    def of(cls, node: CombinePerKey, cluster: Cluster) -> ShardedGrouping:
        """The grouping of a node, before its first instant."""
        return cls(Grouped.of(node), cluster, [Stored() for _ in range(cluster.shards)])

    def instant(self, arrivals: Arrivals) -> Arrivals:
        """The panes of one instant in order, and the clocks behind them."""
        clocks = arrivals.clocks
        emissions = [self._step(shard, bundles, clocks) for shard, bundles in self._bundles(arrivals)]
        self.before = clocks
        for emission in emissions:
            self.drops += self._drops(emission, clocks)
        hold = min(emission.hold for emission in emissions)
        self.output = clocks.held(hold, self.output)
        ordered = sorted(
            (pair for emission in emissions for pair in self._panes(emission, clocks)),
            key=lambda pair: pair[0],
        )
        return Arrivals(tuple(element for _, element in ordered), self.output)

    def _bundles(self, arrivals: Arrivals) -> Iterator[tuple[int, list[pl.DataFrame]]]:
        """What each input partition sends to each shard."""
        rows = self.grouped.rows(arrivals.elements, self.cluster.shards)
        count = self.cluster.partitions
        parts = [precombine(self.grouped.stage, rows.gather_every(count, part)) for part in range(count)]
        filled = [part for part in parts if not part.is_empty()]
        for shard in range(self.cluster.shards):
            sent = (pack(part.filter(pl.col(SHARD) == shard).drop(SHARD)) for part in filled)
            yield shard, [unpack(one) for one in sent]

    def _step(self, shard: int, bundles: list[pl.DataFrame], clocks: Clocks) -> Emission:
        stored = self.states[shard]
        state = ShardState(unpack(stored.table), self.before.watermark, unpack(stored.standing))
        after, emission = step(self.grouped.stage, state, bundles, clocks)
        self.states[shard] = Stored(pack(after.table), pack(after.standing))
        return emission

    def _panes(self, emission: Emission, clocks: Clocks) -> Iterator[tuple[tuple[object, ...], Element]]:
        """Panes as elements, each with what they are sorted by (SEMANTICS section 7)."""
        for row in emission.panes.iter_rows(named=True):
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
            turn = (row.get(AT_END, row[END]), row.get(AT_START, row[START]))
            yield (*turn, order_key(key), row.get(POSITION, 0)), element

    def _value(self, row: dict[str, object]) -> object:
        results = [row[name] for name in self.grouped.stage.results]
        if self.grouped.stage.combiner is not None:
            (packed,) = results
            assert isinstance(packed, bytes)
            return pickle.loads(packed)
        return results[0] if len(results) == 1 else tuple(results)

    def _drops(self, emission: Emission, clocks: Clocks) -> Iterator[Dropped]:
        for row in emission.drops.iter_rows(named=True):
            key = self.grouped.keys.decode(row[KEY])
            window = Window(end=EventTime(row[END]), start=EventTime(row[START]))
            yield Dropped(key, window, row[REASON], row[DROPPED], clocks.processing_time)

    def next_deadline(self, now: ProcessingTime) -> ProcessingTime | None:
        """When a trigger of any shard becomes ready by itself."""
        found = (next_deadline(self.grouped.stage, ShardState(unpack(one.table)), now) for one in self.states)
        return min((one for one in found if one is not None), default=None)


__all__ = ["Cluster", "Dropped", "ShardedGrouping"]
