"""Shapes as Spark and Arrow types: the one derivation that every part of the Spark interpreters uses."""

from __future__ import annotations

from typing import Final, assert_never

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import types as T

from flowalg.data.shapes import (
    BINARY,
    BOOLEAN,
    DAY,
    DECIMAL,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    DURATION,
    FLOAT,
    INTEGER,
    TEXT,
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

_SPARK: Final[dict[Scalar, T.DataType]] = {
    BOOLEAN: T.BooleanType(),
    INTEGER: T.LongType(),
    FLOAT: T.DoubleType(),
    TEXT: T.StringType(),
    BINARY: T.BinaryType(),
    TIMESTAMP: T.TimestampType(),
    DAY: T.DateType(),
    DURATION: T.DayTimeIntervalType(),
    DECIMAL: T.DecimalType(DECIMAL_PRECISION, DECIMAL_SCALE),
}
_ARROW: Final[dict[Scalar, pa.DataType]] = {
    BOOLEAN: pa.bool_(),
    INTEGER: pa.int64(),
    FLOAT: pa.float64(),
    TEXT: pa.string(),
    BINARY: pa.binary(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
    DAY: pa.date32(),
    DURATION: pa.duration("us"),
    DECIMAL: pa.decimal128(DECIMAL_PRECISION, DECIMAL_SCALE),
}


_ARROW_OF_SPARK: Final[dict[T.DataType, pa.DataType]] = {
    **{_SPARK[scalar]: kind for scalar, kind in _ARROW.items()},
    T.ByteType(): pa.int8(),
    T.IntegerType(): pa.int32(),
}


def parts_of(shape: RecordOf | TupleOf) -> tuple[tuple[str, Shape], ...]:
    """The named parts of a record or tuple; the items of a tuple are ``_1``, ``_2`` and so on."""
    if isinstance(shape, RecordOf):
        return tuple((one.name, one.shape) for one in shape.fields)
    return tuple((f"_{index + 1}", one) for index, one in enumerate(shape.items))


def fields_in(shape: Shape) -> tuple[tuple[str, Shape], ...]:
    """The fields of an element as its frame has them: those of a record, else the one column ``value``."""
    return parts_of(shape) if isinstance(shape, RecordOf) else (("value", shape),)


def spark_type(shape: Shape) -> T.DataType:
    """The Spark type of a shape.

    Enums travel as their member's name; sets, and the pairs of a mapping, as an array in the one order of
    ``flowalg.values.sort_key``, so that equal ones are equal arrays.
    """
    match shape:
        case Scalar():
            return _SPARK[shape]
        case EnumOf():
            return T.StringType()
        case OptionalOf(of=inner):
            return spark_type(inner)
        case ListOf(of=inner) | SetOf(of=inner):
            return T.ArrayType(spark_type(inner))
        case MapOf():
            return T.ArrayType(spark_type(shape.item))
        case TupleOf() | RecordOf():
            return T.StructType([T.StructField(name, spark_type(one)) for name, one in parts_of(shape)])
    assert_never(shape)


def cast_to(column: Column, kind: T.DataType) -> Column:
    """A column as a Spark type.

    A simple type goes by its name, which takes one call of the JVM, and any other six. What ``timestamp`` names is for
    a setting of Spark to say, so that it does not.
    """
    named = isinstance(kind, T.AtomicType) and not isinstance(kind, T.TimestampType)
    return column.cast(kind.simpleString() if named else kind)


def arrow_type(shape: Shape) -> pa.DataType:
    """The Arrow type of a shape."""
    match shape:
        case Scalar():
            return _ARROW[shape]
        case EnumOf():
            return pa.string()
        case OptionalOf(of=inner):
            return arrow_type(inner)
        case ListOf(of=inner) | SetOf(of=inner):
            return pa.list_(arrow_type(inner))
        case MapOf():
            return pa.list_(arrow_type(shape.item))
        case TupleOf() | RecordOf():
            return pa.struct([pa.field(name, arrow_type(one)) for name, one in parts_of(shape)])
    assert_never(shape)


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """The Arrow schema of the columns of a flow, timestamps in UTC."""
    return pa.schema([pa.field(one.name, _arrow_of_spark(one.dataType)) for one in schema.fields])


def _arrow_of_spark(kind: T.DataType) -> pa.DataType:
    match kind:
        case T.ArrayType():
            return pa.list_(_arrow_of_spark(kind.elementType))
        case T.MapType():
            return pa.map_(_arrow_of_spark(kind.keyType), _arrow_of_spark(kind.valueType))
        case T.StructType():
            return pa.struct([pa.field(one.name, _arrow_of_spark(one.dataType)) for one in kind.fields])
        case _:
            return _ARROW_OF_SPARK[kind]


__all__ = ["arrow_schema", "arrow_type", "cast_to", "fields_in", "parts_of", "spark_type"]
