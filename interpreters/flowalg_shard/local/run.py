"""The local engine: runs a whole pipeline through the shard step, instant by instant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Generic, TypeAlias, TypeVar, assert_never, cast

from attrs import define, evolve, field, frozen

from flowalg.data.time import ProcessingTime
from flowalg.data.values import canonicalize
from flowalg.elementwise.steps import Step, WithTimestamps, apply_step, assign_timestamp
from flowalg.pipeline.co_group import tagged
from flowalg.pipeline.graph import Fold, fold
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    GroupingNode,
    Hole,
    Node,
    SourceNode,
    WindowInto,
    WithSide,
)
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import last_grouping
from flowalg.runs.inputs import AnySource, inputs_by_name
from flowalg.runs.panes import Pane
from flowalg.runs.timeline import Timeline
from flowalg_shard.clocks.exchange import StageReport
from flowalg_shard.local.elements import Element, NodeOutput, PipelineInstant
from flowalg_shard.local.grouping import Cluster, DropCount, ShardedGrouping
from flowalg_shard.local.inputs import MicroBatches, instants_of
from flowalg_shard.local.side_inputs import ShardedSide

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
Operator: TypeAlias = Callable[[PipelineInstant], NodeOutput]


@frozen
class Run(Generic[A_co]):
    """The result of a run: its panes in order, and its drops."""

    panes: tuple[Pane[A_co], ...]
    dropped: tuple[DropCount, ...]


class Waking(Enum):
    """When the engine evaluates triggers of processing time (SEMANTICS section 4)."""

    WITH_BATCHES = "with batches"
    """A deadline is noticed with the first micro-batch at or after it."""

    AT_DEADLINES = "at deadlines"
    """Also at each processing time that a trigger waits for, as if an empty micro-batch came."""


def run(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, Timeline[object] | MicroBatches],
    *,
    cluster: Cluster | None = None,
    waking: Waking = Waking.WITH_BATCHES,
) -> Run[A]:
    """Run a pipeline over a timeline, or micro-batches, for each of its sources.

    Raises ``UnboundSourceError`` when a source has no input or an input no source, ``UserFunctionError`` when a
    user-defined function raises, and ``UnsupportedError`` for a pipeline that groups nothing.
    """
    given = inputs_by_name(pipeline.node, inputs, "MicroBatches(batches, processing_time, watermark)")
    last_grouping(pipeline.node)
    spread = Cluster() if cluster is None else cluster
    operators = Operators(spread)
    operator = operators.of(pipeline.node)
    panes: list[Pane[object]] = []
    before: PipelineInstant | None = None
    for now in instants_of(given, {source.name: source for source in inputs}, spread.partitions):
        if waking is Waking.AT_DEADLINES and before is not None:
            for empty in _deadlines(before, now.processing_time, operators.groupings):
                panes += map(_pane, operator(empty).elements)
        panes += map(_pane, operator(now).elements)
        before = now
    return Run(cast("tuple[Pane[A], ...]", tuple(panes)), operators.dropped)


@define
class Operators:
    """The operators of the nodes of a pipeline, and the state of those that have one."""

    cluster: Cluster
    groupings: list[ShardedGrouping] = field(factory=list)
    sides: list[ShardedSide] = field(factory=list)
    upstreams: Fold[Node, tuple[int, ...]] = field(factory=lambda: Fold(_find_upstreams))

    def of(self, root: Node) -> Operator:
        """The operator of a pipeline; a node that several others read has one operator."""
        return fold(root, lambda node, of: _memoize_instant(self._make(node, of)))

    def _make(self, node: Node, of: Fold[Node, Operator]) -> Operator:
        match node:
            case Hole():
                raise node.refused()
            case SourceNode(name=name):
                return lambda now: now.sources[name]
            case WindowInto(input=inner):
                return of(inner)
            case ElementWise(input=inner, steps=steps):
                upstream = of(inner)
                return lambda now: _apply_steps(steps, upstream(now))
            case CombinePerKey(input=inner):
                upstream = of(inner)
                grouping = ShardedGrouping.of(node, self.cluster, len(self.upstreams(inner)))
                self.groupings.append(grouping)
                return lambda now: grouping.advance(upstream(now))
            case CoGroupByKey(inputs=inputs):
                upstreams, ids = [of(inner) for inner in inputs], [self.upstreams(inner) for inner in inputs]
                grouping = ShardedGrouping.of(node, self.cluster, len(_union(ids)))
                self.groupings.append(grouping)
                return lambda now: grouping.advance(
                    _flatten([_tag(i, each(now), node.label) for i, each in enumerate(upstreams)], ids)
                )
            case Flatten(inputs=inputs):
                upstreams, ids = [of(inner) for inner in inputs], [self.upstreams(inner) for inner in inputs]
                return lambda now: _flatten([each(now) for each in upstreams], ids)
            case WithSide(input=inner, side=side):
                upstream, side_operator = of(inner), of(side)
                reader = ShardedSide.of(
                    node, self.cluster, len(self.upstreams(inner)), len(self.upstreams(side))
                )
                self.sides.append(reader)
                return lambda now: reader.advance(upstream(now), side_operator(now))
        assert_never(node)

    @property
    def dropped(self) -> tuple[DropCount, ...]:
        """All drops, operator by operator."""
        keepers: list[ShardedGrouping | ShardedSide] = [*self.groupings, *self.sides]
        return tuple(drop for one in keepers for drop in one.drops)


def _memoize_instant(operator: Operator) -> Operator:
    """The operator, memoized for the current instant."""
    last: list[tuple[PipelineInstant, NodeOutput]] = []

    def memoized(now: PipelineInstant) -> NodeOutput:
        if not last or last[0][0] is not now:
            last[:] = [(now, operator(now))]
        return last[0][1]

    return memoized


def _apply_steps(steps: tuple[Step, ...], arrivals: NodeOutput) -> NodeOutput:
    elements: Iterable[Element] = arrivals.elements
    for step in steps:
        elements = [after for element in elements for after in _apply_step(step, element)]
    return NodeOutput(tuple(elements), arrivals.reports)


def _apply_step(step: Step, element: Element) -> Iterator[Element]:
    if isinstance(step, WithTimestamps):
        yield evolve(element, event_time=assign_timestamp(step, element.value))
        return
    where = f"the result of {step.label}"
    for value in apply_step(step, element.value):
        yield evolve(element, value=canonicalize(value, where))


def _flatten(arrivals: list[NodeOutput], upstreams: list[tuple[int, ...]]) -> NodeOutput:
    """The union of several outputs, with one report for each of their upstreams."""
    reports: dict[int, StageReport] = {}
    for each, ids in zip(arrivals, upstreams, strict=True):
        for number, upstream in enumerate(ids):
            reports.setdefault(upstream, each.reports[number])
    elements = tuple(element for each in arrivals for element in each.elements)
    return NodeOutput(elements, dict(enumerate(reports.values())))


def _tag(source: int, arrivals: NodeOutput, label: str) -> NodeOutput:
    """The elements of one collection of a co-group, each with the number of the collection."""
    elements = (evolve(element, value=tagged(element.value, source, label)) for element in arrivals.elements)
    return NodeOutput(tuple(elements), arrivals.reports)


def _find_upstreams(node: Node, known: Fold[Node, tuple[int, ...]]) -> tuple[int, ...]:
    """The sources and stages that a node reads, by identity: two paths from one of them are one upstream."""
    if isinstance(node, SourceNode | GroupingNode | WithSide):
        return (id(node),)
    return _union(map(known, node.inputs))


def _union(upstreams: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(upstream for some in upstreams for upstream in some))


def _deadlines(
    before: PipelineInstant, until: ProcessingTime, groupings: list[ShardedGrouping]
) -> Iterator[PipelineInstant]:
    """An empty instant at every deadline before a processing time, in order, as each is reached."""
    time = before.processing_time
    while True:
        pending = [one for one in (each.next_deadline() for each in groupings) if one is not None]
        if not pending or min(pending) >= until:
            return
        time = min(pending)
        quiet = {
            name: NodeOutput.of_source(
                (), evolve(one.reports[0].clocks, processing_time=time, signals=frozenset())
            )
            for name, one in before.sources.items()
        }
        yield PipelineInstant(time, quiet)


def _pane(element: Element) -> Pane[object]:
    assert element.info is not None
    return Pane(element.value, element.window, element.event_time, element.info)


__all__ = ["Cluster", "DropCount", "Run", "Waking", "run"]
