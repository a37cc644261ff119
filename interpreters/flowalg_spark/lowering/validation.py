"""Validation of source records: nulls, names of enum members, times and bytes that their shape does not allow.

An invalid value fails the query, or makes its record a bad record. The message names the source, the field, the valid
values, and the value.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen
from flowalg_columns.layout import Branch, Leaf, parts_of
from pyspark.sql import types as T

from flowalg.data.record_messages import (
    member_message,
    null_message,
    sum_message,
    utf_8_message,
    years_message,
)
from flowalg.data.shapes import (
    DAY,
    FLOAT,
    TEXT,
    TIMESTAMP,
    EnumOf,
    ListOf,
    MapOf,
    MaybeOf,
    Nullable,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    SumOf,
    TupleOf,
    present,
)
from flowalg.data.time import FIRST_DAY, FIRST_MICROSECOND, LAST_DAY, LAST_MICROSECOND
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import Columns, frame_columns
from flowalg_spark.encoding.json_columns import number_of_members
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.expressions import floats
from flowalg_spark.expressions.errors import fail_for_element


@frozen
class FieldPath:
    """The path of a field in the records of a source, and whether its values can be null."""

    source: str
    path: str
    nullable: bool = True

    def child(self, suffix: str) -> FieldPath:
        """Returns the path of a part of this field. Parts can be null, whatever the schema."""
        return evolve(self, path=f"{self.path}{suffix}", nullable=True)


def source_columns(shape: Shape, schema: T.StructType) -> Columns:
    """Returns the columns of a source's records, not validated, cast to the Spark types of their shape."""
    types = {field.name: field.dataType for field in schema.fields}
    element = frame_columns(shape)
    if isinstance(element, Branch) and isinstance(shape, RecordOf):
        named_parts = zip(parts_of(element.shape), element.parts, strict=True)
        return Branch(element.shape, tuple(_cast(part, types[name]) for (name, _), part in named_parts))
    return _cast(element, types["value"])


def _cast(columns: Columns, stored: T.DataType | None) -> Columns:
    """Casts columns to the Spark types of their shapes, if the stored type differs."""
    match columns:
        case Leaf(shape=shape, column=column):
            expected = spark_type(shape)
            return columns if stored == expected else Leaf(shape, column.cast(expected))
        case Branch(shape=shape, parts=parts):
            return Branch(shape, tuple(_cast(part, None) for part in parts))


@frozen
class Fault:
    """A fault of a column's values: ``where`` is true for values that have it, and false or null for all others."""

    where: Sql
    message: Sql


def is_faulty(faults: Sequence[Fault]) -> Sql:
    """Returns whether a value has at least one of the faults."""
    return sql.coalesce(sql.any_of(fault.where for fault in faults), False)


def first_message(faults: Sequence[Fault]) -> Sql:
    """Returns the message of the first fault of a value; null without one."""
    messages = NULL.cast("string")
    for fault in reversed(faults):
        messages = sql.when(fault.where, fault.message).otherwise(messages)
    return messages


def faults_of(column: Sql, shape: Shape, path: FieldPath) -> list[Fault]:
    """Returns the faults that a column's values may have."""
    if isinstance(shape, Nullable):
        return faults_of(column, shape.of, evolve(path, nullable=False))
    faults = _faults_of_value(column, shape, path)
    if not path.nullable:
        return faults
    return [Fault(column.is_null(), sql.lit(null_message(path.source, path.path, shape))), *faults]


def _faults_of_value(column: Sql, shape: Shape, path: FieldPath) -> list[Fault]:
    """Returns the faults of values that are not null."""
    match shape:
        case EnumOf(cls=cls):
            valid = column.is_null() | column.is_in(*cls.__members__)
            return [Fault(~valid, _member_message(column, shape, path))]
        case ListOf(of=inner) | SetOf(of=inner):
            item_path = path.child("[…]" if isinstance(shape, ListOf) else "{…}")
            messages = sql.transform(column, lambda item: first_message(faults_of(item, inner, item_path)))
            first = sql.get(sql.filter(messages, lambda message: message.is_not_null()), 0)
            return [
                Fault(sql.exists(column, lambda item: is_faulty(faults_of(item, inner, item_path))), first)
            ]
        case RecordOf() | TupleOf() | SumOf():
            of_parts = (
                Fault(column.is_not_null() & fault.where, fault.message)
                for name, part in parts_of(shape)
                for fault in faults_of(column[name], part, path.child(f".{name}"))
            )
            return (
                [_fault_of_sum(column, shape, path), *of_parts] if isinstance(shape, SumOf) else [*of_parts]
            )
        case Scalar() if shape in (TIMESTAMP, DAY):
            number, outside = _outside_years(column, shape)
            years = sql.concat(years_message(path.source, path.path, shape), number.cast("string"))
            return [Fault(outside, years)]
        case Scalar() if shape == TEXT:
            return [Fault(~sql.is_valid_utf8(column), _utf_8_message(column, path))]
        case _:
            return []


