"""The accumulation mode of groupings for which it is unset (SEMANTICS section 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import GroupingNode, Node, Process, WithSide
from flowalg.pipeline.structure import last_groupings, rebuild_all
from flowalg.windows.strategy import Accumulation, emits_one_pane


def resolve_accumulation(root: Node) -> Node:
    """Returns the pipeline with the accumulation mode of each grouping determined.

    An unset mode is RETRACTING if a window can emit more than one pane, and another grouping, a computation or a side
    input reads them (Dataflow Model, section 2.3: the panes that serial groupings need), or the elements of the
    grouping can be retracted, so that a window can become empty. Otherwise it is ACCUMULATING.
    """
    (resolved,) = resolve_accumulations([root])
    return resolved


def resolve_accumulations(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Returns several outputs of one run as ``resolve_accumulation`` does; what they share remains shared."""
    read = {id(grouping) for grouping in groupings_read(*roots)}

    def resolved(node: Node, original: Node) -> Node:
        if not isinstance(node, GroupingNode) or not (id(original) in read or node.retracts):
            return node
        strategy = node.windowed_by.strategy
        if strategy.accumulation is not None or emits_one_pane(strategy):
            return node
        return evolve(node, resolved=Accumulation.RETRACTING)

    return rebuild_all(roots, resolved)


def groupings_read(*roots: Node) -> Iterator[GroupingNode]:
    """Yields the groupings whose panes another grouping, a computation or a side input reads, each once."""
    inputs = [
        inner
        for node in nodes_of(*roots)
        if isinstance(node, GroupingNode | Process | WithSide)
        for inner in ((node.side,) if isinstance(node, WithSide) else node.inputs)
    ]
    return iter(last_groupings(*inputs))
