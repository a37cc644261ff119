"""The local engine: runs a whole pipeline through the shard step, instant by instant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar, assert_never, cast

from attrs import define, field, frozen

from flowalg.analysis.capabilities import Capabilities, Mode, require_mode
from flowalg.data.errors import ArgumentError
from flowalg.data.time import ProcessingTime
from flowalg.elementwise.steps import Step
from flowalg.pipeline.accumulation import resolve_accumulation
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
from flowalg.runs.elements import apply_steps, pane_of, read_records, tag_elements
from flowalg.runs.inputs import AnySource, timelines_by_name
from flowalg.runs.instants import PipelineInstant, empty_instants, once_per_instant, pipeline_instants
from flowalg.runs.panes import Drop, Pane
from flowalg.runs.run import Run
from flowalg.runs.timeline import Timeline
from flowalg_shard.clocks.exchange import StageReport
from flowalg_shard.local.elements import NodeOutput
from flowalg_shard.local.grouping import Cluster, ShardedGrouping
from flowalg_shard.local.side_inputs import ShardedSide
from flowalg_shard.local.watermarks import generate_watermarks

A = TypeVar("A")
Operator: TypeAlias = Callable[[PipelineInstant], NodeOutput]


@frozen
class Local:
    """The shard step in one process, as an interpreter: whole pipelines, with shards and clocks as in a cluster.

    ``cluster`` is how a run is distributed, and ``mode`` is when processing-time triggers are evaluated. With
    ``generate_watermarks``, the timeline's policy generates the watermarks again, in band, instead of reading them from
    its instants. Neither ``cluster`` nor ``generate_watermarks`` changes the result.
    """

    cluster: Cluster = field(factory=Cluster)
    mode: Mode = field(default=Mode.MICRO_BATCH, kw_only=True)
    generate_watermarks: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.cluster, Cluster):
            raise ArgumentError("Local.cluster", self.cluster, "a Cluster, such as Cluster(shards=2)")
        require_mode("Local.mode", self.mode)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities: no feature is missing."""
        return Capabilities("the shard step in one process", mode=self.mode)

    def run(self, pipeline: PCollection[A], inputs: Mapping[AnySource, Timeline[object]]) -> Run[A]:
        """Returns the panes and drops of a pipeline over one timeline for each of its sources.

        Raises ``UnboundSourceError`` if a source has no timeline or a timeline no source, ``ArgumentError`` for a
        timeline whose watermarks cannot be generated, ``UserFunctionError`` if a user-defined function raises, and
        ``UnsupportedError`` for a pipeline without a grouping.
        """
        timelines = timelines_by_name(pipeline.node, inputs)
        root = resolve_accumulation(pipeline.node)
        last_grouping(root)
        if self.generate_watermarks:
            parts = self.cluster.partitions
            timelines = {
                name: generate_watermarks(name, timeline, parts) for name, timeline in timelines.items()
            }
        operators = Operators(self.cluster)
        operator = operators.of(root)
        panes: list[Pane[object]] = []
        before: PipelineInstant | None = None
        for now in pipeline_instants(timelines):
            if self.mode is Mode.CONTINUOUS and before is not None:
                for empty in empty_instants(before, now.processing_time, operators.next_deadline):
                    panes += map(pane_of, operator(empty).elements)
            panes += map(pane_of, operator(now).elements)
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
        """Returns the operator of a pipeline; a node with several readers has one operator."""
        return fold(root, lambda node, of: once_per_instant(self._make(node, of)))

    def _make(self, node: Node, of: Fold[Node, Operator]) -> Operator:
        match node:
            case Hole():
                raise node.refused()
            case SourceNode(name=name):
                return lambda now: NodeOutput.of_source(
                    read_records(node, now.records(name)), now.clocks[name]
                )
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

    def next_deadline(self) -> ProcessingTime | None:
        """Returns the next processing time at which a trigger of any grouping becomes ready without new elements."""
        deadlines = (grouping.next_deadline() for grouping in self.groupings)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    @property
    def dropped(self) -> tuple[Drop, ...]:
        """All drops, operator by operator."""
        operators: list[ShardedGrouping | ShardedSide] = [*self.groupings, *self.sides]
        return tuple(drop for operator in operators for drop in operator.drops)


def _apply_steps(steps: tuple[Step, ...], received: NodeOutput) -> NodeOutput:
    return NodeOutput(apply_steps(steps, received.elements), received.reports)


def _flatten(arrivals: list[NodeOutput], upstreams: list[tuple[int, ...]]) -> NodeOutput:
    """Returns the union of outputs, with one report for each of their upstreams."""
    reports: dict[int, StageReport] = {}
    for each, ids in zip(arrivals, upstreams, strict=True):
        for number, upstream in enumerate(ids):
            reports.setdefault(upstream, each.reports[number])
    elements = tuple(element for each in arrivals for element in each.elements)
    return NodeOutput(elements, dict(enumerate(reports.values())))


def _tag(collection: int, received: NodeOutput, label: str) -> NodeOutput:
    return NodeOutput(tag_elements(collection, received.elements, label), received.reports)


def _find_upstreams(node: Node, known: Fold[Node, tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the sources and stages that a node reads, by identity: two paths from one of them are one upstream."""
    if isinstance(node, SourceNode | GroupingNode | WithSide):
        return (id(node),)
    return _union(map(known, node.inputs))


def _union(upstreams: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(upstream for some in upstreams for upstream in some))


__all__ = ["Local"]
