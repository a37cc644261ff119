"""What each node of a pipeline does in an instant. A node that several others read is evaluated once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias, assert_never

from attrs import define, evolve, field

from flowalg.data.metadata import Metadata
from flowalg.data.time import MIN_TIME, ProcessingTime
from flowalg.lifting.analysis import StepAnalysis
from flowalg.pipeline.graph import Fold, fold_all
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
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.elements import (
    Element,
    apply_steps,
    horizon_of,
    pair_with_metadata,
    read_records,
    tag_elements,
)
from flowalg.runs.instants import PipelineInstant, once_per_instant
from flowalg.runs.panes import DroppedElement
from flowalg_reference.bad_records import BadRecords
from flowalg_reference.computations import Computing
from flowalg_reference.grouping import Grouping
from flowalg_reference.outputs import NodeOutput
from flowalg_reference.side_inputs import SideReader
from flowalg_reference.trace import Traced

NodeFunction: TypeAlias = Callable[[PipelineInstant], NodeOutput]


@define
class Operators:
    """The operators of the nodes of a pipeline, and the state of those that have one, by the identity of the node.

    ``record``, if given, receives each evaluation of a window and each call of a computation. With ``selects`` the
    groupings receive only the elements for which it is true; debugging uses both. Bad records are added to ``bad``;
    without it they fail the run.
    """

    record: Callable[[Traced], None] | None = None
    selects: Callable[[Element], bool] | None = None
    bad: BadRecords | None = None
    groupings: dict[int, Grouping] = field(factory=dict)
    sides: dict[int, SideReader] = field(factory=dict)
    computations: dict[int, Computing] = field(factory=dict)

    def of(self, *roots: Node) -> tuple[NodeFunction, ...]:
        """Returns the operators of pipelines; a node that several others read has one operator."""
        return fold_all(roots, lambda node, of: once_per_instant(self._make(node, of)))

    def _make(self, node: Node, of: Fold[Node, NodeFunction]) -> NodeFunction:
        match node:
            case Hole():
                raise node.refused()
            case SourceNode(name=name):
                read = read_records if self.bad is None else self.bad.read_records
                horizon = MIN_TIME

                def advance(instant: PipelineInstant) -> NodeOutput:
                    nonlocal horizon
                    elements = read(node, instant.records(name), partial(instant.arrival_of, name))
                    horizon = max(horizon, horizon_of(elements))
                    return NodeOutput(elements, {id(node): evolve(instant.clocks[name], horizon=horizon)})

                return advance
            case WindowInto(input=inner):
                return of(inner)
            case ElementWise(input=inner, steps=steps, analyses=analyses):
                upstream = of(inner)
                # The analyses of what reads a split are those of steps that contain its function.
                own = tuple(
                    evolve(analysis, step=step) for step, analysis in zip(steps, analyses, strict=True)
                )
                apply = apply_steps if self.bad is None else self.bad.apply_steps
                return lambda instant: _apply_steps(apply, own, upstream(instant))
            case WithMetadata(input=inner, metadata=metadata):
                upstream = of(inner)
                return lambda instant: _pair(metadata, upstream(instant))
            case CombinePerKey(input=inner):
                upstream = of(inner)
                grouping = Grouping.of(node, self.record)
                self.groupings[id(node)] = grouping
                return lambda instant: grouping.advance(self._select(upstream(instant)))
            case CoGroupByKey(inputs=inputs):
                upstreams = [of(inner) for inner in inputs]
                grouping = Grouping.of(node, self.record)
                self.groupings[id(node)] = grouping
                return lambda instant: grouping.advance(
                    self._select(
                        _flatten(
                            [_tag(i, upstream(instant), node.label) for i, upstream in enumerate(upstreams)]
                        )
                    )
                )
            case Flatten(inputs=inputs):
                upstreams = [of(inner) for inner in inputs]
                return lambda instant: _flatten([upstream(instant) for upstream in upstreams])
            case WithSide(input=inner, side=side):
                upstream, side_operator = of(inner), of(side)
                reader = SideReader.of(node)
                self.sides[id(node)] = reader
                return lambda instant: reader.advance(upstream(instant), side_operator(instant))
            case Process(input=inner):
                upstream = of(inner)
                computing = Computing.of(node, self.bad, self.record)
                self.computations[id(node)] = computing
                return lambda instant: computing.advance(upstream(instant))
        assert_never(node)

    def _select(self, received: NodeOutput) -> NodeOutput:
        """Returns what a grouping receives."""
        if self.selects is None:
            return received
        return NodeOutput(tuple(filter(self.selects, received.elements)), received.upstreams)

    def next_deadline(self) -> ProcessingTime | None:
        """Returns the next processing time at which a trigger becomes ready by itself, or a timer fires."""
        keepers: list[Grouping | Computing] = [*self.groupings.values(), *self.computations.values()]
        deadlines = (keeper.next_deadline() for keeper in keepers)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    @property
    def dropped(self) -> tuple[DroppedElement, ...]:
        """All drops, node by node."""
        keepers: list[Grouping | SideReader | Computing] = [
            *self.groupings.values(),
            *self.sides.values(),
            *self.computations.values(),
        ]
        return tuple(drop for one in keepers for drop in one.drops)

    @property
    def unfired_timers(self) -> int:
        """The number of timers that firings at the end of the input have set."""
        return sum(computing.unfired for computing in self.computations.values())

    @property
    def bad_records(self) -> tuple[BadRecord, ...]:
        """All bad records, sorted."""
        return tuple(sorted(self.bad.records)) if self.bad is not None else ()


def _apply_steps(
    apply: Callable[[Iterable[StepAnalysis], Iterable[Element]], tuple[Element, ...]],
    steps: tuple[StepAnalysis, ...],
    received: NodeOutput,
) -> NodeOutput:
    return NodeOutput(apply(steps, received.elements), received.upstreams)


def _pair(metadata: Metadata, received: NodeOutput) -> NodeOutput:
    return NodeOutput(pair_with_metadata(metadata, received.elements), received.upstreams)


def _tag(source: int, received: NodeOutput, label: str) -> NodeOutput:
    return NodeOutput(tag_elements(source, received.elements, label), received.upstreams)


def _flatten(received: list[NodeOutput]) -> NodeOutput:
    """Returns the union of several outputs."""
    elements = tuple(element for one in received for element in one.elements)
    return NodeOutput(elements, {name: clocks for one in received for name, clocks in one.upstreams.items()})
