"""Texts of scalars: one text in Python, which defines the meaning, and a column of texts by Arrow.

Times are ISO 8601 with an offset from UTC, and are rounded down to microseconds; days are ISO 8601; durations are whole
microseconds; bytes are base64. Every value is in the range of its Python type, and integers have 64 bits.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from decimal import Context, Decimal, InvalidOperation
from math import isinf
from typing import Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from flowalg.data import shapes
from flowalg.data.time import EPOCH, FIRST_DAY, FIRST_MICROSECOND, LAST_DAY, LAST_MICROSECOND
from flowalg.data.values import MAX_INTEGER, MIN_INTEGER
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.values import AnyArray

ANY: Final = shapes.Scalar(str, "str of any scalar")
"""A field of no record that is kept as its text, that of a number included."""
INFERRED: Final = shapes.Scalar(str, "inferred")
"""A field of no record whose type is unknown: its text is kept for ``infer_column``."""
TEXTS: Final = (shapes.TEXT, ANY, INFERRED)
"""The shapes of fields that are kept as their texts."""

_MICROSECOND: Final = timedelta(microseconds=1)

_INTEGER: Final = re.compile(r"([+-]?)(?=[0-9])0*+([0-9]*+)")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_NO_NUMBER: Final = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?)?"
    r"(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)"
)
_FURTHER_DIGITS: Final = r"(\.[0-9]{6})[0-9]+"
_MANY_DIGITS: Final = f"[0-9]{{{shapes.DECIMAL_PRECISION - shapes.DECIMAL_SCALE + 1}}}|[eE]"
_BOOLEANS: Final[Mapping[str, bool]] = {"true": True, "1": True, "false": False, "0": False}
_MOST_DIGITS: Final = 19
"""The digits of the greatest integer."""
_EXACT: Final = Context(prec=shapes.DECIMAL_PRECISION)


def read_scalar(text: str, shape: shapes.Scalar | shapes.EnumOf) -> object:
    """Returns the value of a text, as Arrow stores it: times and durations are whole microseconds.

    Raises ``ValueError`` for a text that is no value of the shape, or one out of range; its message may say why.
    """
    if isinstance(shape, shapes.EnumOf) or shape in TEXTS:
        return text
    return _READERS[shape](text)


def _integer(text: str) -> int:
    match = _INTEGER.fullmatch(text)
    if match is None or len(match[2]) > _MOST_DIGITS:
        raise ValueError
    value = int(match[1] + (match[2] or "0"))
    if not MIN_INTEGER <= value <= MAX_INTEGER:
        raise ValueError
    return value


def _float(text: str) -> float:
    if _NO_NUMBER.fullmatch(text):
        return float(text)
    if not _NUMBER.fullmatch(text):
        raise ValueError
    value = float(text)
    if isinf(value):
        raise ValueError("a number is too large for a float")
    return value


def _boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError
    return value


def _bytes(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Base64Error, UnicodeEncodeError) as error:
        raise ValueError("bytes are base64") from error


def _time(text: str) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError
    day, hour, minute, second, fraction, sign, hours, minutes = match.groups()
    since = date.fromisoformat(day) - EPOCH.date()
    parts = int(hour), int(minute or 0), int(second or 0)
    if parts >= (24,) or max(parts[1:]) > 59 or int(hours or 0) > 23 or int(minutes or 0) > 59:
        raise ValueError
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    since += timedelta(
        hours=parts[0],
        minutes=parts[1],
        seconds=parts[2],
        microseconds=int((fraction or "").ljust(6, "0")[:6]),
    )
    micros = (since + offset if sign == "-" else since - offset) // _MICROSECOND
    if not FIRST_MICROSECOND <= micros <= LAST_MICROSECOND:
        raise ValueError("the time in UTC is out of range")
    return micros


def _day(text: str) -> date:
    if not _DAY.fullmatch(text):
        raise ValueError
    return date.fromisoformat(text)


def _decimal(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValueError
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise ValueError from error
    if not value:
        return Decimal(0)
    if not -shapes.DECIMAL_SCALE <= value.adjusted() < shapes.DECIMAL_PRECISION - shapes.DECIMAL_SCALE:
        raise ValueError
    rounded = value.quantize(Decimal(1).scaleb(-shapes.DECIMAL_SCALE), context=_EXACT)
    if rounded != value:
        raise ValueError
    return rounded


_READERS: Final[Mapping[shapes.Scalar, Callable[[str], object]]] = {
    shapes.BOOLEAN: _boolean,
    shapes.INTEGER: _integer,
    shapes.FLOAT: _float,
    shapes.BINARY: _bytes,
    shapes.TIMESTAMP: _time,
    shapes.DAY: _day,
    shapes.DURATION: _integer,
    shapes.DECIMAL: _decimal,
}


def read_scalars(texts: AnyArray, shape: shapes.Scalar | shapes.EnumOf) -> AnyArray | None:
    """Returns the values of a column of texts, which may have nulls; ``None`` if one of them perhaps has no value.

    Where it returns values, ``read_scalar`` returns the same ones.
    """
    if isinstance(shape, shapes.EnumOf) or shape in TEXTS:
        return texts
    try:
        match shape.name:
            case shapes.INTEGER.name:
                return _plain_integers(texts)
            case shapes.DURATION.name:
                micros = _plain_integers(texts)
                return None if micros is None else micros.cast(pa.duration("us"))
            case shapes.FLOAT.name:
                return _finite(texts)
            case shapes.BOOLEAN.name:
                return texts.cast(pa.bool_())
            case shapes.TIMESTAMP.name:
                return _times(texts)
            case shapes.DAY.name:
                return within(texts.cast(pa.date32()), pa.int32(), FIRST_DAY, LAST_DAY)
            case shapes.DECIMAL.name:
                return _decimals(texts)
            case shapes.BINARY.name:
                values = cast("list[str | None]", texts.to_pylist())
                return pa.array([None if text is None else _bytes(text) for text in values], pa.binary())
            case _:
                raise AssertionError(f"{shape} is no scalar")
    except (pa.ArrowException, ValueError):
        return None


def _plain_integers(texts: AnyArray) -> AnyArray | None:
    """Returns integers; Arrow also reads hexadecimal ones, which are none."""
    if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        return None
    return texts.cast(pa.int64())


def _finite(texts: AnyArray) -> AnyArray | None:
    """Returns finite floats and NaN; Arrow also reads a number that is too large, as infinite, and ``nan(text)``."""
    values = texts.cast(pa.float64())
    doubtful = has_infinity(values) or pc.any(pc.match_substring(texts, "(")).as_py()
    return None if doubtful else values


def has_infinity(values: AnyArray) -> bool:
    """Returns whether a column of floats has an infinite one."""
    return bool(pc.any(pc.is_inf(values)).as_py())


def _decimals(texts: AnyArray) -> AnyArray | None:
    """Returns decimals; Arrow's arithmetic wraps around for many digits and for large exponents."""
    if pc.any(pc.match_substring_regex(texts, _MANY_DIGITS)).as_py():
        return None
    return texts.cast(arrow_type(shapes.DECIMAL))


