"""Steps that read a mapping: a join finds the values of the keys before them, so that no step needs the mapping."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from flowalg.data.shapes import TupleOf
from flowalg.elementwise.steps import FlatMap, Map
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.tree.expressions import Apply, Expr, Param, Part, first_opaque, rewrite, walk
from flowalg.lifting.tree.primitives import Op


@frozen
class Lookups:
    """The keys that steps look up, and the same steps on ``shape``: the element, and what a join finds of each key.

    The keys are expressions of the element. What is found is a pair: whether the key is there, and its value.
    """

    keys: tuple[Expr, ...]
    shape: TupleOf
    steps: tuple[StepAnalysis, ...]


def lookups_of(steps: Sequence[StepAnalysis], pair: TupleOf) -> Lookups | None:
    """Returns the lookups of steps on pairs of an element and a mapping; ``None`` if only Python can compute them.

    The last step must end the pairs, and the others must keep them.
    """
    ends = [isinstance(analysis.step, Map | FlatMap) for analysis in steps]
    if ends != [False] * (len(ends) - 1) + [True]:
        return None
    nodes = [node for analysis in steps for node in walk(analysis.expression)]
    found = list(dict.fromkeys(node for node in nodes if isinstance(node, Apply) and node.op is Op.LOOKUP))
    shape = TupleOf((pair.items[0], *(each.shape for each in found)))

    def alone(node: Expr) -> Expr:
        return Param(pair.items[0]) if isinstance(node, Part) and node.of == Param(pair) else node

    def joined(node: Expr) -> Expr:
        match node:
            case Param():
                return Param(shape)
            case Apply(op=Op.LOOKUP):
                number = moved.index(node) + 1
                return Part(Param(shape), number, f"[{number}]", node.shape)
            case _:
                return node

    moved = [rewrite(each, lambda node: Param(shape) if isinstance(node, Param) else node) for each in found]
    keys = tuple(rewrite(each.args[1], alone) for each in found)
    after = tuple(
        evolve(
            analysis,
            before=shape,
            expression=rewrite(analysis.expression, joined),
            after=analysis.after if ended else shape,
        )
        for analysis, ended in zip(steps, ends, strict=True)
    )
    nested = any(isinstance(node, Apply) and node.op is Op.LOOKUP for key in keys for node in walk(key))
    opaque = any(map(first_opaque, keys)) or any(analysis.opaque for analysis in after)
    return None if not found or nested or opaque else Lookups(keys, shape, after)


__all__ = ["Lookups", "lookups_of"]
