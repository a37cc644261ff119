"""The outputs of a pipeline: panes or elements, and several outputs of one run (SEMANTICS section 14)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Final, TypeVar

from flowalg.data.errors import ArgumentError, UnsupportedError, require_name
from flowalg.pipeline.accumulation import resolve_accumulations
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import ElementWise, GroupingNode, Node, Process, SourceNode
from flowalg.pipeline.pair_times import assign_pair_times
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import nodes_after_groupings, rebuild_all

A = TypeVar("A")


def emits_panes(root: Node) -> bool:
    """Returns whether a pipeline's output is panes; otherwise it is elements, since nothing has grouped them.

    Raises ``UnsupportedError`` for a pipeline that flattens both: an element has no window, index or timing.
    """
    last = tuple(nodes_after_groupings(root))
    groupings = [node.label for node in last if isinstance(node, GroupingNode)]
    others = [f"source {node.name}" for node in last if isinstance(node, SourceNode)]
    others += [node.label for node in last if isinstance(node, Process)]
    if groupings and others:
        raise UnsupportedError(
            f"the output mixes panes of {', '.join(groupings)} with elements of {', '.join(others)}, which are not "
            "grouped; make them two outputs of one run, or group the elements"
        )
    return bool(groupings)


ONLY_OUTPUT: Final = "output"
"""The name of the output of a run of one pipeline."""


def require_outputs(
    outputs: PCollection[A] | Mapping[str, PCollection[A]],
) -> dict[str, PCollection[A]]:
    """Returns outputs by name; raises ``ArgumentError`` for anything else, and what ``emits_panes`` raises."""
    if isinstance(outputs, PCollection):
        outputs = {ONLY_OUTPUT: outputs}
    if not isinstance(outputs, Mapping) or not outputs:
        valid = 'a PCollection, or several by their names, such as {"totals": totals, "clean": clean}'
        raise ArgumentError("outputs", outputs, valid)
    mixed: list[UnsupportedError] = []
    for name, collection in outputs.items():
        require_name("a name of outputs", name)
        if not isinstance(collection, PCollection):
            raise ArgumentError(f"the output {name!r}", collection, "a PCollection")
        try:
            emits_panes(collection.node)
        except UnsupportedError as error:
            mixed.append(error)
    if mixed:
        raise UnsupportedError.of(*mixed)
    return dict(outputs)


def output_name(outputs: Mapping[str, PCollection[object]], which: str | PCollection[object]) -> str:
    """Returns the name of an output, given that or its collection; raises ``ArgumentError`` if there is none."""
    for name, collection in outputs.items():
        if name == which if isinstance(which, str) else collection == which:
            return name
    raise ArgumentError("which", which, f"an output of the run: {', '.join(outputs)}, or its collection")


def resolve_outputs(outputs: Mapping[str, PCollection[object]]) -> dict[str, PCollection[object]]:
    """Returns outputs with the accumulation mode of each grouping determined; what they share remains shared.

    The joins in them give each pair its own event time.
    A grouping that one output gives and that a grouping of another output reads has one mode: it retracts if unset.
    """
    roots = assign_pair_times(resolve_accumulations([collection.node for collection in outputs.values()]))
    return {name: PCollection(root) for name, root in zip(outputs, share_steps(roots), strict=True)}


def share_steps(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Returns pipelines in which the first steps that several chains of one collection have in common are one node.

    A chain is fused with the chain that it continues, so a step that two of them were built from is in both.
    Law: ``steps(a + b) = steps(a) then steps(b)``, so no result changes.
    """
    chains: dict[int, list[ElementWise]] = defaultdict(list)
    for node in nodes_of(*roots):
        if isinstance(node, ElementWise):
            chains[id(node.input)].append(node)
    cuts = {
        id(chain): sorted({_common(chain, other) for other in siblings if other is not chain} - {0})
        for siblings in chains.values()
        for chain in siblings
    }
    shared: dict[tuple[int, tuple[int, ...]], ElementWise] = {}

    def cut(node: Node, original: Node) -> Node:
        if (
            not isinstance(original, ElementWise)
            or not isinstance(node, ElementWise)
            or not cuts[id(original)]
        ):
            return node
        after: Node = node.input
        ends = [*cuts[id(original)], len(original.steps)]
        for start, end in pairwise((0, *dict.fromkeys(ends))):
            steps = original.steps[start:end]
            key = (id(after), tuple(map(id, steps)))
            after = shared.setdefault(key, ElementWise(after, steps))
        return after

    return rebuild_all(roots, cut)


def _common(chain: ElementWise, other: ElementWise) -> int:
    """Returns the number of first steps that two chains have in common."""
    pairs = zip(chain.steps, other.steps, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
