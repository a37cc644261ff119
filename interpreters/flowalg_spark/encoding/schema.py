"""The Spark types of shapes, and the Arrow types of Spark's."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from flowalg_columns.arrow_types import ColumnTypes
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
)

spark_type: Final[ColumnTypes[T.DataType]] = ColumnTypes(
    {
        BOOLEAN: T.BooleanType(),
        INTEGER: T.LongType(),
        FLOAT: T.DoubleType(),
        TEXT: T.StringType(),
        BINARY: T.BinaryType(),
        TIMESTAMP: T.TimestampType(),
        DAY: T.DateType(),
        DURATION: T.DayTimeIntervalType(),
        DECIMAL: T.DecimalType(DECIMAL_PRECISION, DECIMAL_SCALE),
    },
    T.ArrayType,
    lambda parts: T.StructType([T.StructField(name, part) for name, part in parts]),
)
"""Returns the Spark type of a shape."""
_ARROW_TYPES: Final[dict[T.DataType, pa.DataType]] = {
    T.BooleanType(): pa.bool_(),
    T.ByteType(): pa.int8(),
    T.IntegerType(): pa.int32(),
    T.LongType(): pa.int64(),
    T.DoubleType(): pa.float64(),
    T.StringType(): pa.string(),
    T.BinaryType(): pa.binary(),
    T.TimestampType(): pa.timestamp("us", tz="UTC"),
    T.DateType(): pa.date32(),
    T.DayTimeIntervalType(): pa.duration("us"),
    T.DecimalType(DECIMAL_PRECISION, DECIMAL_SCALE): pa.decimal128(DECIMAL_PRECISION, DECIMAL_SCALE),
}


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """Returns the Arrow schema of a flow's columns, with timestamps in UTC."""
    return pa.schema([pa.field(field.name, _arrow_of_spark(field.dataType)) for field in schema.fields])


def _arrow_of_spark(kind: T.DataType) -> pa.DataType:
    match kind:
        case T.ArrayType():
            return pa.list_(_arrow_of_spark(kind.elementType))
        case T.MapType():
            return pa.map_(_arrow_of_spark(kind.keyType), _arrow_of_spark(kind.valueType))
        case T.StructType():
            return pa.struct([pa.field(field.name, _arrow_of_spark(field.dataType)) for field in kind.fields])
        case _:
            return _ARROW_TYPES[kind]
