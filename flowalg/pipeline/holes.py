"""Filling the hole of a transform: its body with a node in place of the hole, inside the transform's scope."""

from __future__ import annotations

from attrs import evolve

from flowalg.pipeline.graph import Fold, fold
from flowalg.pipeline.nodes import ElementWise, Hole, Node, SourceNode


def fill(hole: Hole, body: Node, node: Node, name: str) -> Node:
    """Returns a body with a node in place of its hole; what depends on the hole gets the scope ``name``, if any."""

    def filled(inner: Node, of: Fold[Node, tuple[Node, bool]]) -> tuple[Node, bool]:
        if inner is hole:
            return node, True
        inputs = [of(input) for input in inner.inputs]
        if not any(depends for _, depends in inputs):
            return inner, False
        return _in_scope(inner, name).with_inputs([input for input, _ in inputs]), True

    return fold(body, filled)[0]


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
