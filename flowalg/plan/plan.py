"""Plans: the nodes that an engine computes for the outputs of a pipeline, and who reads each of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from attrs import frozen

from flowalg.pipeline.graph import count_readers, nodes_of
from flowalg.pipeline.nodes import Node
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import sources_read_together
from flowalg.plan.nodes import PlanNode, Read, StageNode


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
    def read_by_stages(self) -> frozenset[PlanNode]:
        """The nodes whose elements flow into a stage, at once or through others."""
        return frozenset(nodes_of(*(inner for stage in self.stages for inner in stage.inputs)))

    @cached_property
    def sources(self) -> Mapping[str, Read]:
        """The node that reads each source, by the name of the source."""
        return {node.source.name: node for node in self.nodes if isinstance(node, Read)}

    @cached_property
    def readers(self) -> Mapping[PlanNode, int]:
        """How many read each node: other nodes, and outputs."""
        counts = count_readers(*self.outputs.values())
        return {node: counts[id(node)] for node in self.nodes}

    @cached_property
    def read_together(self) -> Mapping[str, frozenset[str]]:
        """For each source by name, the others that some node reads together with it (SEMANTICS section 9)."""
        return sources_read_together(*self.roots)

    def emits_panes(self, output: str) -> bool:
        """Returns whether an output is panes; otherwise it is elements, since nothing has grouped them."""
        return emits_panes(self.pipelines[output].node)
