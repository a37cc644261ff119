"""The combiners of a grouping, and what each reads of a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from attrs import frozen

from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import (
    AnyCombiner,
    Count,
    Max,
    Mean,
    Min,
    Over,
    Sum,
    component_combiners,
)
from flowalg.combiners.quantiles import Quantile, Quantiles
from flowalg.combiners.result_shapes import ORDERED
from flowalg.data.closed import is_of_library
from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import BOOLEAN, DECIMAL, FLOAT, INTEGER, Shape, TupleOf, is_hashable
from flowalg.elementwise.functions import Call
from flowalg.lifting.analysis import analyse_function
from flowalg.lifting.normal_form import normal_form
from flowalg.lifting.tree.expressions import Build, Constant, Expr, Param, first_opaque, qualify_locations
from flowalg.pipeline.nodes import CombinePerKey, GroupingNode
from flowalg.windows.strategy import TimestampCombiner, WindowingStrategy
from flowalg_columns.notes import why_unknown

E = TypeVar("E")

ArgumentOf: TypeAlias = Callable[[AnyCombiner, Shape], Expr]
"""A function that returns what columns read of a value for a combiner, as an expression."""


@frozen
class NativeAggregate(Generic[E]):
    """An aggregate of an engine in three steps: aggregate rows to partial results, merge these, and finish.

    ``merge`` aggregates the columns of partial results. It is ``None`` if partial results are not smaller than the
    rows, as for a list. ``finish`` is applied after the grouping.
    """

    partials: tuple[E, ...]
    merge: Callable[[tuple[E, ...]], tuple[E, ...]] | None
    finish: Callable[[tuple[E, ...]], E]

    @property
    def result(self) -> E:
        """The aggregate over the rows of a group, without partial results."""
        return self.finish(self.partials)


def may_be_native(combiner: AnyCombiner) -> bool:
    """Returns whether engines have an aggregate for a combiner, for values of some shapes at least."""
    inner = combiner.combiner if isinstance(combiner, Over) else combiner
    return isinstance(
        inner,
        Count | Sum | Mean | Min | Max | AnyOf | AllOf | Quantile | Quantiles | TopN | ToList | ToSet,
    )


def first_part(parts: tuple[E, ...]) -> E:
    """Returns the only partial result."""
    return parts[0]


def argument_of(part: AnyCombiner, value: Shape) -> Expr:
    """Returns the argument of a combiner for a value, as an expression; a constant if the combiner ignores values."""
    if ignores_values(part):
        return Constant(True, BOOLEAN)
    if not isinstance(part, Over):
        return Param(value)
    argument = normal_form(analyse_function(part.function, Param(value)))
    return qualify_locations(f"{type(part.combiner).__name__}.of", argument)


def ranks_of(top: TopN[object], value: Expr) -> tuple[Expr, ...] | None:
    """Returns what orders a value of ``TopN``, the most significant first: what ``by`` returns, or its items.

    They are scalars that engines order as Python does. ``None`` if only Python can compute or order them, as where
    the items of a tuple may be NaN.
    """
    if top.by is None:
        return (value,) if value.shape in ORDERED and first_opaque(value) is None else None
    rank = qualify_locations("TopN.by", analyse_function(Call(top.by), value))
    if first_opaque(rank) is not None:
        return None
    if isinstance(rank, Build) and isinstance(rank.shape, TupleOf) and rank.parts:
        return (
            rank.parts if all(part.shape in ORDERED and part.shape != FLOAT for part in rank.parts) else None
        )
    return (rank,) if rank.shape in ORDERED else None


def accumulated_argument_of(part: AnyCombiner, value: Shape) -> Expr:
    """Returns what an accumulator in columns reads of a value: the argument of its combiner.

    For ``TopN`` it is a pair of the argument and what orders it.
    """
    argument = argument_of(part, value)
    inner = part.combiner if isinstance(part, Over) else part
    ranks = ranks_of(inner, argument) if isinstance(inner, TopN) else None
    if ranks is None or argument.shape is None:
        return argument
    rank = ranks[0] if len(ranks) == 1 else Build(_tuple_of(ranks), ranks)
    return Build(_tuple_of((argument, rank)), (argument, rank))


def _tuple_of(parts: tuple[Expr, ...]) -> TupleOf:
    return TupleOf(tuple(part.shape for part in parts if part.shape is not None))


def runs_in_columns(combiner: AnyCombiner, value: Shape) -> bool:
    """Returns whether the accumulators of a combiner can be columns, for values of a shape."""
    return all(_accumulates_in_columns(part, value) for part in component_combiners(combiner))


def subtracts_in_columns(combiner: AnyCombiner, value: Shape, strategy: WindowingStrategy) -> bool:
    """Returns whether a retraction can be subtracted from accumulators in columns, for values of a shape.

    A value can be subtracted without residue from counts and from an exact sum. Panes that carry event times of
    elements need to know of all of them.
    """
    exact = all(
        _counts_values(part) or argument_of(part, value).shape == INTEGER
        for part in component_combiners(combiner)
    )
    return exact and strategy.timestamp_combiner is TimestampCombiner.END_OF_WINDOW


def _accumulates_in_columns(part: AnyCombiner, value: Shape) -> bool:
    match part.combiner if isinstance(part, Over) else part:
        case Sum() | Mean():
            # Sums of decimals may need more digits than a column has.
            return argument_of(part, value).shape != DECIMAL
        case Count() | Min() | Max():
            return True
        case AnyOf() | AllOf():
            return argument_of(part, value).shape == BOOLEAN
        case Quantile() | Quantiles():
            return argument_of(part, value).shape in (INTEGER, FLOAT)
        case TopN() as top:
            argument = argument_of(part, value)
            return argument.shape is not None and ranks_of(top, argument) is not None
        case ToList():
            return argument_of(part, value).shape is not None
        case ToSet():
            items = argument_of(part, value).shape
            return items is not None and is_hashable(items)
        case _:
            return False


def _counts_values(part: AnyCombiner) -> bool:
    """Returns whether a combiner counts values, or those of a kind."""
    inner = part.combiner if isinstance(part, Over) else part
    return isinstance(inner, Count | AnyOf | AllOf | Quantile | Quantiles)


def ignores_values(part: AnyCombiner) -> bool:
    """Returns whether a combiner only counts values."""
    return isinstance(part, Count) or (isinstance(part, Over) and isinstance(part.combiner, Count))


def unknown_result(node: GroupingNode, value: Shape) -> UnsupportedError:
    """Returns the error for a combiner whose result has no known type, for values of a shape."""
    parts = component_combiners(node.combiner) if isinstance(node, CombinePerKey) else ()
    arguments = [argument_of(part, value) for part in parts]
    opaque = next((first_opaque(argument) for argument in arguments if argument.shape is None), None)
    own = next((type(part) for part in parts if not is_of_library(type(part))), None)
    remedy = "use a def with a return annotation"
    if own is not None:
        remedy = f"annotate the result of {own.__name__}.extract"
    elif opaque is None:
        remedy = f"pass result=..., or {remedy}"
    return UnsupportedError(
        f"{node.label}: the type of the combiner's result is unknown; {remedy}{why_unknown(node.label, opaque)}"
    )
