"""The types of columns by shape: a library of columns gives its scalars, lists and structs; here those of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar, assert_never

import pyarrow as pa
from attrs import frozen

from flowalg.data import shapes
from flowalg_columns.layout import parts_of

T = TypeVar("T")


@frozen
class ColumnTypes(Generic[T]):
    """The types of a library of columns. Called with a shape, it returns the type of its columns.

    An enum is the name of its member. Sets and mappings are lists that are sorted by ``flowalg.data.values.sort_key``,
    so equal sets are equal lists.
    """

    scalars: Mapping[shapes.Scalar, T]
    list_of: Callable[[T], T]
    struct_of: Callable[[Sequence[tuple[str, T]]], T]

    def __call__(self, shape: shapes.Shape) -> T:
        """Returns the type of a shape."""
        match shape:
            case shapes.Scalar():
                return self.scalars[shape]
            case shapes.EnumOf():
                return self.scalars[shapes.TEXT]
            case shapes.OptionalOf(of=inner) | shapes.MaybeOf(of=inner):
                return self(inner)
            case shapes.ListOf(of=inner) | shapes.SetOf(of=inner):
                return self.list_of(self(inner))
            case shapes.MapOf():
                return self.list_of(self(shape.item))
            case shapes.TupleOf() | shapes.RecordOf() | shapes.SumOf():
                return self.struct_of([(name, self(part)) for name, part in parts_of(shape)])
        assert_never(shape)


arrow_type: Final[ColumnTypes[pa.DataType]] = ColumnTypes(
    {
        shapes.BOOLEAN: pa.bool_(),
        shapes.INTEGER: pa.int64(),
        shapes.FLOAT: pa.float64(),
        shapes.TEXT: pa.string(),
        shapes.BINARY: pa.binary(),
        shapes.TIMESTAMP: pa.timestamp("us", tz="UTC"),
        shapes.DAY: pa.date32(),
        shapes.DURATION: pa.duration("us"),
        shapes.DECIMAL: pa.decimal128(shapes.DECIMAL_PRECISION, shapes.DECIMAL_SCALE),
    },
    lambda inner: pa.list_(inner),
    lambda parts: pa.struct([pa.field(name, part) for name, part in parts]),
)
"""Returns the Arrow type of a shape."""
