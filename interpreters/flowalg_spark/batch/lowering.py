"""Lowers the nodes of a plan to flows: relational algebra, or a plain select where nothing has state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, assert_never

from attrs import field, frozen
from pyspark.sql import DataFrame

from flowalg.elementwise.steps import Step
from flowalg.pipeline.graph import Fold
from flowalg.pipeline.nodes import SourceNode
from flowalg.plan import nodes as planned
from flowalg.plan.nodes import PlanNode
from flowalg.plan.plan import Plan
from flowalg_spark.batch.computations import lower_computation
from flowalg_spark.batch.dead_letters import DeadLetters
from flowalg_spark.batch.groups import lower_grouping
from flowalg_spark.batch.joins import explode_lists, lower_co_group, lower_join, lower_side_input
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.lowering.element_wise import apply_steps
from flowalg_spark.lowering.fan_out import fan_out
from flowalg_spark.lowering.filter_pushdown import push_down_filters
from flowalg_spark.lowering.flow import Flow, union
from flowalg_spark.lowering.metadata import pair_with_metadata

Bind: TypeAlias = Callable[[SourceNode, DataFrame], Flow]
"""From a source and its frame to the flow of its elements."""


def lower(
    plan: Plan,
    frames: Mapping[str, DataFrame],
    bind: Bind,
    time: Sql,
    letters: DeadLetters | None = None,
) -> dict[str, Flow]:
    """Returns the flow of each output, without its bad records, given the frames of the sources by name.

    ``time`` is the processing time of what is emitted.
    """
    lowering = _Lowering(plan, frames, bind, time, letters)
    flow = Fold(lowering)
    return {name: lowering.elements(node, flow) for name, node in plan.outputs.items()}


@frozen
class _Lowering:
    """Lowers the nodes of a plan to flows. A node with several readers is lowered once.

    With ``letters``, the flow of a node may have bad records, which its only reader passes on if it is element-wise;
    any other reader reads ``elements``.
    """

    plan: Plan
    frames: Mapping[str, DataFrame]
    bind: Bind
    time: Sql
    letters: DeadLetters | None
    separated: dict[PlanNode, Flow] = field(factory=dict)

    def elements(self, node: PlanNode, flow: Fold[PlanNode, Flow]) -> Flow:
        """Returns the flow of a node without bad records, which become dead letters once."""
        if self.letters is None:
            return flow(node)
        if node not in self.separated:
            self.separated[node] = self.letters.separate(flow(node))
        return self.separated[node]

    def rows(self, node: PlanNode, flow: Fold[PlanNode, Flow]) -> Flow:
        """Returns the flow that an element-wise reader of a node receives."""
        return flow(node) if self.plan.readers[node] == 1 else self.elements(node, flow)

    def __call__(self, node: PlanNode, flow: Fold[PlanNode, Flow]) -> Flow:
        """Returns the flow of a node, from those of its inputs."""
        match node:
            case planned.Read(source=source):
                frame = self.frames[source.name]
                if self.letters is not None:
                    return self.letters.bind_source(source, frame)
                return self.bind(source, frame)
            case planned.Apply(input=planned.Read(source=source), steps=steps) if self.letters is None:
                frame = push_down_filters(source, self.frames[source.name], steps)
                return apply_steps(self.bind(source, frame), steps)
            case planned.Apply(input=inner, steps=steps):
                return self.after(self.rows(inner, flow), steps)
            case planned.PairWithMetadata(input=inner, metadata=metadata):
                return pair_with_metadata(self.rows(inner, flow), metadata)
            case planned.Combine(input=inner, transform=transform):
                return lower_grouping(transform, self.elements(inner, flow), self.time)
            case planned.CoGroup(transform=transform):
                return lower_co_group(transform, self.inputs(node, flow), self.time)
            case planned.JoinByKey(transform=transform, kind=kind):
                return lower_join(transform, kind, self.inputs(node, flow), self.time)
            case planned.ExplodeLists(input=inner, transform=transform, kind=kind):
                return explode_lists(transform, kind, self.elements(inner, flow))
            case planned.Union():
                return union(self.inputs(node, flow))
            case planned.FanOut(input=inner, chains=chains, branches=branches):
                return fan_out(flow(inner), chains) or union(tuple(map(flow, branches)))
            case planned.ReadSide(input=inner, side=side, transform=transform, steps=steps):
                return lower_side_input(
                    transform, self.elements(inner, flow), self.elements(side, flow), steps
                )
            case planned.Compute(input=inner, transform=transform, sources=sources):
                letters = self.letters is not None
                elements = self.elements(inner, flow)
                return lower_computation(
                    transform, elements, map(flow, sources), self.time, dead_letters=letters
                )
        assert_never(node)

    def inputs(self, node: PlanNode, flow: Fold[PlanNode, Flow]) -> tuple[Flow, ...]:
        """Returns the elements that a node reads."""
        return tuple(self.elements(inner, flow) for inner in node.inputs)

    def after(self, flow: Flow, steps: tuple[Step, ...]) -> Flow:
        """Returns a flow after steps; with dead letters, elements on which one of them fails are bad records in it."""
        return apply_steps(flow if self.letters is None else self.letters.guard(flow), steps)
