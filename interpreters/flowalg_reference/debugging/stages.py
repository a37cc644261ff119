"""The last groupings and the last computations of a pipeline, each before or after any stage of the other kind."""

from __future__ import annotations

from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import CoGroupByKey, CombinePerKey, GroupingNode, Node, Process
from flowalg.pipeline.structure import element_inputs


def last_groupings(root: Node) -> tuple[GroupingNode, ...]:
    """Returns the groupings that no other grouping follows; several, where the outputs of several are flattened."""
    nodes = nodes_of(root, inputs=lambda node: () if isinstance(node, GroupingNode) else element_inputs(node))
    return tuple(node for node in nodes if isinstance(node, CombinePerKey | CoGroupByKey))


def last_computations(root: Node) -> tuple[Process, ...]:
    """Returns the computations that no other computation follows."""
    nodes = nodes_of(root, inputs=lambda node: () if isinstance(node, Process) else element_inputs(node))
    return tuple(node for node in nodes if isinstance(node, Process))
