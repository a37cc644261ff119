"""Conversion of values to and from Arrow arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from itertools import count
from operator import attrgetter
from types import NoneType
from typing import Any, TypeAlias, assert_never, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from returns.maybe import Maybe, Nothing, Some

from flowalg.data import shapes
from flowalg.data.kv import KV
from flowalg.data.time import (
    EPOCH,
    FIRST_DAY,
    FIRST_MICROSECOND,
    LAST_DAY,
    LAST_MICROSECOND,
    MICROSECOND,
)
from flowalg.data.values import canonical_decimal, conform, sort_key
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import Branch, Layout, Leaf, leaves, parts_of
from flowalg_columns.records import build_records

AnyArray: TypeAlias = "pa.Array[Any]"
"""An Arrow array of any type."""

AnyColumn: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"


def read_elements(layout: Layout, table: pa.RecordBatch | pa.Table) -> list[object]:
    """Reads the elements in the columns of a table."""
    return read_arrays(layout, {leaf.column: table.column(leaf.column) for leaf in leaves(layout)})


def read_arrays(layout: Layout, columns: Mapping[str, AnyColumn]) -> list[object]:
    """Reads elements from arrays, which are named by the leaves of a layout."""
    match layout:
        case Leaf(shape=shape, column=name):
            return _decode_array(columns[name], shape)
        case Branch(shape=shape, parts=parts):
            return build_values(shape, [read_arrays(part, columns) for part in parts])


def build_values(shape: shapes.Composite, columns: list[list[object]]) -> list[object]:
    """Builds the values of a shape from columns of its parts, of which there is one at least."""
    match shape:
        case shapes.TupleOf():
            return list(zip(*columns, strict=True))
        case shapes.RecordOf(cls=cls):
            return build_records(cls, columns)
        case shapes.SumOf():
            return [next(part for part in parts if part is not None) for parts in zip(*columns, strict=True)]
    assert_never(shape)


def _decode_array(column: AnyColumn, shape: shapes.Shape) -> list[object]:
    """Decodes an array to Python values. Integers, floats and timestamps pass through NumPy, which is faster."""
    if shape in (shapes.INTEGER, shapes.FLOAT) and not column.null_count:
        return _to_list(column.to_numpy(zero_copy_only=False))
    if shape == shapes.TIMESTAMP and not column.null_count:
        durations = _to_list(column.cast(pa.int64()).to_numpy(zero_copy_only=False).astype("timedelta64[us]"))
        return list(map(EPOCH.__add__, cast("list[timedelta]", durations)))
    values: list[object] = list(column.to_pylist())
    if isinstance(shape, shapes.Scalar) and shape not in (shapes.TIMESTAMP, shapes.DECIMAL):
        return values
    return [decode(value, shape) for value in values]


def _to_list(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> list[object]:
    values: list[object] = array.tolist()
    return values


def read_integers(batch: pa.RecordBatch | pa.Table, name: str) -> list[int]:
    """Reads a column of integers without nulls."""
    return cast("list[int]", _decode_array(batch.column(name), shapes.INTEGER))


def decode(value: object, shape: shapes.Shape) -> object:
    """Decodes a value from Arrow to the Python value of its shape."""
    match shape:
        case shapes.Scalar():
            return _decode_scalar(value)
        case shapes.OptionalOf(of=inner):
            return None if value is None else decode(value, inner)
        case shapes.MaybeOf(of=inner):
            return Nothing if value is None else Some(decode(value, inner))
        case shapes.EnumOf(cls=cls):
            return cls[cast("str", value)]
        case shapes.ListOf(of=inner):
            return [decode(item, inner) for item in cast("list[object]", value)]
        case shapes.SetOf(of=inner):
            return shape.make(decode(item, inner) for item in cast("list[object]", value))
        case shapes.MapOf(key=key, value=inner):
            entries = cast("list[dict[str, object]]", value)
            return {decode(entry["key"], key): decode(entry["value"], inner) for entry in entries}
        case shapes.RecordOf() | shapes.TupleOf() | shapes.SumOf():
            struct = cast("dict[str, object]", value)
            return build_values(shape, [[decode(struct[name], part)] for name, part in parts_of(shape)])[0]
    assert_never(shape)


def decode_leniently(value: object, shape: shapes.Shape) -> object:
    """Decodes a stored value to the Python value of its shape as far as it has one: nulls and unknown names stay.

    A time or day may be its number since the epoch, which stays if Python has no value for it.
    """
    match shape:
        case shapes.OptionalOf(of=inner):
            return decode_leniently(value, inner)
        case shapes.MaybeOf(of=inner):
            return Nothing if value is None else Some(decode_leniently(value, inner))
        case shapes.EnumOf(cls=cls):
            return cls.__members__.get(value, value) if isinstance(value, str) else value
        case shapes.ListOf(of=inner) if isinstance(value, list):
            return [decode_leniently(item, inner) for item in value]
        case shapes.SetOf(of=inner) if isinstance(value, list):
            return shape.make(decode_leniently(item, inner) for item in value)
        case shapes.TupleOf() if isinstance(value, Mapping):
            return tuple(decode_leniently(value[name], part) for name, part in parts_of(shape))
        case shapes.RecordOf(cls=cls, fields=fields) if isinstance(value, Mapping):
            # Not by its constructor, which may reject what is stored.
            record: object = object.__new__(cls)
            for field in fields:
                object.__setattr__(record, field.attribute, decode_leniently(value[field.name], field.shape))
            return record
        case shapes.SumOf(members=members) if isinstance(value, Mapping):
            parts = {
                part.name: decode_leniently(value[part.name], shapes.optional(part.shape)) for part in members
            }
            present = [part for part in parts.values() if part is not None]
            return present[0] if len(present) == 1 else parts
        case shapes.Scalar() if isinstance(value, int) and shape == shapes.TIMESTAMP:
            in_range = FIRST_MICROSECOND <= value <= LAST_MICROSECOND
            return EPOCH + timedelta(microseconds=value) if in_range else value
        case shapes.Scalar() if isinstance(value, int) and shape == shapes.DAY:
            return EPOCH.date() + timedelta(days=value) if FIRST_DAY <= value <= LAST_DAY else value
        case _:
            return value.astimezone(UTC) if isinstance(value, datetime) else value


def _decode_scalar(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return canonical_decimal(value, "a stored value") if isinstance(value, Decimal) else value


def encode(value: object, shape: shapes.Shape) -> object:
    """Encodes a Python value of a shape for Arrow."""
    match shape:
        case shapes.Scalar():
            return value
        case shapes.OptionalOf(of=inner):
            return None if value is None else encode(value, inner)
        case shapes.MaybeOf(of=inner):
            return encode(cast("Maybe[object]", value).value_or(None), shapes.optional(inner))
        case shapes.EnumOf():
            return cast("Enum", value).name
        case shapes.ListOf(of=inner):
            return [encode(item, inner) for item in cast("list[object]", value)]
        case shapes.SetOf(of=inner):
            return [encode(item, inner) for item in sort_values(cast("Iterable[object]", value))]
        case shapes.MapOf():
            pairs = cast("Mapping[object, object]", value)
            return [encode(KV(key, pairs[key]), shape.item) for key in sort_values(pairs)]
        case shapes.TupleOf(items=items):
            names = (name for name, _ in parts_of(shape))
            values = cast("tuple[object, ...]", value)
            return {
                name: encode(item, item_shape)
                for name, item, item_shape in zip(names, values, items, strict=True)
            }
        case shapes.RecordOf(fields=fields):
            return {field.name: encode(getattr(value, field.attribute), field.shape) for field in fields}
        case shapes.SumOf(members=members):
            position = shape.position(value)
            return {
                member.name: encode(value, member.shape) if number == position else None
                for number, member in enumerate(members)
            }
    assert_never(shape)


def sort_values(values: Iterable[object]) -> list[object]:
    """Sorts the items of a set or mapping in the order in which they are stored."""
    return sorted(values, key=sort_key)


def write_arrays(layout: Layout, elements: list[object], where: str) -> list[AnyArray]:
    """Writes elements to arrays, one for each leaf of a layout, in order.

    Raises ``ElementError`` for an element of another shape; the message starts with ``where`` and the path in it.
    """
    match layout:
        case Leaf(shape=shape):
            return [_write_leaf(elements, shape, where)]
        case Branch(shape=shape, parts=parts):
            columns = _part_values(elements, shape, where)
            return [
                array
                for part, (name, values) in zip(parts, columns, strict=True)
                for array in write_arrays(part, values, f"{where}{name}")
            ]


def write_nested(shape: shapes.Shape, elements: list[object], where: str) -> AnyArray:
    """Writes elements to one array, with structs for values with parts. Raises as ``write_arrays`` does."""
    if not isinstance(shape, shapes.Composite):
        return _write_leaf(elements, shape, where)
    columns = _part_values(elements, shape, where)
    arrays = [
        write_nested(part, values, f"{where}{name}")
        for (_, part), (name, values) in zip(parts_of(shape), columns, strict=True)
    ]
    if not arrays:
        return pa.array([{}] * len(elements), pa.struct([]))
    return pa.StructArray.from_arrays(arrays, names=[name for name, _ in parts_of(shape)])


def _part_values(
    elements: list[object], shape: shapes.Composite, where: str
) -> list[tuple[str, list[object]]]:
    """Returns the values of each part of elements, with the part's name in messages."""
    if isinstance(shape, shapes.SumOf):
        positions = [shape.position(element) for element in elements]
        if None in positions:
            conform(elements[positions.index(None)], shape, where)  # raises
        return [
            ("", [element if at == number else None for element, at in zip(elements, positions, strict=True)])
            for number in range(len(shape.members))
        ]
    if isinstance(shape, shapes.RecordOf):
        if not set(map(type, elements)) <= {shape.cls}:
            elements = [conform(element, shape, where) for element in elements]
        return [
            (f".{field.name}", list(map(attrgetter(field.attribute), elements))) for field in shape.fields
        ]
    if set(map(type, elements)) <= {tuple} and set(map(len, cast("list[Sized]", elements))) <= {
        len(shape.items)
    }:
        rows = cast("list[tuple[object, ...]]", elements)
    else:
        rows = [cast("tuple[object, ...]", conform(element, shape, where)) for element in elements]
    return [(f"[{index}]", [row[index] for row in rows]) for index in range(len(shape.items))]


