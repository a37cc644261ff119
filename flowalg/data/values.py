"""Validation and normalization of element values at run time, the same for every interpreter.

In normal form integers and durations fit 64 bits, datetimes are timezone-aware and in UTC, a float field holds a float
and a Decimal field a Decimal even if the element was made with an integer, no float is a negative zero, and decimals
are as ``canonical_decimal`` has them (SEMANTICS section 2: one meaning, whatever computes it).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, Inexact
from enum import Enum
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeVar, assert_never

from returns.maybe import Maybe, Nothing, Some

from flowalg.data import shapes
from flowalg.data.class_marks import tag_of_class
from flowalg.data.errors import ElementError, ValueRangeError, format_value
from flowalg.data.record_classes import CONTAINERS, attributes_of, record_class

A = TypeVar("A")

MIN_INTEGER: Final = -(2**63)
MAX_INTEGER: Final = 2**63 - 1


def check_integer(value: int, where: str) -> int:
    """Returns the integer; raises ``ValueRangeError`` if it needs more than 64 bits."""
    if MIN_INTEGER <= value <= MAX_INTEGER:
        return value
    raise ValueRangeError(
        f"{where} is {value}, which overflows 64 bits: integers must lie in [-2**63, 2**63)"
    )


def check_text(value: str, where: str) -> str:
    """Returns the text; raises ``ElementError`` for a lone surrogate, which UTF-8 cannot encode."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as cause:
            raise ElementError(
                f"{where} must be text without lone surrogates, which UTF-8 cannot encode; got {format_value(value)}"
            ) from cause
    return value


def canonical_float(value: float) -> float:
    """Returns the float; zero for a negative zero, which equals it."""
    return value if value or math.copysign(1.0, value) > 0 else 0.0


def check_duration(value: timedelta, where: str) -> timedelta:
    """Returns the duration; raises ``ValueRangeError`` if its microseconds need more than 64 bits."""
    if -_LONGEST <= value <= _LONGEST or MIN_INTEGER <= value // _MICROSECOND <= MAX_INTEGER:
        return value
    raise ValueRangeError(
        f"{where} is {format_value(value)}, which overflows 64 bits: the microseconds of a timedelta must lie in "
        "[-2**63, 2**63)"
    )


def canonical_decimal(value: Decimal, where: str) -> Decimal:
    """Returns the decimal without trailing zeros after the point, without an exponent, and without a negative zero.

    Raises ``ValueRangeError`` unless it is finite and has at most 20 digits before the point and 18 after it.
    """
    try:
        if value.is_finite() and (not value or value.adjusted() < _WHOLE_DIGITS):
            scaled = value.quantize(_LEAST_DECIMAL, context=EXACT_DECIMALS)
            canonical = scaled.normalize(EXACT_DECIMALS) if scaled else _ZERO
            if canonical.adjusted() + 1 > len(canonical.as_tuple().digits):
                canonical = canonical.quantize(_ONE, context=EXACT_DECIMALS)
            return value if type(value) is Decimal and value.compare_total(canonical) == 0 else canonical
    except Inexact:
        pass
    raise ValueRangeError(
        f"{where} must be a finite Decimal with at most {_WHOLE_DIGITS} digits before and {shapes.DECIMAL_SCALE} after "
        f"the point; got {format_value(value)}"
    )


def conform(value: object, shape: shapes.Shape, where: str) -> object:
    """Returns the normal form of a value of the shape; raises ``ElementError``, naming the field, for other values."""
    match shape:
        case shapes.Scalar():
            return _scalar(value, shape, where)
        case shapes.OptionalOf(of=inner):
            return None if value is None else conform(value, inner, where)
        case shapes.MaybeOf(of=inner):
            if value is Nothing:
                return value
            if isinstance(value, Some):
                new = conform(old := value.unwrap(), inner, where)
                return value if new is old else Some(new)
        case shapes.EnumOf(cls=cls):
            if isinstance(value, cls):
                if value._name_ in cls.__members__:
                    return value
                # A combination of flags, such as A | B, is of the class too.
                raise ElementError(f"{where} must be one member of {shape}; got {format_value(value)}")
        case shapes.ListOf(of=inner):
            if isinstance(value, list):
                return [conform(item, inner, f"{where}[{i}]") for i, item in enumerate(value)]
        case shapes.SetOf(of=inner, mutable=mutable):
            if isinstance(value, set if mutable else frozenset):
                return shape.make(conform(item, inner, f"{where}{{…}}") for item in value)
        case shapes.MapOf(key=key, value=inner):
            if isinstance(value, Mapping):
                return {
                    conform(name, key, f"{where}.keys()"): conform(item, inner, f"{where}[{name!r}]")
                    for name, item in value.items()
                }
        case shapes.TupleOf(items=items):
            if isinstance(value, tuple) and len(value) == len(items):
                return tuple(
                    conform(item, inner, f"{where}[{i}]")
                    for i, (item, inner) in enumerate(zip(value, items, strict=True))
                )
        case shapes.RecordOf(cls=cls, fields=fields):
            if type(value) is cls:
                changed = {}
                for field in fields:
                    old = getattr(value, field.attribute)
                    new = conform(old, field.shape, f"{where}.{field.name}")
                    if new is not old:
                        changed[field.attribute] = new
                return rebuild(value, changed)
        case shapes.SumOf(members=members):
            position = shape.position(value)
            if position is not None:
                return conform(value, members[position].shape, where)
        case _:
            assert_never(shape)
    raise ElementError(f"{where} must be of type {shape}; got {format_value(value)}")


