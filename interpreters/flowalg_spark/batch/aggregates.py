"""Combiners as Spark's own aggregates: over the rows of a group, or over what parts of the group have come to.

They give what the combiners of the algebra give, errors included, whatever the session's ANSI setting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import frozen
from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.combiners.collections import AllOf, AnyOf, ToList, TopN, ToSet
from flowalg.combiners.core import Combiner, Count, Max, Mean, Min, Over, Sum
from flowalg.combiners.result_shapes import ORDERED
from flowalg.data.shapes import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    OptionalOf,
    Shape,
    contains_float,
)
from flowalg.elementwise.functions import Call
from flowalg.lifting.analysis import analyse_function
from flowalg.lifting.tree.expressions import Param, first_opaque, qualify_locations
from flowalg_spark.encoding.layout import Columns, Leaf, nested
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.expressions import single

AnyCombiner = Combiner[object, object, object]

_MOST: Final = 100_000
"""How many values Spark keeps in order for each group."""


@frozen
class Native:
    """An aggregate in steps: what rows come to, how such results merge, and what is made of them at the end.

    ``merge`` takes the columns of several such results and aggregates them; it is ``None`` where parts are better not
    combined first, because what they come to is no smaller than they are.
    """

    partials: tuple[Column, ...]
    merge: Callable[[tuple[Column, ...]], tuple[Column, ...]] | None
    finish: Callable[[tuple[Column, ...]], Column]

    @property
    def whole(self) -> Column:
        """The aggregate over the rows of a group."""
        return self.finish(self.partials)


def may_be_native(combiner: AnyCombiner) -> bool:
    """Whether Spark has an aggregate for a combiner, for some values at least."""
    own = combiner.combiner if isinstance(combiner, Over) else combiner
    return isinstance(own, Count | Sum | Mean | Min | Max | AnyOf | AllOf | TopN | ToList | ToSet)


def native(combiner: AnyCombiner, argument: Columns, time: Column, label: str) -> Native | None:
    """The aggregate of a combiner over values in ``argument``; ``None`` where only Python can compute it."""
    shape = argument.shape
    value = nested(argument)
    match combiner.combiner if isinstance(combiner, Over) else combiner:
        case Count():
            return _summed((F.count(F.lit(1)),), (F.sum,), _itself)
        case Sum() if shape == INTEGER:
            return _summed((_exact(value, label),), (lambda one: _exact(one, label),), _itself)
        case Sum() if shape == FLOAT:
            return _summed((F.sum(value),), (F.sum,), _itself)
        case Mean() if shape == INTEGER:
            merges = (lambda one: _exact(one, label), F.sum)
            return _summed((_exact(value, label), F.count(F.lit(1))), merges, _quotient)
        case Mean() if shape == FLOAT:
            return _summed((F.sum(value), F.count(F.lit(1))), (F.sum, F.sum), _quotient)
        case Min() if shape in ORDERED:
            return _summed((F.min(_ordered(value, shape, "Min", label)),), (F.min,), _itself)
        case Max() if shape in ORDERED:
            return _summed((F.max(_ordered(value, shape, "Max", label)),), (F.max,), _itself)
        case AnyOf() if shape == BOOLEAN:
            return _summed((F.bool_or(value),), (F.bool_or,), _itself)
        case AllOf() if shape == BOOLEAN:
            return _summed((F.bool_and(value),), (F.bool_and,), _itself)
        case TopN() as top:
            return _greatest(top, argument, label)
        case ToList():
            return _listed(value, shape, time)
        case ToSet() if not isinstance(shape, OptionalOf) and not contains_float(shape):
            # Spark's set has no place for null, and its order is that of sets here.
            return Native((F.sort_array(F.collect_set(value)),), None, _itself)
        case _:
            return None


def _summed(
    partials: tuple[Column, ...],
    merges: tuple[Callable[[Column], Column], ...],
    finish: Callable[[tuple[Column, ...]], Column],
) -> Native:
    """An aggregate whose partial results merge one by one."""
    return Native(
        partials, lambda parts: tuple(merge(one) for merge, one in zip(merges, parts, strict=True)), finish
    )


def _itself(parts: tuple[Column, ...]) -> Column:
    return parts[0]


def _quotient(parts: tuple[Column, ...]) -> Column:
    total, count = parts
    return total.cast("double") / count.cast("double")


def _exact(value: Column, label: str) -> Column:
    """A sum of integers, or an error when it overflows."""
    overflow = F.raise_error(F.lit(f"{label}: a sum overflows 64 bits: integers must lie in [-2**63, 2**63)"))
    return F.coalesce(F.try_sum(value), overflow)


def _ordered(value: Column, shape: Shape, name: str, label: str) -> Column:
    """The value, or an error for NaN, which has no place in an order."""
    return value if shape != FLOAT else F.when(F.isnan(value), _unordered(name, label)).otherwise(value)


def _unordered(name: str, label: str) -> Column:
    return F.raise_error(F.lit(f"{label}: the input of {name} must not be None or NaN; got nan"))


def _greatest(top: TopN[object], argument: Columns, label: str) -> Native | None:
    """The greatest values by a rank that Spark orders as Python does."""
    rank = Leaf(argument.shape, nested(argument))
    if top.by is not None:
        expression = qualify_locations("TopN.by", analyse_function(Call(top.by), Param(argument.shape)))
        if first_opaque(expression) is not None or expression.shape is None:
            return None
        if expression.shape not in ORDERED:
            return None
        rank = Leaf(expression.shape, single(expression, argument))
    if rank.shape not in ORDERED or top.n > _MOST:
        return None
    if top.by is None and rank.shape == FLOAT:
        # NaN is the greatest of all to Spark: it comes first, so one look at what comes out is enough.
        return Native(
            (F.max_by(rank.at, rank.at, top.n),), None, lambda parts: _first_ordered(parts[0], label)
        )
    by = _ordered(rank.at, rank.shape, "TopN", label)
    return Native((F.max_by(nested(argument), by, top.n),), None, _itself)


def _first_ordered(values: Column, label: str) -> Column:
    """Values in their order, or an error when the first of them is NaN."""
    return F.when(F.isnan(F.get(values, 0)), _unordered("TopN", label)).otherwise(values)


def _listed(value: Column, shape: Shape, time: Column) -> Native:
    """The values in order of event time, and those of one event time in an order of their own."""
    pairs = F.collect_list(F.struct(time.alias("t"), value.alias("v")))
    listed = F.transform(F.array_sort(pairs), lambda one: one["v"])
    return Native((listed.cast(f"array<{spark_type(shape).simpleString()}>"),), None, _itself)


__all__ = ["AnyCombiner", "Native", "may_be_native", "native"]