def _write_leaf(values: list[object], shape: shapes.Shape, where: str) -> AnyArray:
    """Writes the values of a leaf to an array, each in its canonical form."""
    if not _are_canonical(values, shape):
        values = [conform(value, shape, where) for value in values]
    is_scalar = isinstance(shapes.required(shape), shapes.Scalar)
    encoded = values if is_scalar else [encode(value, shape) for value in values]
    try:
        array = pa.array(encoded, arrow_type(shape))
        return pc.add(array, 0.0) if shapes.present(shape) == shapes.FLOAT else array  # -0.0 + 0.0 is 0.0
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
        # A number exceeds 64 bits, or a text has a lone surrogate: conform raises an error that names it.
        checked = [encode(conform(value, shape, where), shape) for value in values]
        return encoded_array(checked, arrow_type(shape))


def encoded_table(rows: list[dict[str, object]], schema: pa.Schema) -> pa.Table:
    """Writes encoded values by column to a table."""
    try:
        return pa.Table.from_pylist(rows, schema=schema)
    except pa.ArrowInvalid:
        columns = [encoded_array([row.get(field.name) for row in rows], field.type) for field in schema]
        return pa.Table.from_arrays(columns, schema=schema)


def encoded_array(encoded: Sequence[object], kind: pa.DataType) -> AnyArray:
    """Writes encoded values to an array, with their durations as integers on the way.

    Arrow rejects a Python duration within a day of the least one of 64 bits, but not its number of microseconds.
    """
    return pa.array(map(_durations_as_integers, encoded), _with_integers(kind)).cast(kind)


