"""The shape of a combiner's result, derived from the shape of its input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, get_type_hints

from flowalg.combiners.collections import ToList, TopN, ToSet
from flowalg.combiners.core import Combiner, Count, Into, Max, Mean, Min, Over, Sum, Together
from flowalg.combiners.functional import FunctionCombiner
from flowalg.combiners.quantiles import Quantile, Quantiles
from flowalg.data.errors import RecordTypeError
from flowalg.data.shapes import (
    BINARY,
    BOOLEAN,
    DAY,
    DECIMAL,
    DURATION,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    ListOf,
    SetOf,
    Shape,
    TupleOf,
    is_hashable,
    shape_of,
)
from flowalg.elementwise.functions import user_call
from flowalg.lifting.analysis import analyse_function
from flowalg.lifting.tree.expressions import Param

ORDERED: Final = (INTEGER, FLOAT, TEXT, TIMESTAMP, DAY, DURATION, DECIMAL, BOOLEAN, BINARY)
"""The shapes whose values are ordered."""


def argument_shape(over: Over[object, object], value: Shape) -> Shape | None:
    """Returns the shape of the results of an ``Over``'s function; ``None`` if only running it would determine it."""
    return analyse_function(over.function, Param(value)).shape


def combined_shape(combiner: Combiner[object, object, object], value: Shape | None) -> Shape | None:
    """Returns the shape of a combiner's result for values of a shape; ``None`` if it is unknown.

    Raises ``RecordTypeError`` if the combiner does not accept values of that shape.
    """
    match combiner:
        case Count():
            return INTEGER
        case Over():
            return combined_shape(
                combiner.combiner, None if value is None else argument_shape(combiner, value)
            )
        case Together(parts=parts):
            shapes = tuple(combined_shape(part, value) for part in parts)
            known = tuple(shape for shape in shapes if shape is not None)
            return TupleOf(known) if len(known) == len(shapes) else None
        case Mean():
            return FLOAT if value is None else _numeric(value, "Mean") and FLOAT
        case Sum():
            return None if value is None else _numeric(value, "Sum")
        case Min() | Max():
            if value is not None and value not in ORDERED:
                kinds = ", ".join(map(str, ORDERED))
                raise RecordTypeError(
                    f"{type(combiner).__name__} cannot order values of type {value}; it accepts {kinds}"
                )
            return value
        case Quantile() | Quantiles():
            if value not in (None, INTEGER, FLOAT):
                raise RecordTypeError(
                    f"{combiner.title} does not accept values of type {value}; it accepts int and float"
                )
            return _annotated_result(type(combiner).extract)
        case ToList() | TopN():
            return None if value is None else ListOf(value)
        case ToSet():
            if value is not None and not is_hashable(value):
                raise RecordTypeError(f"ToSet does not accept values of type {value}, which are not hashable")
            return None if value is None else SetOf(value)
        case FunctionCombiner():
            return _annotated_result(combiner.extract_function or combiner.merge_function)
        case Into(function=function):
            return _annotated_result(user_call(function).f)
        case _:
            return _annotated_result(type(combiner).extract)


def _numeric(value: Shape, combiner: str) -> Shape:
    if value in (INTEGER, FLOAT):
        return value
    raise RecordTypeError(f"{combiner} does not accept values of type {value}; it accepts int and float")


def _annotated_result(f: Callable[..., object]) -> Shape | None:
    try:
        hint = f if isinstance(f, type) else get_type_hints(f).get("return")
        return None if hint is None else shape_of(hint)
    except (NameError, TypeError, RecordTypeError):
        return None


__all__ = ["ORDERED", "argument_shape", "combined_shape"]
