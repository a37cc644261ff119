"""The structure of a pipeline: its sources, the groupings that emit its panes, and copies with some nodes replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flowalg.data.errors import UnsupportedError
from flowalg.elementwise.steps import Step, WithTimestamps
from flowalg.pipeline.graph import Fold, fold_all, nodes_of
from flowalg.pipeline.nodes import (
    ElementWise,
    GroupingNode,
    Node,
    Process,
    SourceNode,
    WithSide,
)
from flowalg.pipeline.side_inputs import Lateness


def sources_of(*roots: Node) -> tuple[SourceNode, ...]:
    """Returns the sources of some pipelines, each once."""
    return tuple(dict.fromkeys(node for node in nodes_of(*roots) if isinstance(node, SourceNode)))


def has_stages(*roots: Node) -> bool:
    """Returns whether any pipeline has a grouping, a side input or a computation, and so state in a stream."""
    return any(isinstance(node, GroupingNode | Process | WithSide) for node in nodes_of(*roots))


def sources_read_together(*roots: Node) -> dict[str, frozenset[str]]:
    """Returns, for each source by name, the others that some node reads together with it (SEMANTICS section 9)."""
    together: dict[str, frozenset[str]] = {}
    for root in roots:  # the last node of a pipeline reads all that any node of it reads
        names = frozenset(source.name for source in sources_of(root))
        for name in names:
            together[name] = together.get(name, frozenset()) | (names - {name})
    return together


def element_inputs(node: Node) -> tuple[Node, ...]:
    """Returns the nodes whose elements a node passes on: its inputs, except for a side input."""
    return (node.input,) if isinstance(node, WithSide) else node.inputs


def nodes_after_groupings(*roots: Node) -> Iterator[Node]:
    """Yields the nodes that the elements of pipelines passed last: from their last groupings and computations on."""
    return nodes_of(
        *roots, inputs=lambda node: () if isinstance(node, GroupingNode | Process) else element_inputs(node)
    )


def steps_after_groupings(root: Node) -> Iterator[Step]:
    """Yields the element-wise steps after the last groupings and computations of a pipeline."""
    for node in nodes_after_groupings(root):
        if isinstance(node, ElementWise):
            yield from node.steps


def last_groupings(*roots: Node) -> tuple[GroupingNode, ...]:
    """Returns the groupings that emit the panes of pipelines: several, where the outputs of several are flattened."""
    return tuple(node for node in nodes_after_groupings(*roots) if isinstance(node, GroupingNode))


def groupings_that_assign_times(*roots: Node) -> tuple[GroupingNode, ...]:
    """Returns the last groupings of pipelines whose panes have kept the event times that the groupings gave them."""
    nodes = nodes_of(
        *roots,
        inputs=lambda node: (
            ()
            if isinstance(node, GroupingNode | Process) or _assigns_timestamps(node)
            else element_inputs(node)
        ),
    )
    return tuple(node for node in nodes if isinstance(node, GroupingNode))


def last_grouping(root: Node) -> GroupingNode:
    """Returns the grouping that emits a pipeline's panes; raises ``UnsupportedError`` if the pipeline has none."""
    groupings = last_groupings(root)
    if not groupings:
        raise UnsupportedError(
            "the pipeline groups nothing, so it has no panes; end it with combine_per_key(...)"
        )
    return groupings[0]


def lateness_of_readers(node: WithSide) -> Lateness | None:
    """Returns how late the elements that read a side input can be; ``None`` if they can be of any age.

    Elements of a grouping keep their windows, whose ends bound their event times unless a step assigns others.
    """
    effective = node.input.windowing
    if not effective.fresh and any(map(_assigns_timestamps, nodes_after_groupings(node.input))):
        return None
    return Lateness.of(effective.strategy)


def _assigns_timestamps(node: Node) -> bool:
    return isinstance(node, ElementWise) and any(isinstance(step, WithTimestamps) for step in node.steps)


def rebuild_all(roots: Sequence[Node], replace: Callable[[Node, Node], Node]) -> tuple[Node, ...]:
    """Returns pipelines with some nodes replaced, inputs first; a part in which none is replaced stays as it is.

    ``replace`` is called with each node after its inputs have been rebuilt, and with the original node. A node that
    pipelines share is replaced once, and remains shared.
    """

    def rebuilt(node: Node, of: Fold[Node, Node]) -> Node:
        inputs = tuple(map(of, node.inputs))
        unchanged = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        return replace(node if unchanged else node.with_inputs(inputs), node)

    return fold_all(roots, rebuilt)
