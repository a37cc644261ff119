"""The combiners of a grouping, and what each reads of a value."""

from __future__ import annotations

from typing import TypeAlias

from flowalg.combiners.collections import TopN
from flowalg.combiners.core import Combiner, Count, Over
from flowalg.combiners.result_shapes import ORDERED
from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import BOOLEAN, FLOAT, Shape, TupleOf
from flowalg.elementwise.functions import Call
from flowalg.lifting.analysis import analyse_function
from flowalg.lifting.tree.expressions import Build, Constant, Expr, Param, first_opaque, qualify_locations
from flowalg.pipeline.nodes import GroupingNode

AnyCombiner: TypeAlias = Combiner[object, object, object]


def argument_of(part: AnyCombiner, value: Shape) -> Expr:
    """Returns the argument of a combiner for a value, as an expression; a constant if the combiner ignores values."""
    if ignores_values(part):
        return Constant(True, BOOLEAN)
    if not isinstance(part, Over):
        return Param(value)
    return qualify_locations(
        f"{type(part.combiner).__name__}.of", analyse_function(part.function, Param(value))
    )


def ranks_of(top: TopN[object], value: Shape) -> tuple[Expr, ...] | None:
    """Returns what orders the values of ``TopN``, the most significant first: what ``by`` returns, or its items.

    They are scalars that engines order as Python does. ``None`` if only Python can compute or order them, as where
    the items of a tuple may be NaN.
    """
    if top.by is None:
        return (Param(value),) if value in ORDERED else None
    rank = qualify_locations("TopN.by", analyse_function(Call(top.by), Param(value)))
    if first_opaque(rank) is not None:
        return None
    if isinstance(rank, Build) and isinstance(rank.shape, TupleOf) and rank.parts:
        return (
            rank.parts if all(part.shape in ORDERED and part.shape != FLOAT for part in rank.parts) else None
        )
    return (rank,) if rank.shape in ORDERED else None


def ignores_values(part: AnyCombiner) -> bool:
    """Whether a combiner only counts values."""
    return isinstance(part, Count) or (isinstance(part, Over) and isinstance(part.combiner, Count))


def unknown_result(node: GroupingNode) -> UnsupportedError:
    """Returns the error for a combiner whose result has no known type."""
    return UnsupportedError(
        f"{node.label}: the type of the combiner's result is unknown; pass result=..., or use a def with a return "
        "annotation"
    )


__all__ = [
    "AnyCombiner",
    "argument_of",
    "ignores_values",
    "ranks_of",
    "unknown_result",
]
