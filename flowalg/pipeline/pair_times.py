"""The event times of the pairs of joins (SEMANTICS section 14), as steps that interpreters run."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from flowalg.pipeline.joins import JoinKind, step_apart, timing_steps
from flowalg.pipeline.nodes import CoGroupByKey, ElementWise, Node
from flowalg.pipeline.structure import rebuild_all


def assign_pair_times(roots: Sequence[Node]) -> tuple[Node, ...]:
    """Returns pipelines whose joins give each pair an event time of its own, where it has one."""
    return rebuild_all(roots, lambda node, original: with_pair_times(node))


def with_pair_times(node: Node) -> Node:
    """Returns a join with the event times of its pairs, and the steps after one, which assign them (SEMANTICS 14).

    Pairs that have the event time of their pane need neither. The inputs of the node have been replaced already.
    """
    match node:
        case CoGroupByKey(timed=False) if node.pair_times is not None:
            return evolve(node, timed=True)
        case ElementWise(
            input=CoGroupByKey(join=JoinKind() as kind, timed=True) as join, steps=(flat_map, *after)
        ):
            timing = timing_steps(kind, flat_map.scope)
            if tuple(after[: len(timing)]) == timing:
                return node
            if join.apart:
                flat_map = evolve(flat_map, function=step_apart(kind, join.pair_times))
            return ElementWise.after(join, flat_map, *timing, *after)
        case _:
            return node
