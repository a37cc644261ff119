"""The Arrow types of shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, assert_never

import pyarrow as pa

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
from flowalg_columns.layout import parts_of

_TYPES: Final[Mapping[Scalar, pa.DataType]] = {
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


def arrow_type(shape: Shape) -> pa.DataType:
    """Returns the Arrow type of a shape.

    An enum is the name of its member. Sets and mappings are lists that are sorted by ``flowalg.data.values.sort_key``,
    so equal sets are equal lists.
    """
    match shape:
        case Scalar():
            return _TYPES[shape]
        case EnumOf():
            return pa.string()
        case OptionalOf(of=inner):
            return arrow_type(inner)
        case ListOf(of=inner) | SetOf(of=inner):
            return pa.list_(arrow_type(inner))
        case MapOf():
            return pa.list_(arrow_type(shape.item))
        case TupleOf() | RecordOf():
            return pa.struct([pa.field(name, arrow_type(part)) for name, part in parts_of(shape)])
    assert_never(shape)
