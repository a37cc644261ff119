"""The accumulation mode of groupings for which it is unset (SEMANTICS section 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from flowalg.elementwise.steps import Filter, FlatMap
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.joins import keeps_pairs
from flowalg.pipeline.nodes import GroupingNode, Node, Process, WithSide
from flowalg.pipeline.structure import last_groupings, rebuild_all, steps_after_groupings
from flowalg.windows.strategy import Accumulation, emits_one_pane
from flowalg.windows.window_functions import as_merging


def resolve_accumulation(root: Node) -> Node:
    """Returns the pipeline with the accumulation mode of each grouping determined.

    An unset mode is RETRACTING if a window can emit more than one pane, and another grouping, a computation or a side
    input reads them (Dataflow Model, section 2.3: the panes that serial groupings need), or only a retraction can tell
    that a pane is outdated (see ``groupings_outdated``). Otherwise it is ACCUMULATING.
    """
    (resolved,) = resolve_accumulations([root])
    return resolved


def resolve_accumulations(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Returns several outputs of one run as ``resolve_accumulation`` does; what they share remains shared."""
    retracted = {id(grouping) for grouping in (*groupings_read(*roots), *groupings_outdated(*roots))}

    def resolved(node: Node, original: Node) -> Node:
        if not isinstance(node, GroupingNode) or not (id(original) in retracted or node.retracts):
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


def groupings_outdated(*roots: Node) -> Iterator[GroupingNode]:
    """Yields the last groupings of outputs, each by itself, whose later panes need not replace the earlier ones.

    Their windows merge, so that a window can be gone, or a step after them can drop the later pane. One whose panes are
    observed is left out, since these cannot be retracted.
    """
    for root in roots:
        if root.shows_panes:
            continue
        dropped = drops_panes(root)
        for last in last_groupings(root):
            if dropped or as_merging(last.windowed_by.strategy.windows) is not None:
                yield last


def drops_panes(root: Node) -> bool:
    """Returns whether a step after the last groupings can emit fewer elements of a later pane than of an earlier one.

    That of a join emits all pairs of each pane, of which an anti join and a difference may have none.
    """
    return any(
        isinstance(step, Filter) or (isinstance(step, FlatMap) and not keeps_pairs(step))
        for step in steps_after_groupings(root)
    )
