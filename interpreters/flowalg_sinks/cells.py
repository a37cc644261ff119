"""Encodes elements as the cells of a row.

Each field of a record and each item of a tuple has a column, also if they are nested; its name is the path, with
underscores: ``key``, ``value_total``, ``value_1``. Other values with parts are JSON, in one column.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from enum import Enum
from typing import Final, cast

from flowalg_columns.json_text import encode_json
from flowalg_columns.layout import PATH_SEPARATOR, fields_in, layout_of, leaves
from returns.maybe import Maybe

from flowalg.data import shapes
from flowalg.data.json_text import strip_zeros
from flowalg_sinks.databases.tables import Cell, CellKind, Column, Row

_KINDS: Final[dict[shapes.Scalar, CellKind]] = {
    shapes.BOOLEAN: CellKind.BOOLEAN,
    shapes.INTEGER: CellKind.INTEGER,
    shapes.FLOAT: CellKind.FLOAT,
    shapes.TEXT: CellKind.TEXT,
    shapes.BINARY: CellKind.BINARY,
    shapes.TIMESTAMP: CellKind.TIMESTAMP,
    shapes.DAY: CellKind.DAY,
    shapes.DURATION: CellKind.DURATION,
    shapes.DECIMAL: CellKind.DECIMAL,
}


def element_columns(shape: shapes.Shape) -> tuple[Column, ...]:
    """Returns the columns of elements of a shape: those of a record's fields, else of the only field ``value``."""
    return tuple(column for name, field in fields_in(shape) for column in field_columns(name, field))


def field_columns(name: str, shape: shapes.Shape) -> tuple[Column, ...]:
    """Returns the columns of a field of an element."""
    layout = layout_of(shape, name)
    return tuple(
        Column(_column_name(leaf.column), _kind(leaf.shape), isinstance(leaf.shape, shapes.Nullable))
        for leaf in leaves(layout)
    )


def to_cells(element: object, shape: shapes.Shape) -> Row:
    """Returns the cells of an element of a shape."""
    return tuple(_cells(element, shape))


def _column_name(path: str) -> str:
    # The items of a tuple have the names _1, _2, ...
    return path.replace(f"{PATH_SEPARATOR}_", "_").replace(PATH_SEPARATOR, "_")


def _kind(shape: shapes.Shape) -> CellKind:
    match shape:
        case shapes.Scalar():
            return _KINDS[shape]
        case shapes.EnumOf():
            return CellKind.TEXT
        case (
            shapes.OptionalOf(of=shapes.Scalar() | shapes.EnumOf() as inner)
            | shapes.MaybeOf(of=shapes.Scalar() | shapes.EnumOf() as inner)
        ):
            return _kind(inner)
        case _:
            return CellKind.JSON


def _cells(value: object, shape: shapes.Shape) -> Iterator[Cell]:
    match shape:
        case shapes.RecordOf(fields=fields):
            for field in fields:
                yield from _cells(getattr(value, field.attribute), field.shape)
        case shapes.TupleOf(items=items):
            for item, inner in zip(cast("tuple[object, ...]", value), items, strict=True):
                yield from _cells(item, inner)
        case shapes.SumOf(members=members):
            position = shape.position(value)
            for number, member in enumerate(members):
                yield None if number != position else _cell(value, member.shape)
        case _:
            yield _cell(value, shape)


def _cell(value: object, shape: shapes.Shape) -> Cell:
    match shape:
        case shapes.Scalar():
            return strip_zeros(value) if isinstance(value, Decimal) else cast("Cell", value)
        case shapes.EnumOf():
            return cast("Enum", value).name
        case shapes.OptionalOf(of=inner) | shapes.MaybeOf(of=inner):
            found = value.value_or(None) if isinstance(value, Maybe) else value
            return None if found is None else _cell(found, inner)
        case _:
            return encode_json(value, shape)


def field_of(element: object, name: str, shape: shapes.Shape) -> object:
    """Returns the value of an element's field, by its name in ``fields_in``."""
    field = shape.field(name) if isinstance(shape, shapes.RecordOf) else None
    return element if field is None else getattr(element, field.attribute)
