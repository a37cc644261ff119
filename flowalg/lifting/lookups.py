"""Steps that read a mapping: a join finds the values of the keys before them, so that no step needs the mapping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from attrs import evolve, frozen

from flowalg.data.shapes import MapOf, Shape, TupleOf, inner_shapes
from flowalg.elementwise.steps import FlatMap, Map
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.tree.expressions import Apply, Expr, Param, items_of, rewrite, walk
from flowalg.lifting.tree.primitives import Op


def steps_on_mapping(
    steps: Sequence[StepAnalysis], shape: Shape
) -> tuple[tuple[StepAnalysis, ...], Shape, tuple[StepAnalysis, ...]]:
    """Returns the steps up to the first one whose result contains no mapping, the shape after them, and the others.

    There are none if all results contain a mapping; then ``shape`` is that of the elements before the steps.
    """
    for count, analysis in enumerate(steps, start=1):
        if analysis.after is not None and not _contains_mapping(analysis.after):
            return tuple(steps[:count]), analysis.after, tuple(steps[count:])
    return (), shape, tuple(steps)


def _contains_mapping(shape: Shape) -> bool:
    return isinstance(shape, MapOf) or any(map(_contains_mapping, inner_shapes(shape)))


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

    The first step whose result contains no mapping must end the pairs, and the steps before it must keep them.
    """
    reading, _, others = steps_on_mapping(steps, pair)
    ends = [isinstance(analysis.step, Map | FlatMap) for analysis in reading]
    if ends != [False] * (len(ends) - 1) + [True]:
        return None
    nodes = [node for analysis in reading for node in walk(analysis.expression)]
    lookups = list(dict.fromkeys(node for node in nodes if _is_lookup(node)))
    shape = TupleOf((pair.items[0], *(lookup.shape for lookup in lookups)))
    element, *results = items_of(Param(shape))

    def joined(expr: Expr) -> Expr:
        """Returns an expression of pairs with what the join finds in place of each lookup."""
        without = rewrite(expr, lambda node: results[lookups.index(node)] if node in lookups else node)
        return rewrite(without, lambda node: Param(shape) if node == Param(pair) else node)

    def of_element(expr: Expr) -> Expr:
        """Returns an expression of pairs that reads only the element as an expression of it."""
        return rewrite(joined(expr), lambda node: Param(element.shape) if node == element else node)

    keys = tuple(of_element(lookup.args[1]) for lookup in lookups)
    after = tuple(
        evolve(
            analysis,
            before=shape,
            expression=joined(analysis.expression),
            after=analysis.after if ended else shape,
        )
        for analysis, ended in zip(reading, ends, strict=True)
    )
    nested = any(_is_lookup(node) for lookup in lookups for node in walk(lookup.args[1]))
    opaque = any(analysis.opaque for analysis in after)
    if not lookups or nested or opaque:
        return None
    return Lookups(keys, shape, (*after, *others))


def _is_lookup(node: Expr) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op is Op.LOOKUP
