"""Element values to and from Arrow columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import assert_never, cast

import attrs
import pyarrow as pa

from flowalg.kv import KV
from flowalg.shapes import (
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
from flowalg.values import order_key
from flowalg_spark.layout import Branch, Layout, Leaf
from flowalg_spark.schema import arrow_type, parts_of


def read(layout: Layout, table: pa.RecordBatch | pa.Table) -> list[object]:
    """The elements that lie in a table's columns."""
    match layout:
        case Leaf(shape=shape, at=name):
            return _decoded(table.column(name).to_pylist(), shape)
        case Branch(shape=shape, parts=parts):
            return _built(shape, [read(part, table) for part in parts])


def _built(shape: RecordOf | TupleOf, columns: list[list[object]]) -> list[object]:
    rows = zip(*columns, strict=True)
    if isinstance(shape, TupleOf):
        return list(rows)
    names = [one.alias or one.name for one in attrs.fields(shape.cls)]
    return [shape.cls(**dict(zip(names, row, strict=True))) for row in rows]


def _decoded(values: Sequence[object], shape: Shape) -> list[object]:
    if isinstance(shape, Scalar) and shape != TIMESTAMP:
        return list(values)
    return [decode(value, shape) for value in values]


def integers(batch: pa.RecordBatch | pa.Table, name: str) -> list[int]:
    """A column of integers without nulls."""
    return cast("list[int]", batch.column(name).to_pylist())


def decode(value: object, shape: Shape) -> object:
    """A value as Arrow gives it, as the Python value of its shape."""
    match shape:
        case Scalar():
            return value.astimezone(UTC) if isinstance(value, datetime) else value
        case OptionalOf(of=inner):
            return None if value is None else decode(value, inner)
        case EnumOf(cls=cls):
            return cls[cast("str", value)]
        case ListOf(of=inner):
            return [decode(item, inner) for item in cast("list[object]", value)]
        case SetOf(of=inner):
            return shape.made(decode(item, inner) for item in cast("list[object]", value))
        case MapOf(key=key, value=inner):
            entries = cast("list[dict[str, object]]", value)
            return {decode(one["key"], key): decode(one["value"], inner) for one in entries}
        case RecordOf() | TupleOf():
            struct = cast("dict[str, object]", value)
            return _built(shape, [[decode(struct[name], one)] for name, one in parts_of(shape)])[0]
    assert_never(shape)


def encode(value: object, shape: Shape) -> object:
    """A Python value of a shape, as Arrow takes it."""
    match shape:
        case Scalar():
            return value
        case OptionalOf(of=inner):
            return None if value is None else encode(value, inner)
        case EnumOf():
            return cast("Enum", value).name
        case ListOf(of=inner):
            return [encode(item, inner) for item in cast("list[object]", value)]
        case SetOf(of=inner):
            return [encode(item, inner) for item in in_order(cast("Iterable[object]", value))]
        case MapOf():
            pairs = cast("Mapping[object, object]", value)
            return [encode(KV(key, pairs[key]), shape.item) for key in in_order(pairs)]
        case TupleOf(items=items):
            names = (name for name, _ in parts_of(shape))
            values = cast("tuple[object, ...]", value)
            return {n: encode(item, one) for n, item, one in zip(names, values, items, strict=True)}
        case RecordOf(fields=fields):
            return {one.name: encode(getattr(value, one.name), one.shape) for one in fields}
    assert_never(shape)


def in_order(values: Iterable[object]) -> list[object]:
    """The items of a set in the one order in which sets are stored."""
    return sorted(values, key=order_key)


def write(layout: Layout, elements: list[object]) -> list[pa.Array[pa.Scalar[pa.DataType]]]:
    """Elements as the arrays of a layout's leaves, in order; ``None`` for an element that is not there."""
    match layout:
        case Leaf(shape=shape):
            plain = isinstance(shape, Scalar)
            values = elements if plain else [None if one is None else encode(one, shape) for one in elements]
            return [pa.array(values, arrow_type(shape))]
        case Branch(shape=RecordOf(fields=fields), parts=parts):
            return [
                array
                for part, one in zip(parts, fields, strict=True)
                for array in write(part, [None if e is None else getattr(e, one.name) for e in elements])
            ]
        case Branch(parts=parts):
            tuples = cast("list[tuple[object, ...] | None]", elements)
            return [
                array
                for index, part in enumerate(parts)
                for array in write(part, [None if e is None else e[index] for e in tuples])
            ]


__all__ = ["decode", "encode", "in_order", "integers", "read", "write"]