def _durations_as_integers(encoded: object) -> object:
    """Returns an encoded value with the microseconds of its durations."""
    if isinstance(encoded, timedelta):
        return encoded // MICROSECOND
    if isinstance(encoded, list):
        return list(map(_durations_as_integers, encoded))
    if isinstance(encoded, dict):
        return {name: _durations_as_integers(part) for name, part in encoded.items()}
    return encoded


def _with_integers(kind: pa.DataType) -> pa.DataType:
    """Returns a type with integers for its durations."""
    if pa.types.is_duration(kind):
        return pa.int64()
    if isinstance(kind, pa.ListType | pa.LargeListType):
        make = pa.list_ if isinstance(kind, pa.ListType) else pa.large_list
        return make(_with_integers(kind.value_type))
    if isinstance(kind, pa.StructType):
        return pa.struct([field.with_type(_with_integers(field.type)) for field in kind])
    return kind


def _are_canonical(values: list[object], shape: shapes.Shape) -> bool:
    """Returns whether all values are surely canonical, by a fast check of their types."""
    kind = shapes.required(shape)
    allowed = {NoneType} if isinstance(shape, shapes.OptionalOf) else set[type]()
    if (
        not isinstance(kind, shapes.Scalar)
        or not set(map(type, values)) <= {kind.python, *allowed}
        or kind == shapes.DECIMAL
    ):
        return False
    return kind != shapes.TIMESTAMP or all(
        value is None or cast("datetime", value).tzinfo is UTC for value in values
    )


def times_as_integers(kind: pa.DataType) -> pa.DataType:
    """Returns a type in which times and days are their numbers since the epoch, as integers."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if isinstance(kind, pa.ListType):
        return pa.list_(times_as_integers(kind.value_type))
    if isinstance(kind, pa.LargeListType):
        return pa.large_list(times_as_integers(kind.value_type))
    if isinstance(kind, pa.StructType):
        return pa.struct([field.with_type(times_as_integers(field.type)) for field in kind])
    return kind


def take_indices(chosen: Iterable[bool]) -> AnyArray:
    """Returns indices for ``take`` that move the values of chosen rows back to their positions among all rows.

    The index is null for rows that are not chosen.
    """
    indices = count()
    return pa.array([next(indices) if is_chosen else None for is_chosen in chosen], pa.int64())