def _times(texts: AnyArray) -> AnyArray | None:
    kind = arrow_type(shapes.TIMESTAMP)
    try:
        times = texts.cast(kind)
    except pa.ArrowException:
        times = pc.replace_substring_regex(texts, _FURTHER_DIGITS, r"\1").cast(kind)
    return within(times, pa.int64(), FIRST_MICROSECOND, LAST_MICROSECOND)


def within(values: AnyArray, kind: pa.DataType, first: int, last: int) -> AnyArray | None:
    """Returns times or days; ``None`` if one, counted since the epoch, is not between two bounds."""
    bounds = cast("Mapping[str, int | None]", pc.min_max(values.cast(kind)).as_py())
    low, high = bounds["min"], bounds["max"]
    return values if low is None or high is None or (first <= low and high <= last) else None


def infer_column(texts: AnyArray) -> AnyArray:
    """Returns a column of texts as values of the first type that all of them have; as texts if there is none."""
    for shape in (shapes.INTEGER, shapes.FLOAT, shapes.BOOLEAN, shapes.TIMESTAMP):
        values = read_scalars(texts, shape)
        if values is not None and values.null_count < len(values):
            return values
    return texts


def type_of_field(shape: shapes.Shape) -> pa.DataType:
    """Returns the Arrow type of a field that is read."""
    return pa.string() if shapes.present(shape) in TEXTS else arrow_type(shape)


def describe_shape(shape: shapes.Shape) -> str:
    """Returns what a text must be, for messages."""
    if shape == shapes.TIMESTAMP:
        return "a time, such as 2024-01-01T12:00:00Z"
    return f"of type {shape if isinstance(shape, shapes.SumOf) else type_of_field(shape)}"
