"""The shape of a combiner's result, derived from the shape of its input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, get_type_hints

from flowalg.combiners.collections import ToList, TopN, ToSet
from flowalg.combiners.core import AnyCombiner, Count, Into, Max, Mean, Min, Over, Sum, Together
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
    OptionalOf,
    RecordOf,
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

NUMERIC: Final = (INTEGER, FLOAT, DECIMAL)
"""The shapes whose values are added."""


def argument_shape(over: Over[object, object], value: Shape) -> Shape | None:
    """Returns the shape of the results of an ``Over``'s function; ``None`` if only running it would determine it."""
    return analyse_function(over.function, Param(value)).shape


def combined_shape(combiner: AnyCombiner, value: Shape | None) -> Shape | None:
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
            known_shapes = tuple(shape for shape in shapes if shape is not None)
            return TupleOf(known_shapes) if len(known_shapes) == len(shapes) else None
        case Mean():
            _require_kind(type(combiner).__name__, value, NUMERIC)
            return None if value is None else DECIMAL if value == DECIMAL else FLOAT
        case Sum():
            _require_kind(type(combiner).__name__, value, NUMERIC)
            return value
        case Min() | Max():
            _require_kind(type(combiner).__name__, value, ORDERED)
            return value
        case Quantile() | Quantiles():
            _require_kind(type(combiner).__name__, value, NUMERIC)
            return _annotated_result(type(combiner).extract)
        case ToList() | TopN():
            return None if value is None else ListOf(value)
        case ToSet():
            if value is not None and not is_hashable(value):
                raise RecordTypeError(f"ToSet does not accept values of type {value}, which are not hashable")
            return None if value is None else SetOf(value)
        case FunctionCombiner(declared_shape=shape):
            return shape or _annotated_result(combiner.extract_function or combiner.merge_function)
        case Into(function=function):
            return _annotated_result(user_call(function).f)
        case _:
            return _annotated_result(type(combiner).extract)


def _require_kind(name: str, value: Shape | None, kinds: tuple[Shape, ...]) -> None:
    """Raises ``RecordTypeError`` unless values of the shape, if it is known, are of one of some kinds."""
    if value is None or value in kinds:
        return
    *kinds_before, last = map(str, kinds)
    accepted = f"{', '.join(kinds_before)} and {last}"
    raise RecordTypeError(
        f"{name} does not accept values of type {value}; it accepts {accepted}{_advice(name, value, kinds)}"
    )


def _advice(name: str, value: Shape, kinds: tuple[Shape, ...]) -> str:
    """Returns the remedy: for a record, the call that combines a field of it."""
    if isinstance(value, OptionalOf):
        remove = f"flat_map(lambda pair: [] if pair.value is None else [pair], result=KV[..., {value.of}])"
        return f"; remove the nulls first, with {remove}"
    if not isinstance(value, RecordOf):
        return ""
    field = next((field.name for field in value.fields if field.shape in kinds), "field")
    element = value.cls.__name__.lower()
    return f"; for a field, use {name}.of(lambda {element}: {element}.{field})"


def _annotated_result(f: Callable[..., object]) -> Shape | None:
    try:
        hint = f if isinstance(f, type) else get_type_hints(f).get("return")
        return None if hint is None else shape_of(hint)
    except (NameError, TypeError, RecordTypeError):
        return None
