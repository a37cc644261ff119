"""Records and values as columns of JSON text: that of ``flowalg.data.json_text``, except for how floats are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from flowalg_columns.layout import parts_of
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.shapes import (
    DAY,
    DECIMAL,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    DURATION,
    TIMESTAMP,
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    TupleOf,
)
from flowalg.data.time import FIRST_DAY, FIRST_MICROSECOND, LAST_DAY, LAST_MICROSECOND
from flowalg_spark.encoding.columns import col

_UTC: Final = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss"}


def record_json(fields: Sequence[tuple[str, Shape]]) -> Column:
    """Returns the JSON of a record in the columns of a frame, valid or not."""
    return _object([(name, _json(col(name), shape)) for name, shape in fields])


def value_json(column: Column, shape: Shape) -> Column:
    """Returns the JSON of the values of a column; a null has none."""
    return F.when(column.isNotNull(), _of_value(column, shape))


def text_json(text: Column) -> Column:
    """Returns the JSON of a text that could not be parsed as a record."""
    return _object([("text", _plain(text))])


def _json(column: Column, shape: Shape) -> Column:
    return F.when(column.isNotNull(), _of_value(column, shape)).otherwise(F.lit("null"))


def _of_value(column: Column, shape: Shape) -> Column:
    """Returns the JSON of values that are not null."""
    match shape:
        case OptionalOf(of=inner):
            return _of_value(column, inner)
        case RecordOf():
            return _object([(name, _json(column.getField(name), part)) for name, part in parts_of(shape)])
        case TupleOf():
            return _array([_json(column.getField(name), part) for name, part in parts_of(shape)])
        case ListOf(of=inner):
            return _list(F.transform(column, lambda item: _json(item, inner)))
        case SetOf(of=inner):
            ordered = F.sort_array(F.array_distinct(column))
            return _list(F.transform(ordered, lambda item: _json(item, inner)))
        case Scalar() if shape == TIMESTAMP:
            micros = F.unix_micros(column)
            in_range = micros.between(FIRST_MICROSECOND, LAST_MICROSECOND)
            return F.when(in_range, _plain(_iso_8601(column))).otherwise(micros.cast("string"))
        case Scalar() if shape == DAY:
            days = F.unix_date(column)
            return F.when(days.between(FIRST_DAY, LAST_DAY), _plain(column)).otherwise(days.cast("string"))
        case Scalar() if shape == DURATION:
            seconds = column.cast(T.DayTimeIntervalType(3, 3)).cast("decimal(38,6)")
            return (seconds * F.lit(10**6)).cast("bigint").cast("string")
        case Scalar() if shape == DECIMAL:
            return _plain(_plain_decimal(column))
        case Scalar() | EnumOf() | MapOf():
            return _plain(column)
    assert_never(shape)


def _plain_decimal(column: Column) -> Column:
    """Returns the texts of decimals, without an exponent, trailing zeros after the point, and thousands separators.

    A cast to a string has an exponent if the session's ANSI mode is off.
    """
    kind = T.DecimalType(DECIMAL_PRECISION, DECIMAL_SCALE)
    digits = F.translate(F.format_number(column.cast(kind), DECIMAL_SCALE), ",", "")
    return F.regexp_replace(digits, r"\.?0*$", "")


def _iso_8601(column: Column) -> Column:
    """Returns timestamps as Python writes them in UTC: with microseconds only if there are any."""
    # CSV, since it formats a timestamp in a time zone other than the session's.
    seconds = F.to_csv(F.struct(column), _UTC)
    micros = F.pmod(F.unix_micros(column), F.lit(10**6)).cast("string")
    fraction = F.when(micros == F.lit("0"), F.lit("")).otherwise(F.concat(F.lit("."), F.lpad(micros, 6, "0")))
    return F.concat(seconds, fraction, F.lit("+00:00"))


def _plain(column: Column) -> Column:
    """Returns the JSON that Spark writes for values without parts: that of a list of the value, without brackets."""
    text = F.to_json(F.array(column))
    return F.substring(text, F.lit(2), F.length(text) - F.lit(2))


def _object(parts: Sequence[tuple[str, Column]]) -> Column:
    named = [F.concat(F.lit(f'"{name}":'), text) for name, text in parts]
    return F.concat(F.lit("{"), F.concat_ws(",", *named), F.lit("}"))


def _array(parts: Sequence[Column]) -> Column:
    return F.concat(F.lit("["), F.concat_ws(",", *parts), F.lit("]"))


def _list(texts: Column) -> Column:
    return F.concat(F.lit("["), F.array_join(texts, ","), F.lit("]"))
