"""Running a whole pipeline through the shard step: one instant after another, through all its operators."""

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
from flowalg_shard.local.elements import Arrivals, Element, Now
from flowalg_shard.local.grouping import Cluster, Dropped, ShardedGrouping
from flowalg_shard.local.inputs import Recording, instants_of
from flowalg_shard.local.side_inputs import ShardedSide

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
Operator: TypeAlias = Callable[[Now], Arrivals]


@frozen
class Run(Generic[A_co]):
    """All that a pipeline did: its panes in order, and what it dropped."""

    panes: tuple[Pane[A_co], ...]
    dropped: tuple[Dropped, ...]


class Waking(Enum):
    """When the engine looks at its clocks (SEMANTICS section 4)."""

    WITH_BATCHES = "with batches"
    """A deadline is noticed with the first micro-batch at or after it."""

    AT_DEADLINES = "at deadlines"
    """Also at each processing time that a trigger waits for, as if an empty micro-batch came."""


def run(
    pipeline: PCollection[A],
    inputs: Mapping[AnySource, Timeline[object] | Recording],
    *,
    cluster: Cluster | None = None,
    waking: Waking = Waking.WITH_BATCHES,
) -> Run[A]:
    """The panes and drops of a pipeline over what its sources did.

    Raises ``UnboundSourceError`` when a source has no input or an input no source, ``UserFunctionError`` when a
    function of the user's raises, and ``UnsupportedError`` for a pipeline that groups nothing.
    """
    given = inputs_by_name(pipeline.node, inputs, "Recording(batches, processing_time, watermark)")
    last_grouping(pipeline.node)
    spread = Cluster() if cluster is None else cluster
    operators = Operators(spread)
    operator = operators.of(pipeline.node)
    panes: list[Pane[object]] = []
    before: Now | None = None
    for now in instants_of(given, {source.name: source for source in inputs}, spread.partitions):
        if waking is Waking.AT_DEADLINES and before is not None:
            for empty in _deadlines(before, now.processing_time, operators.groupings):
                panes += map(_pane, operator(empty).elements)
        panes += map(_pane, operator(now).elements)
        before = now
    return Run(cast("tuple[Pane[A], ...]", tuple(panes)), operators.dropped)


@define
class Operators:
    """The operators of a pipeline's nodes, and the state of those that have one."""

    cluster: Cluster
    groupings: list[ShardedGrouping] = field(factory=list)
    sides: list[ShardedSide] = field(factory=list)
    origins: Fold[Node, tuple[int, ...]] = field(factory=lambda: Fold(_origins))

    def of(self, root: Node) -> Operator:
        """The operator of a pipeline; nodes that several others read have one operator."""
        return fold(root, lambda node, of: _once_per_instant(self._make(node, of)))

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
                grouping = ShardedGrouping.of(node, self.cluster, len(self.origins(inner)))
                self.groupings.append(grouping)
                return lambda now: grouping.instant(upstream(now))
            case CoGroupByKey(inputs=inputs):
                upstreams, ids = [of(inner) for inner in inputs], [self.origins(inner) for inner in inputs]
                grouping = ShardedGrouping.of(node, self.cluster, len(_union(ids)))
                self.groupings.append(grouping)
                return lambda now: grouping.instant(
                    _flattened([_tagged(i, each(now), node.label) for i, each in enumerate(upstreams)], ids)
                )
            case Flatten(inputs=inputs):
                upstreams, ids = [of(inner) for inner in inputs], [self.origins(inner) for inner in inputs]
                return lambda now: _flattened([each(now) for each in upstreams], ids)
            case WithSide(input=inner, side=side):
                upstream, beside = of(inner), of(side)
                reader = ShardedSide.of(node, self.cluster, len(self.origins(inner)), len(self.origins(side)))
                self.sides.append(reader)
                return lambda now: reader.instant(upstream(now), beside(now))
        assert_never(node)

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """All that was dropped, operator by operator."""
        keepers: list[ShardedGrouping | ShardedSide] = [*self.groupings, *self.sides]
        return tuple(drop for one in keepers for drop in one.drops)


def _once_per_instant(operator: Operator) -> Operator:
    """The operator, which remembers what it gave in the instant that it was last asked about."""
    last: list[tuple[Now, Arrivals]] = []

    def remembering(now: Now) -> Arrivals:
        if not last or last[0][0] is not now:
            last[:] = [(now, operator(now))]
        return last[0][1]

    return remembering


def _through(steps: tuple[Step, ...], arrivals: Arrivals) -> Arrivals:
    elements: Iterable[Element] = arrivals.elements
    for step in steps:
        elements = [after for element in elements for after in _stepped(step, element)]
    return Arrivals(tuple(elements), arrivals.reports)


def _stepped(step: Step, element: Element) -> Iterator[Element]:
    if isinstance(step, WithTimestamps):
        yield evolve(element, event_time=assign_timestamp(step, element.value))
        return
    where = f"the result of {step.label}"
    for value in apply_step(step, element.value):
        yield evolve(element, value=canonicalize(value, where))


def _flattened(arrivals: list[Arrivals], origins: list[tuple[int, ...]]) -> Arrivals:
    """The union of the outputs of several operators, with one report for each of their origins."""
    reports: dict[int, StageReport] = {}
    for each, ids in zip(arrivals, origins, strict=True):
        for number, origin in enumerate(ids):
            reports.setdefault(origin, each.reports[number])
    elements = tuple(element for each in arrivals for element in each.elements)
    return Arrivals(elements, dict(enumerate(reports.values())))


def _tagged(source: int, arrivals: Arrivals, label: str) -> Arrivals:
    """The elements of one collection of a co-group, each with the number of the collection."""
    elements = (evolve(element, value=tagged(element.value, source, label)) for element in arrivals.elements)
    return Arrivals(tuple(elements), arrivals.reports)


def _origins(node: Node, known: Fold[Node, tuple[int, ...]]) -> tuple[int, ...]:
    """The sources and stages that a node's elements come from, by identity: two ways from one are one origin."""
    if isinstance(node, SourceNode | GroupingNode | WithSide):
        return (id(node),)
    return _union(map(known, node.inputs))


def _union(origins: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(origin for some in origins for origin in some))


def _deadlines(before: Now, until: ProcessingTime, groupings: list[ShardedGrouping]) -> Iterator[Now]:
    """An empty instant at every deadline before a processing time, in order, as each is reached."""
    time = before.processing_time
    while True:
        pending = [one for one in (each.next_deadline() for each in groupings) if one is not None]
        if not pending or min(pending) >= until:
            return
        time = min(pending)
        quiet = {
            name: Arrivals.of_source(
                (), evolve(one.reports[0].clocks, processing_time=time, signals=frozenset())
            )
            for name, one in before.arrivals.items()
        }
        yield Now(time, quiet)


def _pane(element: Element) -> Pane[object]:
    assert element.info is not None
    return Pane(element.value, element.window, element.event_time, element.info)


__all__ = ["Cluster", "Dropped", "Run", "Waking", "run"]
