"""What each node of a pipeline does in an instant. A collection that is used twice is computed once."""

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
from flowalg_reference.elements import Arrivals, Clocks, Element, Now
from flowalg_reference.grouping import Grouping
from flowalg_reference.side_inputs import SideReader
from flowalg_reference.trace import Evaluation

Operator: TypeAlias = Callable[[Now], Arrivals]


@define
class Operators:
    """The operators of a pipeline's nodes, and the state of those that have one, by the node's id."""

    record: Callable[[Evaluation], None] | None = None
    groupings: dict[int, Grouping] = field(factory=dict)
    sides: dict[int, SideReader] = field(factory=dict)

    def of(self, root: Node) -> Operator:
        """The operator of a pipeline; nodes that several others read have one operator."""
        return fold(root, lambda node, of: once_per_instant(self._make(node, of)))

    def _make(self, node: Node, of: Fold[Node, Operator]) -> Operator:
        match node:
            case Hole():
                raise node.refused()
            case SourceNode(name=name):
                return lambda now: now.arrivals[name]
            case WindowInto(input=inner):
                return of(inner)
            case ElementWise(input=inner, steps=steps):
                upstream = of(inner)
                return lambda now: _through(steps, upstream(now))
            case CombinePerKey(input=inner):
                upstream = of(inner)
                grouping = Grouping.of(node, self.record)
                self.groupings[id(node)] = grouping
                return lambda now: grouping.advance(upstream(now), now.signals)
            case CoGroupByKey(inputs=inputs):
                upstreams = [of(inner) for inner in inputs]
                grouping = Grouping.of(node, self.record)
                self.groupings[id(node)] = grouping
                return lambda now: grouping.advance(
                    _flattened([_tagged(i, each(now), node.label) for i, each in enumerate(upstreams)]),
                    now.signals,
                )
            case Flatten(inputs=inputs):
                upstreams = [of(inner) for inner in inputs]
                return lambda now: _flattened([each(now) for each in upstreams])
            case WithSide(input=inner, side=side):
                upstream, beside = of(inner), of(side)
                reader = SideReader.of(node)
                self.sides[id(node)] = reader
                return lambda now: reader.advance(upstream(now), beside(now))
        assert_never(node)

    @property
    def dropped(self) -> tuple[DroppedElement, ...]:
        """All drops, grouping by grouping."""
        keepers: list[Grouping | SideReader] = [*self.groupings.values(), *self.sides.values()]
        return tuple(drop for one in keepers for drop in one.drops)


def once_per_instant(operator: Operator) -> Operator:
    """The operator, which remembers what it gave in the instant that it was last asked about."""
    last: list[tuple[Now, Arrivals]] = []

    def remembering(now: Now) -> Arrivals:
        if not last or last[0][0] is not now:
            last[:] = [(now, operator(now))]
        return last[0][1]

    return remembering


def _through(steps: tuple[Step, ...], arrivals: Arrivals) -> Arrivals:
    """Element-wise steps: event time, window, weight and pane stay (section 2)."""
    elements: Iterable[Element] = arrivals.elements
    for step in steps:
        elements = [after for element in elements for after in _stepped(step, element)]
    return Arrivals(tuple(elements), arrivals.clocks)


def _stepped(step: Step, element: Element) -> Iterator[Element]:
    if isinstance(step, WithTimestamps):
        yield evolve(element, event_time=assign_timestamp(step, element.value))
        return
    where = f"the result of {step.label}"
    for value in apply_step(step, element.value):
        yield evolve(element, value=canonicalize(value, where))


def _tagged(source: int, arrivals: Arrivals, label: str) -> Arrivals:
    """The elements of one collection of a co-group, each with the number of the collection."""
    elements = (evolve(element, value=tagged(element.value, source, label)) for element in arrivals.elements)
    return Arrivals(tuple(elements), arrivals.clocks)


def _flattened(arrivals: list[Arrivals]) -> Arrivals:
    """The union of what several nodes give; the watermark is the least of theirs (section 9)."""
    clocks = [one.clocks for one in arrivals]
    named = {q for one in clocks for q in one.percentiles}
    percentiles = {q: min(one.percentile(q) for one in clocks) for q in named}
    watermark = min(one.watermark for one in clocks)
    elements = tuple(element for one in arrivals for element in one.elements)
    return Arrivals(elements, Clocks(clocks[0].processing_time, watermark, percentiles))


__all__ = ["Operator", "Operators"]
