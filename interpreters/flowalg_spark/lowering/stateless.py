"""Lowers a streaming pipeline without stages: a plain select, since nothing waits for a clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

from attrs import evolve, frozen
from flowalg_shard.tables.columns import PROCESSING_TIME
from pyspark.sql import DataFrame

from flowalg.pipeline.graph import Fold, nodes_of
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    Hole,
    Node,
    Process,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.structure import branches_of
from flowalg_spark.lowering.binding import StreamColumns, bind_source
from flowalg_spark.lowering.element_wise import apply_steps
from flowalg_spark.lowering.fan_out import fan_out
from flowalg_spark.lowering.filter_pushdown import push_down_filters
from flowalg_spark.lowering.flow import Flow, union
from flowalg_spark.lowering.metadata import pair_with_metadata

STAGES: Final = (CombinePerKey, CoGroupByKey, WithSide, Process)
"""The nodes that have state in a stream."""


def has_stages(*roots: Node) -> bool:
    """Returns whether any pipeline has a grouping, a side input or a computation, and so state."""
    return any(isinstance(node, STAGES) for node in nodes_of(*roots))


@frozen
class StatelessLowering:
    """Lowers nodes to flows of the elements alone, each with its processing time.

    ``frames`` are those of the sources, by name, and ``columns`` their clock columns.
    """

    frames: Mapping[str, DataFrame]
    columns: Mapping[str, StreamColumns]

    def __call__(self, node: Node, flow: Fold[Node, Flow]) -> Flow:
        """Returns the flow of a node, from those of its inputs."""
        match node:
            case SourceNode():
                return self.source(node, self.frames[node.name])
            case WindowInto(input=inner):
                return flow(inner)
            case ElementWise():
                chain = node.unsplit
                if isinstance(chain.input, SourceNode):
                    frame = push_down_filters(chain.input, self.frames[chain.input.name], chain.steps)
                    return apply_steps(self.source(chain.input, frame), chain.steps)
                return apply_steps(flow(chain.input), chain.steps)
            case WithMetadata(input=inner, metadata=metadata):
                return pair_with_metadata(flow(inner), metadata)
            case Flatten(inputs=inputs):
                found = branches_of(node)
                one_pass = fan_out(flow(found[0]), found[1]) if found else None
                return one_pass or union(tuple(map(flow, inputs)))
            case CombinePerKey() | CoGroupByKey() | WithSide() | Process():
                raise AssertionError(f"{node} has state")
            case Hole():
                raise node.refused()
        assert_never(node)

    def source(self, node: SourceNode, frame: DataFrame) -> Flow:
        """Returns the elements of a source, without its control rows."""
        columns = evolve(self.columns[node.name], elements_only=True)
        flow = bind_source(node, frame, columns)
        assert PROCESSING_TIME in flow.meta, "a stream has processing times"
        return flow
