"""Records and values as columns of JSON text: that of ``flowalg.data.json_text``, except for how floats are written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final, assert_never

from flowalg_columns.layout import parts_of
from pyspark.sql import types as T

from flowalg.data import shapes
from flowalg.data.json_text import dump_json
from flowalg.data.time import FIRST_DAY, FIRST_MICROSECOND, LAST_DAY, LAST_MICROSECOND
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col
from flowalg_spark.encoding.sql import Sql

_UTC: Final = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss"}


def record_json(fields: Sequence[tuple[str, shapes.Shape]]) -> Sql:
    """Returns the JSON of a record in the columns of a frame, valid or not."""
    return _object([(name, _json(col(name), shape)) for name, shape in fields])


def value_json(column: Sql, shape: shapes.Shape) -> Sql:
    """Returns the JSON of the values of a column; a null has none."""
    return sql.when(column.is_not_null(), _of_value(column, shape))


def text_json(text: Sql) -> Sql:
    """Returns the JSON of a text that could not be parsed as a record."""
    return _object([("text", _plain(text))])


def _json(column: Sql, shape: shapes.Shape) -> Sql:
    return sql.when(column.is_not_null(), _of_value(column, shape)).otherwise("null")


def _of_value(column: Sql, shape: shapes.Shape) -> Sql:
    """Returns the JSON of values that are not null."""
    match shape:
        case shapes.OptionalOf(of=inner) | shapes.MaybeOf(of=inner):
            return _of_value(column, inner)
        case shapes.RecordOf():
            return _object([(name, _json(column[name], part)) for name, part in parts_of(shape)])
        case shapes.SumOf(members=members):
            one = sql.coalesce(*(_of_member(column[member.name], member) for member in members))
            parts = [(name, _json(column[name], part)) for name, part in parts_of(shape)]
            return sql.when(number_of_members(column, shape) == 1, one).otherwise(_object(parts))
        case shapes.TupleOf():
            return _array([_json(column[name], part) for name, part in parts_of(shape)])
        case shapes.ListOf(of=inner):
            return _list(sql.transform(column, lambda item: _json(item, inner)))
        case shapes.SetOf(of=inner):
            ordered = sql.sort_array(sql.array_distinct(column))
            return _list(sql.transform(ordered, lambda item: _json(item, inner)))
        case shapes.Scalar() if shape == shapes.TIMESTAMP:
            micros = sql.unix_micros(column)
            in_range = micros.between(FIRST_MICROSECOND, LAST_MICROSECOND)
            return sql.when(in_range, _plain(_iso_8601(column))).otherwise(micros.cast("string"))
        case shapes.Scalar() if shape == shapes.DAY:
            days = sql.unix_date(column)
            return sql.when(days.between(FIRST_DAY, LAST_DAY), _plain(column)).otherwise(days.cast("string"))
        case shapes.Scalar() if shape == shapes.DURATION:
            seconds = column.cast(T.DayTimeIntervalType(3, 3)).cast("decimal(38,6)")
            return (seconds * 10**6).cast("bigint").cast("string")
        case shapes.Scalar() if shape == shapes.DECIMAL:
            return _plain(_plain_decimal(column))
        case shapes.Scalar() | shapes.EnumOf() | shapes.MapOf():
            return _plain(column)
    assert_never(shape)


def number_of_members(column: Sql, shape: shapes.SumOf) -> Sql:
    """Returns how many members of a sum are not null."""
    members = (sql.when(column[member.name].is_not_null(), 1).otherwise(0) for member in shape.members)
    return reduce(Sql.__add__, members)


def _of_member(column: Sql, member: shapes.Field) -> Sql:
    """Returns the JSON of a sum's member where it is not null; that of a record has its tag."""
    text = _of_value(column, member.shape)
    if isinstance(member.shape, shapes.RecordOf):
        tag = shapes.tag_of(member.shape)
        begin = dump_json({tag.field: tag.name}).removesuffix("}")
        text = sql.concat(f"{begin},", sql.substring(text, 2, sql.length(text) - 1))
    return sql.when(column.is_not_null(), text)


def _plain_decimal(column: Sql) -> Sql:
    """Returns the texts of decimals, without an exponent, trailing zeros after the point, and thousands separators.

    A cast to a string has an exponent if the session's ANSI mode is off.
    """
    kind = T.DecimalType(shapes.DECIMAL_PRECISION, shapes.DECIMAL_SCALE)
    digits = sql.translate(sql.format_number(column.cast(kind), shapes.DECIMAL_SCALE), ",", "")
    return sql.regexp_replace(digits, r"\.?0*$", "")


def _iso_8601(column: Sql) -> Sql:
    """Returns timestamps as Python writes them in UTC: with microseconds only if there are any."""
    # CSV, since it formats a timestamp in a time zone other than the session's.
    seconds = sql.to_csv(sql.struct(column), _UTC)
    micros = sql.pmod(sql.unix_micros(column), 10**6).cast("string")
    fraction = sql.when(micros == "0", "").otherwise(sql.concat(".", sql.lpad(micros, 6, "0")))
    return sql.concat(seconds, fraction, "+00:00")


def _plain(column: Sql) -> Sql:
    """Returns the JSON that Spark writes for values without parts: that of a list of the value, without brackets."""
    text = sql.to_json(sql.array(column))
    return sql.substring(text, 2, sql.length(text) - 2)


def _object(parts: Sequence[tuple[str, Sql]]) -> Sql:
    named = [sql.concat(f'"{name}":', text) for name, text in parts]
    return sql.concat("{", sql.concat_ws(",", *named), "}")


def _array(parts: Sequence[Sql]) -> Sql:
    return sql.concat("[", sql.concat_ws(",", *parts), "]")


def _list(texts: Sql) -> Sql:
    return sql.concat("[", sql.array_join(texts, ","), "]")
