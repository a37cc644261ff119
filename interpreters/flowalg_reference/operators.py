"""What each node of a pipeline does in an instant. A node that several others read is evaluated once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, assert_never

from attrs import define, evolve, field

from flowalg.data.values import canonicalize
from flowalg.elementwise.steps import Step, WithTimestamps, apply_step, assign_timestamp
from flowalg.pipeline.co_group import tagged
from flowalg.pipeline.graph import Fold, fold
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    Hole,
    Node,
    SourceNode,
    WindowInto,
    WithSide,
)
from flowalg_reference.drops import DroppedElement
from flowalg_reference.elements import Clocks, Element, NodeOutput, PipelineInstant
from flowalg_reference.grouping import Grouping
from flowalg_reference.side_inputs import SideReader
from flowalg_reference.trace import Evaluation

Operator: TypeAlias = Callable[[PipelineInstant], NodeOutput]


@define
class Operators:
    """The operators of the nodes of a pipeline, and the state of those that have one, by the identity of the node."""

    record: Callable[[Evaluation], None] | None = None
    groupings: dict[int, Grouping] = field(factory=dict)
    sides: dict[int, SideReader] = field(factory=dict)

    def of(self, root: Node) -> Operator:
        """The operator of a pipeline; a node that several others read has one operator."""
        return fold(root, lambda node, of: once_per_instant(self._make(node, of)))

    def _make(self, node: Node, of: Fold[Node, Operator]) -> Operator:
        match node:
            case Hole():
                raise node.refused()
            case SourceNode(name=name):
                return lambda instant: instant.sources[name]
            case WindowInto(input=inner):
                return of(inner)
            case ElementWise(input=inner, steps=steps):
                upstream = of(inner)
                return lambda instant: _apply_steps(steps, upstream(instant))
            case CombinePerKey(input=inner):
                upstream = of(inner)
                grouping = Grouping.of(node, self.record)
                self.groupings[id(node)] = grouping
                return lambda instant: grouping.advance(upstream(instant), instant.signals)
            case CoGroupByKey(inputs=inputs):
                upstreams = [of(inner) for inner in inputs]
                grouping = Grouping.of(node, self.record)
                self.groupings[id(node)] = grouping
                return lambda instant: grouping.advance(
                    _flatten([_tag(i, each(instant), node.label) for i, each in enumerate(upstreams)]),
                    instant.signals,
                )
            case Flatten(inputs=inputs):
                upstreams = [of(inner) for inner in inputs]
                return lambda instant: _flatten([each(instant) for each in upstreams])
            case WithSide(input=inner, side=side):
                upstream, side_operator = of(inner), of(side)
                reader = SideReader.of(node)
                self.sides[id(node)] = reader
                return lambda instant: reader.advance(upstream(instant), side_operator(instant))
        assert_never(node)

    @property
    def dropped(self) -> tuple[DroppedElement, ...]:
        """All drops, grouping by grouping."""
        keepers: list[Grouping | SideReader] = [*self.groupings.values(), *self.sides.values()]
        return tuple(drop for one in keepers for drop in one.drops)


def once_per_instant(operator: Operator) -> Operator:
    """The operator, memoized for the current instant."""
    last: list[tuple[PipelineInstant, NodeOutput]] = []

    def memoized(instant: PipelineInstant) -> NodeOutput:
        if not last or last[0][0] is not instant:
            last[:] = [(instant, operator(instant))]
        return last[0][1]

    return memoized


def _apply_steps(steps: tuple[Step, ...], received: NodeOutput) -> NodeOutput:
    """Element-wise steps; event time, window, weight and pane stay the same (section 2)."""
    elements: Iterable[Element] = received.elements
    for step in steps:
        elements = [after for element in elements for after in _apply_step(step, element)]
    return NodeOutput(tuple(elements), received.clocks)


def _apply_step(step: Step, element: Element) -> Iterator[Element]:
    if isinstance(step, WithTimestamps):
        yield evolve(element, event_time=assign_timestamp(step, element.value))
        return
    where = f"the result of {step.label}"
    for value in apply_step(step, element.value):
        yield evolve(element, value=canonicalize(value, where))


def _tag(source: int, received: NodeOutput, label: str) -> NodeOutput:
    """The elements of one collection of a co-group, each with the number of the collection."""
    elements = (evolve(element, value=tagged(element.value, source, label)) for element in received.elements)
    return NodeOutput(tuple(elements), received.clocks)


def _flatten(received: list[NodeOutput]) -> NodeOutput:
    """The union of several outputs; the watermark is the least of theirs (section 9)."""
    clocks = [one.clocks for one in received]
    named = {q for one in clocks for q in one.percentiles}
    percentiles = {q: min(one.percentile(q) for one in clocks) for q in named}
    watermark = min(one.watermark for one in clocks)
    elements = tuple(element for one in received for element in one.elements)
    return NodeOutput(elements, Clocks(clocks[0].processing_time, watermark, percentiles))


__all__ = ["Operator", "Operators"]
