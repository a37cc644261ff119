"""A side input in the local engine: elements and the side as rows for the operator of the shard step."""

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
_NUMBER = "number"


@define
class ShardedSide:
    """A side input in a local run. ``arrived`` counts the elements, whose numbers order them by arrival."""

    cluster: Cluster
    shards: Shards
    arrived: int = 0
    drops: list[Drop] = field(factory=list)

    @classmethod
    def of(cls, node: WithSide, cluster: Cluster, main: int, side: int) -> ShardedSide:
        """Returns the operator of a node before the first instant; ``main`` and ``side`` are numbers of upstreams."""
        effective = node.side.windowing
        stage = SideStage("with_side", node.view, effective.strategy.windows, effective.fresh)
        operator = Side(stage, (FromStage(),) * main, (FromStage(),) * side)
        return cls(cluster, Shards.of(operator, cluster))

    def advance(self, main: NodeOutput, side: NodeOutput) -> NodeOutput:
        """Advances by one instant; returns elements whose side window is complete, in order, with what they read."""
        everything = [ShardInput(_side_rows(side.elements), side.reports)]
        divided = [[ShardInput(bundle, main.reports)] for bundle in self._divide(main.elements)]
        emissions = self.shards.advance([[share, everything] for share in divided])
        report = stage_report_of(emissions)
        passed = [pair for emission in emissions for pair in _passed(emission)]
        self.drops += [drop for emission in emissions for drop in _drops(emission, report.clocks)]
        ordered = sorted(passed, key=lambda pair: pair[0])
        return NodeOutput(tuple(element for _, element in ordered), {0: report})

    def _divide(self, elements: Sequence[Element]) -> Iterator[bytes]:
        """Returns the share of each shard."""
        rows = [
            (pickle.dumps(element), number, element.event_time)
            for number, element in enumerate(elements, start=self.arrived)
        ]
        self.arrived += len(rows)
        for shard in range(self.cluster.shards):
            yield pack(
                pl.DataFrame(
                    rows[shard :: self.cluster.shards],
                    schema={_ELEMENT: pl.Binary(), _NUMBER: pl.Int64(), EVENT_TIME: pl.Int64()},
                    orient="row",
                )
            )


def _side_rows(elements: Sequence[Element]) -> bytes:
    rows = [
        (
            pickle.dumps(element.value),
            element.event_time,
            element.weight,
            element.window.start,
            element.window.end,
        )
        for element in elements
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
        element = cast("Element", pickle.loads(row[_ELEMENT]))  # trusted: pickled by ``_divide``
        yield row[_NUMBER], evolve(element, value=(element.value, readings[EventTime(row[READ_START])]))


def _drops(emitted: OperatorOutput, clocks: Clocks) -> Iterator[Drop]:
    for late in unpack_side_drops(emitted.drops):
        yield Drop(late.key, late.window, late.reason, clocks.processing_time)


__all__ = ["ShardedSide"]
