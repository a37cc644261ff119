"""Filling the holes of a transform: its outputs with nodes in place of the holes, inside the transform's scope."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from flowalg.pipeline.graph import Fold, fold_all
from flowalg.pipeline.nodes import ElementWise, Hole, Node, SourceNode


def fill(holes: Sequence[Hole], nodes: Sequence[Node], roots: Sequence[Node], name: str) -> tuple[Node, ...]:
    """Returns pipelines with a node in place of each hole; what depends on a hole gets the scope ``name``, if any.

    A node that several of the pipelines read is replaced once, and remains shared.
    """
    values = {id(hole): node for hole, node in zip(holes, nodes, strict=True)}

    def filled(inner: Node, of: Fold[Node, tuple[Node, bool]]) -> tuple[Node, bool]:
        if id(inner) in values:
            return values[id(inner)], True
        inputs = [of(input) for input in inner.inputs]
        if not any(depends for _, depends in inputs):
            return inner, False
        return _in_scope(inner, name).with_inputs([input for input, _ in inputs]), True

    return tuple(node for node, _ in fold_all(roots, filled))


def _in_scope(node: Node, name: str) -> Node:
    match node:
        case _ if not name:
            return node
        case SourceNode() | Hole():
            return node
        case ElementWise(steps=steps):
            return evolve(node, steps=tuple(evolve(step, scope=(name, *step.scope)) for step in steps))
        case _:
            return evolve(node, scope=(name, *node.scope))
