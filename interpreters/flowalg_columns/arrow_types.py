"""The types of columns by shape: a library of columns gives its scalars, lists and structs; here those of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar, assert_never

import pyarrow as pa
from attrs import frozen

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

T = TypeVar("T")


@frozen
class ColumnTypes(Generic[T]):
    """The types of a library of columns. Called with a shape, it returns the type of its columns.

    An enum is the name of its member. Sets and mappings are lists that are sorted by ``flowalg.data.values.sort_key``,
    so equal sets are equal lists.
    """

    scalars: Mapping[Scalar, T]
    list_of: Callable[[T], T]
    struct_of: Callable[[Sequence[tuple[str, T]]], T]

    def __call__(self, shape: Shape) -> T:
        """Returns the type of a shape."""
        match shape:
            case Scalar():
                return self.scalars[shape]
            case EnumOf():
                return self.scalars[TEXT]
            case OptionalOf(of=inner):
                return self(inner)
            case ListOf(of=inner) | SetOf(of=inner):
                return self.list_of(self(inner))
            case MapOf():
                return self.list_of(self(shape.item))
            case TupleOf() | RecordOf():
                return self.struct_of([(name, self(part)) for name, part in parts_of(shape)])
        assert_never(shape)


arrow_type: Final[ColumnTypes[pa.DataType]] = ColumnTypes(
    {
        BOOLEAN: pa.bool_(),
        INTEGER: pa.int64(),
        FLOAT: pa.float64(),
        TEXT: pa.string(),
        BINARY: pa.binary(),
        TIMESTAMP: pa.timestamp("us", tz="UTC"),
        DAY: pa.date32(),
        DURATION: pa.duration("us"),
        DECIMAL: pa.decimal128(DECIMAL_PRECISION, DECIMAL_SCALE),
    },
    lambda inner: pa.list_(inner),
    lambda parts: pa.struct([pa.field(name, part) for name, part in parts]),
)
"""Returns the Arrow type of a shape."""