def _scalar(value: object, shape: shapes.Scalar, where: str) -> object:
    kind = shape.python
    if type(value) is int and kind is int:
        return check_integer(value, where)
    if type(value) is str and kind is str:
        return check_text(value, where)
    if type(value) is float and kind is float:
        return canonical_float(value)
    if shape == shapes.FLOAT and type(value) is int:
        return _as_float(value, where)
    if shape == shapes.DECIMAL and type(value) is int:
        return canonical_decimal(Decimal(value), where)
    if type(value) is not shape.python and not (
        isinstance(value, shape.python) and shape not in (shapes.INTEGER, shapes.FLOAT, shapes.DAY)
    ):
        remedy = "; use .item() of a value of NumPy" if type(value).__module__ == "numpy" else ""
        raise ElementError(f"{where} must be of type {shape}; got {format_value(value)}{remedy}")
    if isinstance(value, str):
        return check_text(value, where)
    if isinstance(value, int) and shape == shapes.INTEGER:
        return check_integer(value, where)
    if isinstance(value, datetime) and shape == shapes.TIMESTAMP:
        return _aware(value, where)
    if isinstance(value, Decimal) and shape == shapes.DECIMAL:
        return canonical_decimal(value, where)
    if isinstance(value, timedelta) and shape == shapes.DURATION:
        return check_duration(value, where)
    return value


