"""A side input in the local engine: elements and the side as rows, for the operator that every engine uses."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import cast

import polars as pl
from attrs import define, evolve, field

from flowalg.data.time import EventTime
from flowalg.pipeline.nodes import WithSide
from flowalg.runs.clocks import Clocks
from flowalg.runs.elements import Element
from flowalg.runs.panes import Drop
from flowalg_shard.clocks.exchange import FromStage
from flowalg_shard.local.elements import NodeOutput
from flowalg_shard.local.grouping import Cluster, Shards, stage_report_of
from flowalg_shard.operators import OperatorOutput, ShardInput, Side, unpack_side_drops, unpack_side_values
from flowalg_shard.step.side_inputs import READ_START, SideStage
from flowalg_shard.tables.columns import END, EVENT_TIME, START, VALUE, WEIGHT
from flowalg_shard.tables.packing import pack, unpack

_ELEMENT = "element"
_PLACE = "place"


@define
class ShardedSide:
    """A side input in a local run. ``arrived`` numbers the elements, so that they are emitted in order of arrival."""

    cluster: Cluster
    shards: Shards
    arrived: int = 0
    drops: list[Drop] = field(factory=list)

    @classmethod
    def of(cls, node: WithSide, cluster: Cluster, main: int, side: int) -> ShardedSide:
        """The operator of a node whose elements and side have so many upstreams, before the first instant."""
        effective = node.side.windowing
        stage = SideStage("with_side", node.view, effective.strategy.windows, effective.fresh)
        operator = Side(stage, (FromStage(),) * main, (FromStage(),) * side)
        return cls(cluster, Shards.of(operator, cluster))

    def advance(self, main: NodeOutput, side: NodeOutput) -> NodeOutput:
        """Advance by one instant: the elements that have finished waiting, in order of arrival, with what they read."""
        everything = [ShardInput(_side_rows(side.elements), side.reports)]
        divided = [[ShardInput(one, main.reports)] for one in self._divided(main.elements)]
        emissions = self.shards.advance([[mine, everything] for mine in divided])
        report = stage_report_of(emissions)
        passed = [pair for one in emissions for pair in _passed(one)]
        self.drops += [drop for one in emissions for drop in _drops(one, report.clocks)]
        ordered = sorted(passed, key=lambda pair: pair[0])
        return NodeOutput(tuple(element for _, element in ordered), {0: report})

    def _divided(self, elements: Sequence[Element]) -> Iterator[bytes]:
        """The share of each shard."""
        rows = [
            (pickle.dumps(one), place, one.event_time)
            for place, one in enumerate(elements, start=self.arrived)
        ]
        self.arrived += len(rows)
        for shard in range(self.cluster.shards):
            yield pack(
                pl.DataFrame(
                    rows[shard :: self.cluster.shards],
                    schema={_ELEMENT: pl.Binary(), _PLACE: pl.Int64(), EVENT_TIME: pl.Int64()},
                    orient="row",
                )
            )


def _side_rows(elements: Sequence[Element]) -> bytes:
    rows = [
        (pickle.dumps(one.value), one.event_time, one.weight, one.window.start, one.window.end)
        for one in elements
    ]
    schema = {
        VALUE: pl.Binary(),
        EVENT_TIME: pl.Int64(),
        WEIGHT: pl.Int8(),
        START: pl.Int64(),
        END: pl.Int64(),
    }
    return pack(pl.DataFrame(rows, schema=schema, orient="row"))


def _passed(emitted: OperatorOutput) -> Iterator[tuple[int, Element]]:
    readings = unpack_side_values(emitted.side_values)
    for row in unpack(emitted.panes).iter_rows(named=True):
        element = cast("Element", pickle.loads(row[_ELEMENT]))  # trusted: pickled by ``_divided``
        yield row[_PLACE], evolve(element, value=(element.value, readings[EventTime(row[READ_START])]))


def _drops(emitted: OperatorOutput, clocks: Clocks) -> Iterator[Drop]:
    for one in unpack_side_drops(emitted.drops):
        yield Drop(one.key, one.window, one.reason, clocks.processing_time)


__all__ = ["ShardedSide"]
