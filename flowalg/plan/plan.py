"""Plans: what an engine computes for the outputs of a pipeline, decided once, and the pass that decides it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from itertools import chain, count
from typing import assert_never

from attrs import evolve, field, frozen

from flowalg.elementwise.functions import Call
from flowalg.elementwise.steps import Map, Step
from flowalg.lifting.members import Widen
from flowalg.pipeline.admission import admit
from flowalg.pipeline.graph import Fold, count_readers, fold_all, nodes_of
from flowalg.pipeline.joins import JoinKind
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
from flowalg.pipeline.outputs import emits_panes, require_outputs, resolve_outputs
from flowalg.pipeline.pair_times import with_pair_times
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import sources_read_together
from flowalg.plan import nodes as planned
from flowalg.plan.nodes import PlanNode, StageNode


def stages_of(*nodes: PlanNode) -> tuple[StageNode, ...]:
    """Returns the nodes that have state in a stream, of all that lead to some nodes, in order."""
    return tuple(node for node in nodes_of(*nodes) if isinstance(node, StageNode))


@frozen
class Plan:
    """What an engine computes for named outputs.

    ``pipelines`` are the outputs as they run: with resolved accumulation modes in a stream, and with ``dead_letters``
    with steps that remove the elements which a grouping could not take. ``outputs`` are the nodes that give them.
    """

    pipelines: Mapping[str, PCollection[object]]
    outputs: Mapping[str, PlanNode]
    dead_letters: bool

    @property
    def roots(self) -> tuple[Node, ...]:
        """The last nodes of the pipelines as they run."""
        return tuple(pipeline.node for pipeline in self.pipelines.values())

    @cached_property
    def nodes(self) -> tuple[PlanNode, ...]:
        """All nodes, each once, after those that it reads; those of the first output first."""
        return tuple(nodes_of(*self.outputs.values()))

    @cached_property
    def stages(self) -> tuple[StageNode, ...]:
        """The nodes that have state in a stream, in order."""
        return stages_of(*self.outputs.values())

    @cached_property
    def stage_names(self) -> Mapping[StageNode, str]:
        """The name of each stage, by which its drops are known: no other transform has it.

        It is the label of the transform, with a number if an earlier transform has the same: ``combine_per_key(Sum)``,
        then ``combine_per_key(Sum) #2``. A transform that is computed again for each reader has one name.
        """
        names: dict[int, str] = {}
        for stage in self.stages:
            label = stage.transform.label
            numbered = chain([label], (f"{label} #{number}" for number in count(2)))
            taken = set(names.values())
            names.setdefault(id(stage.transform), next(name for name in numbered if name not in taken))
        return {stage: names[id(stage.transform)] for stage in self.stages}

    @cached_property
    def read_by_stages(self) -> frozenset[PlanNode]:
        """The nodes whose elements flow into a stage, at once or through others."""
        return frozenset(nodes_of(*(inner for stage in self.stages for inner in stage.inputs)))

    @cached_property
    def sources(self) -> Mapping[str, planned.Read]:
        """The node that reads each source, by the name of the source."""
        return {node.source.name: node for node in self.nodes if isinstance(node, planned.Read)}

    @cached_property
    def readers(self) -> Mapping[PlanNode, int]:
        """How many read each node: other nodes, and outputs."""
        counts = count_readers(*self.outputs.values())
        return {node: counts[id(node)] for node in self.nodes}

    def upstreams(self, *nodes: PlanNode) -> tuple[planned.Read | StageNode, ...]:
        """Returns the sources and stages whose elements reach some nodes through no other stage, each once."""
        reached = nodes_of(*nodes, inputs=lambda node: () if isinstance(node, StageNode) else node.inputs)
        return tuple(node for node in reached if isinstance(node, planned.Read | StageNode))

    @cached_property
    def read_again(self) -> Counter[PlanNode]:
        """How many outputs read a node whose stages an earlier output has computed."""
        computed: set[PlanNode] = set()
        reads: Counter[PlanNode] = Counter()
        for root in self.outputs.values():
            reached = list(nodes_of(root, inputs=lambda node: () if node in computed else node.inputs))
            reads.update(node for node in reached if node in computed and stages_of(node))
            computed.update(reached)
        return reads

    @cached_property
    def read_together(self) -> Mapping[str, frozenset[str]]:
        """For each source by name, the others that some node reads together with it (SEMANTICS section 9)."""
        return sources_read_together(*self.roots)

    def emits_panes(self, output: str) -> bool:
        """Returns whether an output is panes; otherwise it is elements, since nothing has grouped them."""
        return emits_panes(self.pipelines[output].node)


def plan_batch(
    outputs: Mapping[str, PCollection[object]], *, dead_letters: bool = False, most_paths: int = 1
) -> Plan:
    """Returns what a batch engine computes for named outputs; see ``plan_stream``.

    A batch is one instant, so accumulation modes do not matter, and a join emits its pairs by itself.
    """
    pipelines = require_outputs(outputs)
    return _plan(admit(pipelines) if dead_letters else pipelines, False, dead_letters, most_paths)


def plan_stream(
    outputs: Mapping[str, PCollection[object]], *, dead_letters: bool = False, most_paths: int | None = None
) -> Plan:
    """Returns what a streaming engine computes for named outputs.

    ``most_paths`` is for an engine whose own plan is a tree, which computes a collection again for each reader: the
    most paths from sources to a flatten that is a union. Beyond it, its inputs are one pass if they are branches of one
    collection. With ``dead_letters`` no steps are moved into another node: an element on which a step fails is one bad
    record of this step.

    Raises ``ArgumentError`` for invalid outputs, and ``UnsupportedError`` for the body of a transform, which has no
    input, and for an output that mixes panes with elements.
    """
    resolved = resolve_outputs(require_outputs(outputs))
    return _plan(admit(resolved) if dead_letters else resolved, True, dead_letters, most_paths)


def _plan(
    pipelines: Mapping[str, PCollection[object]], streams: bool, dead_letters: bool, most_paths: int | None
) -> Plan:
    roots = [pipeline.node for pipeline in pipelines.values()]
    nodes = fold_all(roots, _Planner(streams, dead_letters, most_paths, count_readers(*roots)))
    return Plan(pipelines, dict(zip(pipelines, nodes, strict=True)), dead_letters)


def _count_paths(node: Node, paths: Fold[Node, int]) -> int:
    """Returns the number of paths from sources to a node."""
    return sum(map(paths, node.inputs)) or 1


@frozen
class _Planner:
    """Returns the node of a plan for each node of pipelines; ``readers`` counts those of each of them by identity.

    ``joins`` has the pairs of each join, by the identity of its grouping.
    """

    streams: bool
    dead_letters: bool
    most_paths: int | None
    readers: Mapping[int, int]
    paths: Fold[Node, int] = field(factory=lambda: Fold(_count_paths))
    joins: dict[int, PlanNode] = field(factory=dict)

    def __call__(self, node: Node, of: Fold[Node, PlanNode]) -> PlanNode:
        match node:
            case SourceNode():
                return planned.Read((), node)
            case Hole():
                raise node.refused()
            case WindowInto(input=inner):
                return of(inner)
            case ElementWise():
                return self.chain(node, of)
            case WithMetadata(input=inner, metadata=metadata):
                return planned.PairWithMetadata((of(inner),), metadata)
            case CombinePerKey(input=inner):
                return planned.Combine((of(inner),), node)
            case CoGroupByKey(inputs=inputs):
                timed = with_pair_times(node)
                assert isinstance(timed, CoGroupByKey)
                return planned.CoGroup(tuple(map(of, inputs)), timed)
            case Flatten(inputs=inputs):
                branches = _branches_of(node) if self.fans_out(node) else None
                widening = [_widening(inner, node) for inner in inputs]
                if branches:
                    base, chains = branches
                    widened = ((*steps, *after) for steps, after in zip(chains, widening, strict=True))
                    return planned.FanOut((of(base),), tuple(widened))
                united = (
                    planned.Apply((of(inner),), after) if after else of(inner)
                    for inner, after in zip(inputs, widening, strict=True)
                )
                return planned.Union(tuple(united))
            case WithSide(inputs=inputs):
                return planned.ReadSide(tuple(map(of, inputs)), node)
            case Process(input=inner):
                read = of(inner)
                sources = {
                    plan_node.source: plan_node
                    for plan_node in nodes_of(read)
                    if isinstance(plan_node, planned.Read)
                }
                return planned.Compute((read,), node, tuple(sources.values()))
        assert_never(node)

    def fans_out(self, node: Flatten) -> bool:
        """Returns whether branches of one collection are one pass."""
        return not self.dead_letters and self.most_paths is not None and self.paths(node) > self.most_paths

    def chain(self, node: ElementWise, of: Fold[Node, PlanNode]) -> PlanNode:
        """Returns the node of a chain of steps; some inputs are best computed together with the steps after them."""
        match node:
            case ElementWise(input=CoGroupByKey(join=JoinKind() as kind) as join, own_steps=after) if (
                not self.streams
            ):
                if join.apart and not kind.selects:
                    timed = with_pair_times(evolve(node, input=with_pair_times(join)))
                    assert isinstance(timed, ElementWise)
                    return planned.Apply((of(join),), timed.steps)
                # The first step emits the pairs one by one, which a join does by itself.
                lists = planned.ExplodeLists((of(join),), join, kind)
                joined = planned.JoinByKey(tuple(map(of, join.inputs)), join, kind)
                pairs = self.joins.setdefault(id(join), lists if join.windowed_by.merges else joined)
                return planned.Apply((pairs,), after) if after else pairs
            case ElementWise(input=WithSide() as reading, steps=steps) if not self.dead_letters and (
                (self.most_paths is not None and not self.streams) or self.readers[id(reading)] == 1
            ):
                return planned.ReadSide(tuple(map(of, reading.inputs)), reading, steps)
            case ElementWise(input=inner, steps=steps):
                return planned.Apply((of(inner),), steps)


def _branches_of(node: Flatten) -> tuple[Node, tuple[tuple[Step, ...], ...]] | None:
    """Returns the collection that all inputs of a flatten read by element-wise steps alone, and these steps.

    Returns ``None`` if the inputs read several collections.
    """
    bases, chains = zip(*map(_chain_of, node.inputs), strict=True)
    return (bases[0], chains) if len(chains) > 1 and all(base is bases[0] for base in bases) else None


def _widening(inner: Node, union: Flatten) -> tuple[Step, ...]:
    """Returns the step from an input of a union to the sum that its elements are, if they are not of it already."""
    if union.shape is None or inner.shape == union.shape:
        return ()
    return (Map(Call(Widen(union.shape)), "flatten", scope=union.scope),)


def _chain_of(node: Node) -> tuple[Node, tuple[Step, ...]]:
    """Returns the element-wise steps that lead to a node, and the node that they start from.

    Steps right after a side input or a co-grouping stay with it: engines compute them together.
    """
    if isinstance(node, WindowInto):
        return _chain_of(node.input)
    if not isinstance(node, ElementWise) or isinstance(node.input, WithSide | CoGroupByKey):
        return node, ()
    base, steps = _chain_of(node.input)
    return base, (*steps, *node.steps)
