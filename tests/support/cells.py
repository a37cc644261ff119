"""Decodes the cells of a row to the element that a sink has encoded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never, cast

from flowalg_columns.json_text import decode_json
from flowalg_columns.layout import Branch, Layout, layout_of
from flowalg_columns.records import build_records
from flowalg_sinks.databases.tables import Cell, Row
from returns.maybe import Nothing, Some

from flowalg.data.shapes import EnumOf, MaybeOf, OptionalOf, RecordOf, Scalar, Shape, SumOf, TupleOf


def from_cells(cells: Row, shape: Shape) -> object:
    """Returns the element of a shape with these cells."""
    remaining = iter(cells)
    element = _element(remaining, layout_of(shape))
    assert next(remaining, remaining) is remaining, "the number of cells is that of the shape"
    return element


def _element(cells: Iterator[Cell], layout: Layout) -> object:
    if isinstance(layout, Branch):
        parts = [_element(cells, part) for part in layout.parts]
        match layout.shape:
            case RecordOf(cls=cls):
                return build_records(cls, [[part] for part in parts])[0]
            case TupleOf():
                return tuple(parts)
            case SumOf():
                return next(part for part in parts if part is not None)
        assert_never(layout.shape)
    return _value(next(cells), layout.shape)


def _value(cell: Cell, shape: Shape) -> object:
    match shape:
        case Scalar():
            return cell
        case EnumOf(cls=cls):
            return cls[cast("str", cell)]
        case OptionalOf(of=inner):
            return None if cell is None else _value(cell, inner)
        case MaybeOf(of=inner):
            return Nothing if cell is None else Some(_value(cell, inner))
        case _:
            return decode_json(cast("str", cell), shape)