def _as_float(value: int, where: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueRangeError(f"{where} is an int that is beyond the largest float") from None


def _aware(value: datetime, where: str) -> datetime:
    if value.tzinfo is UTC:
        return value
    if value.utcoffset() is None:
        raise ElementError(
            f"{where} must be a timezone-aware datetime; got {format_value(value)}, which is naive"
        )
    try:
        return value.astimezone(UTC)
    except OverflowError as far:
        raise ElementError(
            f"{where} must be in the years 1 to 9999 of UTC; got {format_value(value)}"
        ) from far


def canonicalize(value: object, where: str) -> object:
    """Returns the normal form of a value of unknown shape; raises as ``conform`` does."""
    kind: type = type(value)
    if kind is int:
        return check_integer(value, where) if isinstance(value, int) else value
    if isinstance(value, str) and kind is str:
        return check_text(value, where)
    if isinstance(value, float) and kind is float:
        return canonical_float(value)
    if kind in _PLAIN or isinstance(value, Enum):
        return value
    if isinstance(value, datetime):
        return _aware(value, where)
    if isinstance(value, Decimal):
        return canonical_decimal(value, where)
    if isinstance(value, timedelta):
        return check_duration(value, where)
    if isinstance(value, tuple) and kind is tuple:
        return tuple(canonicalize(item, f"{where}[{i}]") for i, item in enumerate(value))
    if isinstance(value, list):
        return [canonicalize(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if kind is set or kind is frozenset:
        assert isinstance(value, set | frozenset)
        return kind(canonicalize(item, f"{where}{{…}}") for item in value)
    changed = {}
    for name in attributes_of(kind) or ():
        old = getattr(value, name)
        new = canonicalize(old, f"{where}.{name}")
        if new is not old:
            changed[name] = new
    return rebuild(value, changed)


def has_float(value: object) -> bool:
    """Returns whether a value is a float, or a tuple, list, set or record that contains one."""
    if isinstance(value, float):
        return True
    if isinstance(value, tuple | list | set | frozenset):
        return any(has_float(item) for item in value)
    kind: type = type(value)
    return any(has_float(getattr(value, name)) for name in attributes_of(kind) or ())


def comparable(value: object) -> object:
    """Returns a value that equals another's if both are equal, where NaN equals NaN; the value itself without NaN.

    An object that is NaN does not keep its identity in a checkpoint, so ``==`` would not find it again.
    """
    if isinstance(value, float):
        return _NAN if value != value else value
    if isinstance(value, set | frozenset):
        inside = [comparable(item) for item in value]
        return frozenset(inside) if any(map(_differs, inside, value)) else value
    if isinstance(value, tuple | list):
        items = [comparable(item) for item in value]
        return (type(value), tuple(items)) if any(map(_differs, items, value)) else value
    if isinstance(value, Mapping):
        pairs = {key: comparable(item) for key, item in value.items()}
        return frozenset(pairs.items()) if any(map(_differs, pairs.values(), value.values())) else value
    kind: type = type(value)
    field_values = [getattr(value, name) for name in attributes_of(kind) or ()]
    fields = [comparable(item) for item in field_values]
    return (kind, tuple(fields)) if any(map(_differs, fields, field_values)) else value


def same(left: object, right: object) -> bool:
    """Returns whether two values are equal, where NaN equals NaN."""
    return left == right or (comparable(left) is not left and comparable(left) == comparable(right))


def _differs(one: object, other: object) -> bool:
    return one is not other


_NAN: Final = "NaN", float
"""What stands for NaN in ``comparable``: equal to itself, and to no value of a pipeline."""

_PLAIN: Final = (bool, type(None), bytes, date)

_MICROSECOND: Final = timedelta(microseconds=1)
_LONGEST: Final = timedelta(days=100_000_000)
"""A duration that surely fits 64 bits."""

_WHOLE_DIGITS: Final = shapes.DECIMAL_PRECISION - shapes.DECIMAL_SCALE
_ZERO: Final = Decimal(0)
_ONE: Final = Decimal(1)
_LEAST_DECIMAL: Final = Decimal(1).scaleb(-shapes.DECIMAL_SCALE)

EXACT_DECIMALS: Final = Context(
    prec=shapes.DECIMAL_PRECISION, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact]
)
"""Arithmetic on decimals that raises ``Inexact`` where 38 digits do not suffice, whatever the context of the thread."""


def rebuild(value: object, changed: dict[str, object]) -> object:
    """Returns the record with some fields replaced; the same object if ``changed`` is empty."""
    kind: type = type(value)
    if not changed:
        return value
    if kind in CONTAINERS:
        return kind(*changed.values())
    record = record_class(kind)
    assert record is not None, "a record"
    return record.make({name: getattr(value, name) for name in attributes_of(kind) or ()} | changed)


def sort_key(value: object) -> tuple[object, ...]:
    """Returns the sort key of a value, with which panes of the same instant and window are ordered.

    ``None`` and ``Nothing`` sort first and NaN last, and ``Some(value)`` as its value. Values of different kinds are
    ordered by the name of their kind; all numbers are of one kind, and the kind of a record is its tag. Records, tuples
    and lists sort lexicographically, sets by their sorted items, and enums by name. Raises ``ElementError`` for a value
    that has no order, such as a complex number.
    """
    if isinstance(value, Maybe):
        value = value.value_or(None)
    if value is None:
        return (0,)
    if isinstance(value, float) and value != value:
        return (2,)
    kind: type = type(value)
    if kind in _ORDERED:
        return (1, _ORDERED[kind], value)
    if isinstance(value, set | frozenset):
        return (1, "set", tuple(sorted(sort_key(item) for item in value)))
    if isinstance(value, Mapping):
        return (1, "mapping", tuple(sorted((sort_key(key), sort_key(item)) for key, item in value.items())))
    if isinstance(value, Enum):
        return (1, kind.__name__, value.name)
    attributes = attributes_of(kind)
    if attributes is not None:
        fields = (sort_key(getattr(value, name)) for name in attributes)
        return (1, tag_of_class(kind).name, tuple(fields))
    if isinstance(value, tuple | list):
        return (1, "sequence", tuple(sort_key(item) for item in value))
    try:
        value < value  # type: ignore[operator]  # noqa: B015  # raises if values of its type have no order
    except TypeError as unordered:
        raise ElementError(f"{format_value(value)} cannot be ordered among the keys and panes") from unordered
    return (1, kind.__name__, value)


def total_sort_key(value: object) -> tuple[object, ...]:
    """Returns the sort key of any value: values without an order (``sort_key``) come last, by their type and text."""
    try:
        return sort_key(value)
    except ElementError:
        return (3, type(value).__name__, repr(value))


def sort_by_time(timed: Iterable[tuple[int, A]], by: Callable[[A], object] | None = None) -> list[A]:
    """Returns values, given with their event times, by event time, and those of one event time by value.

    With ``by``, those of one event time are ordered by what it returns of them. Lists are ordered so (SEMANTICS section
    8), and therefore do not depend on the order of arrival.

    Example:

    >>> sort_by_time([(2, "b"), (1, "d"), (2, "a")])
    ['d', 'a', 'b']
    """
    moments = groupby(sorted(timed, key=itemgetter(0)), key=itemgetter(0))
    return [value for _, moment in moments for value in _sort_values([value for _, value in moment], by)]


def _sort_values(values: list[A], by: Callable[[A], object] | None) -> list[A]:
    if len(values) < 2:
        return values
    return sorted(values, key=total_sort_key if by is None else lambda value: total_sort_key(by(value)))


_ORDERED: Final[Mapping[type, str]] = {
    bool: "number",
    int: "number",
    float: "number",
    Decimal: "number",
    str: "str",
    bytes: "bytes",
    datetime: "datetime",
    date: "date",
}
"""The types of values that compare with each other, with the name of their kind."""
