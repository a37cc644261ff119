"""Element values to and from Arrow columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sized
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import count
from operator import attrgetter
from typing import Any, TypeAlias, assert_never, cast

import numpy as np
import pyarrow as pa

from flowalg.data.kv import KV
from flowalg.data.shapes import (
    DECIMAL,
    FLOAT,
    INTEGER,
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
from flowalg.data.time import EPOCH
from flowalg.data.values import conform, sort_key
from flowalg_spark.encoding.layout import Branch, Layout, Leaf, leaves
from flowalg_spark.encoding.records import build_records
from flowalg_spark.encoding.schema import arrow_type, parts_of

AnyArray: TypeAlias = "pa.Array[Any]"
"""An array of whatever type its shape has: Arrow's stubs know no other name for that."""

AnyColumn: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"


def read_elements(layout: Layout, table: pa.RecordBatch | pa.Table) -> list[object]:
    """The elements that lie in a table's columns."""
    return read_arrays(layout, {one.column: table.column(one.column) for one in leaves(layout)})


def read_arrays(layout: Layout, columns: Mapping[str, AnyColumn]) -> list[object]:
    """The elements that lie in arrays, by the names of a layout's leaves."""
    match layout:
        case Leaf(shape=shape, column=name):
            return _decoded(columns[name], shape)
        case Branch(shape=shape, parts=parts):
            return _built(shape, [read_arrays(part, columns) for part in parts])


def _built(shape: RecordOf | TupleOf, columns: list[list[object]]) -> list[object]:
    if isinstance(shape, TupleOf):
        return list(zip(*columns, strict=True))
    return build_records(shape.cls, columns)


def _decoded(column: AnyColumn, shape: Shape) -> list[object]:
    """A column as Python values; the common kinds by way of NumPy, which makes them several times faster."""
    if shape in (INTEGER, FLOAT) and not column.null_count:
        return _list_of(column.to_numpy(zero_copy_only=False))
    if shape == TIMESTAMP and not column.null_count:
        since = _list_of(column.cast(pa.int64()).to_numpy(zero_copy_only=False).astype("timedelta64[us]"))
        return list(map(EPOCH.__add__, cast("list[timedelta]", since)))
    values: list[object] = list(column.to_pylist())
    if isinstance(shape, Scalar) and shape != TIMESTAMP:
        return values
    return [decode(value, shape) for value in values]


def _list_of(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> list[object]:
    values: list[object] = array.tolist()
    return values


def read_integers(batch: pa.RecordBatch | pa.Table, name: str) -> list[int]:
    """A column of integers without nulls."""
    return cast("list[int]", _decoded(batch.column(name), INTEGER))


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
            return shape.make(decode(item, inner) for item in cast("list[object]", value))
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
            return [encode(item, inner) for item in sort_values(cast("Iterable[object]", value))]
        case MapOf():
            pairs = cast("Mapping[object, object]", value)
            return [encode(KV(key, pairs[key]), shape.item) for key in sort_values(pairs)]
        case TupleOf(items=items):
            names = (name for name, _ in parts_of(shape))
            values = cast("tuple[object, ...]", value)
            return {n: encode(item, one) for n, item, one in zip(names, values, items, strict=True)}
        case RecordOf(fields=fields):
            return {one.name: encode(getattr(value, one.name), one.shape) for one in fields}
    assert_never(shape)


def render_json(value: object, shape: Shape) -> str:
    """A value as JSON text; what JSON has no form for, as ``str`` shows it."""
    return json.dumps(encode(value, shape), default=str, ensure_ascii=False)


def sort_values(values: Iterable[object]) -> list[object]:
    """The items of a set in the one order in which sets are stored."""
    return sorted(values, key=sort_key)


def write_arrays(layout: Layout, elements: list[object], where: str) -> list[AnyArray]:
    """Elements as the arrays of a layout's leaves, in order.

    Raises ``ElementError`` for an element that is not of the layout's shape, naming the place in it after ``where``.
    """
    match layout:
        case Leaf(shape=shape):
            return [_array(elements, shape, where)]
        case Branch(shape=shape, parts=parts):
            columns = _parts(elements, shape, where)
            return [
                array
                for part, (name, values) in zip(parts, columns, strict=True)
                for array in write_arrays(part, values, f"{where}{name}")
            ]


def write_nested(shape: Shape, elements: list[object], where: str) -> AnyArray:
    """Elements as one array, with structs for records and tuples; raises as ``write_arrays`` does."""
    if not isinstance(shape, RecordOf | TupleOf):
        return _array(elements, shape, where)
    columns = _parts(elements, shape, where)
    arrays = [
        write_nested(one, values, f"{where}{name}")
        for (_, one), (name, values) in zip(parts_of(shape), columns, strict=True)
    ]
    if not arrays:
        return pa.array([{}] * len(elements), pa.struct([]))
    return pa.StructArray.from_arrays(arrays, names=[name for name, _ in parts_of(shape)])


def _parts(elements: list[object], shape: RecordOf | TupleOf, where: str) -> list[tuple[str, list[object]]]:
    """The values of each part of records or tuples, with what a message calls the part."""
    if isinstance(shape, RecordOf):
        if not set(map(type, elements)) <= {shape.cls}:
            elements = [conform(one, shape, where) for one in elements]
        return [(f".{one.name}", list(map(attrgetter(one.name), elements))) for one in shape.fields]
    if set(map(type, elements)) <= {tuple} and set(map(len, cast("list[Sized]", elements))) <= {
        len(shape.items)
    }:
        rows = cast("list[tuple[object, ...]]", elements)
    else:
        rows = [cast("tuple[object, ...]", conform(one, shape, where)) for one in elements]
    return [(f"[{index}]", [row[index] for row in rows]) for index in range(len(shape.items))]


def _array(values: list[object], shape: Shape, where: str) -> AnyArray:
    """The array of the values of a leaf, each in its one form."""
    if not _in_form(values, shape):
        values = [conform(one, shape, where) for one in values]
    if not isinstance(shape, Scalar):
        values = [encode(one, shape) for one in values]
    try:
        return pa.array(values, arrow_type(shape))
    except OverflowError:
        # An integer beyond 64 bits: the message names it.
        return pa.array([conform(one, shape, where) for one in values], arrow_type(shape))


def _in_form(values: list[object], shape: Shape) -> bool:
    """Whether all values are in their one form already, as far as a quick look at all of them tells."""
    if not isinstance(shape, Scalar) or not set(map(type, values)) <= {shape.python} or shape == DECIMAL:
        return False
    return shape != TIMESTAMP or all(cast("datetime", one).tzinfo is UTC for one in values)


def take_indices(chosen: Iterable[bool]) -> AnyArray:
    """For each of some rows its number among those that are chosen, and null where it is not: what ``take`` needs to
    put what was made for those alone back in place.
    """
    numbers = count()
    return pa.array([next(numbers) if one else None for one in chosen], pa.int64())


__all__ = [
    "AnyArray",
    "AnyColumn",
    "decode",
    "encode",
    "read_arrays",
    "read_elements",
    "read_integers",
    "render_json",
    "sort_values",
    "write_arrays",
    "write_nested",
]