def _fault_of_sum(column: Sql, shape: SumOf, path: FieldPath) -> Fault:
    """Returns the fault of a sum of which not exactly one member is set."""
    number = number_of_members(column, shape)
    message = sql.concat(sum_message(path.source, path.path, shape), number.cast("string"))
    return Fault(column.is_not_null() & (number != 1), message)


def require_one_member(
    member: Columns, whole: Sql, shape: SumOf, path: FieldPath, keep: Sql | None
) -> Columns:
    """Returns a member of a sum, which fails the query unless exactly one member of each kept value is not null."""
    assert isinstance(member, Leaf), "an optional is one column"
    fault = _fault_of_sum(whole, shape, path)
    is_null = fail_for_element(null_message(path.source, path.path, shape))
    checked = sql.when(fault.where, fail_for_element(fault.message)).otherwise(member.column)
    column = sql.when(whole.is_null(), is_null).otherwise(checked)
    return Leaf(member.shape, column if keep is None else sql.when(keep, column))


def _outside_years(column: Sql, shape: Scalar) -> tuple[Sql, Sql]:
    """Returns times or days as numbers since the epoch, and whether Python has no value for them."""
    if shape == DAY:
        number = sql.unix_date(column)
        return number, ~number.between(FIRST_DAY, LAST_DAY)
    number = sql.unix_micros(column)
    return number, ~number.between(FIRST_MICROSECOND, LAST_MICROSECOND)


def _member_message(column: Sql, shape: EnumOf, path: FieldPath) -> Sql:
    return sql.concat(member_message(path.source, path.path, shape), sql.make_valid_utf8(column))


def _utf_8_message(column: Sql, path: FieldPath) -> Sql:
    return sql.concat(utf_8_message(path.source, path.path), sql.make_valid_utf8(column))


def without_faults(column: Sql, shape: Shape, path: FieldPath) -> Sql:
    """Returns a column of values that have no faults, each in its normal form."""
    kind = present(shape)
    if isinstance(kind, Scalar | EnumOf):
        return floats.canonical(column) if kind == FLOAT else column
    return require_valid(column, shape, path)


def require_valid(column: Sql, shape: Shape, path: FieldPath) -> Sql:
    """Returns a column that fails the query for invalid values, and for null unless the shape is optional."""
    value = check_values(column, shape, path)
    if isinstance(shape, Nullable) or not path.nullable:
        return value
    return sql.ifnull(value, fail_for_element(null_message(path.source, path.path, shape)))


def check_values(column: Sql, shape: Shape, path: FieldPath) -> Sql:
    """Returns a column that fails the query for invalid values. Nulls stay, and sets are sorted."""
    match shape:
        case Scalar() if shape in (TIMESTAMP, DAY):
            number, outside = _outside_years(column, shape)
            message = sql.concat(years_message(path.source, path.path, shape), number.cast("string"))
            return sql.when(outside, fail_for_element(message)).otherwise(column)
        case Scalar() if shape == TEXT:
            invalid = ~sql.is_valid_utf8(column)
            return sql.when(invalid, fail_for_element(_utf_8_message(column, path))).otherwise(column)
        case Scalar() if shape == FLOAT:
            return floats.canonical(column)
        case Scalar() | MapOf():
            return column
        case OptionalOf(of=inner) | MaybeOf(of=inner):
            return check_values(column, inner, path)
        case EnumOf(cls=cls):
            unknown = fail_for_element(_member_message(column, shape, path))
            return sql.when(column.is_null() | column.is_in(*cls.__members__), column).otherwise(unknown)
        case ListOf(of=inner):
            return sql.transform(column, lambda item: require_valid(item, inner, path.child("[…]")))
        case SetOf(of=inner):
            items = sql.transform(column, lambda item: require_valid(item, inner, path.child("{…}")))
            return sql.sort_array(sql.array_distinct(items))
        case RecordOf() | TupleOf() | SumOf():
            parts = (
                require_valid(column[name], part, path.child(f".{name}")).alias(name)
                for name, part in parts_of(shape)
            )
            whole: Sql = sql.when(column.is_not_null(), sql.struct(*parts))
            if not isinstance(shape, SumOf):
                return whole
            fault = _fault_of_sum(column, shape, path)
            return sql.when(fault.where, fail_for_element(fault.message)).otherwise(whole)
