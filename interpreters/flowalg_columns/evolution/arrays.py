"""Evolutions of columns: arrays of an old structure become arrays of a new shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from flowalg.data.shapes import Composite, OptionalOf, Shape
from flowalg.evolution.changes import (
    Applied,
    AsMember,
    Each,
    Evolution,
    Members,
    Part,
    Parts,
    Present,
    Same,
    Widened,
)
from flowalg.evolution.documents import apply_declared
from flowalg.evolution.structure import OPTIONAL, RECORD, SUM, TUPLE, Structure
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import PATH_SEPARATOR, VALUE, layout_of, leaf_columns, parts_of
from flowalg_columns.values import AnyArray, decode, take_indices, write_nested


def evolve_array(array: AnyArray, change: Evolution) -> AnyArray:
    """Returns an array after an evolution of its values, of which none is missing unless the evolution says so.

    Raises ``ArrowInvalid`` for a number that does not fit, and what a function of ``evolves`` raises.
    """
    match change:
        case Same():
            return array
        case Widened(to=to):
            return pc.cast(array, arrow_type(to), safe=True)
        case Present(of=of):
            present = array.is_valid()
            if not array.null_count:
                return evolve_array(array, of)
            return evolve_array(array.filter(present), of).take(take_indices(map(bool, present.to_pylist())))
        case Each(of=of):
            return _of_items(array, of)
        case Parts(parts=parts) | Members(members=parts):
            return _of_parts(array, parts)
        case AsMember(name=name, of=of, members=members):
            columns = [
                evolve_array(array, of) if member == name else _nulls(len(array), shape)
                for member, shape in members
            ]
            return pa.StructArray.from_arrays(columns, names=[member for member, _ in members])
        case Applied(old=old, new=new):
            values = [apply_declared(change, decode(value, old)) for value in array.to_pylist()]
            return write_nested(new, values, "the result of evolves(...)")
    assert_never(change)


def _of_items(array: AnyArray, of: Evolution) -> AnyArray:
    assert isinstance(array, pa.LargeListArray), "lists are as Polars has them"
    lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
    items = evolve_array(array.flatten(), of)
    return pa.LargeListArray.from_arrays(offsets, items, mask=array.is_null() if array.null_count else None)


def _of_parts(array: AnyArray, parts: Sequence[Part]) -> AnyArray:
    assert isinstance(array, pa.StructArray), "values with parts are structs"
    names = [field.name for field in array.type]
    old = dict(zip(names, array.flatten(), strict=True))
    columns = [
        _default(part, len(array)) if part.before is None else evolve_array(old[part.before], part.change)
        for part in parts
    ]
    return pa.StructArray.from_arrays(columns, names=[part.name for part in parts])


def _nulls(length: int, shape: Shape) -> AnyArray:
    return pa.array([None] * length, arrow_type(shape))


def _default(part: Part, length: int) -> AnyArray:
    assert part.shape is not None, "values in columns have a known type"
    if part.default is None and isinstance(part.shape, OptionalOf):
        return _nulls(length, part.shape)
    return write_nested(part.shape, [part.default] * length, f"the default of {part.name}")


def columns_of_structure(structure: Structure, name: str) -> tuple[str, ...]:
    """Returns the names of the columns of a structure, as ``layout_of`` has them of a shape."""
    if structure.kind not in (RECORD, TUPLE, SUM):
        return (name or VALUE,)
    prefix = f"{name}{PATH_SEPARATOR}" if name else ""
    return tuple(
        column for part, of in _parts(structure) for column in columns_of_structure(of, f"{prefix}{part}")
    )


def _parts(structure: Structure) -> tuple[tuple[str, Structure], ...]:
    if structure.kind != SUM:
        return structure.parts
    return tuple((name, Structure(OPTIONAL, (("", of),))) for name, of in structure.parts)


def evolve_columns(
    table: pl.DataFrame, before: Structure, now: Shape, change: Evolution, name: str
) -> pl.DataFrame:
    """Returns a table after an evolution of the values whose columns begin with a name."""
    old = columns_of_structure(before, name)
    if not old or not set(old) <= set(table.columns):
        return table
    evolved = evolve_array(_nested(table, before, name), change)
    columns = zip(leaf_columns(layout_of(now, name)), _flat(evolved, now), strict=True)
    return replace_columns(table, old, [to_series(column, array) for column, array in columns])


def replace_columns(table: pl.DataFrame, old: Sequence[str], new: Sequence[pl.Series]) -> pl.DataFrame:
    """Returns a table with some columns in the place of others."""
    place = min((table.columns.index(name) for name in old), default=table.width)
    columns = [column for column in table.get_columns() if column.name not in old]
    return pl.DataFrame([*columns[:place], *new, *columns[place:]])


def to_series(name: str, array: AnyArray) -> pl.Series:
    """Returns an array as a column."""
    return pl.Series(name, array)


def _nested(table: pl.DataFrame, structure: Structure, name: str) -> AnyArray:
    if structure.kind not in (RECORD, TUPLE, SUM):
        return table[name or VALUE].to_arrow()
    prefix = f"{name}{PATH_SEPARATOR}" if name else ""
    parts = _parts(structure)
    columns = [_nested(table, of, f"{prefix}{part}") for part, of in parts]
    return pa.StructArray.from_arrays(columns, names=[part for part, _ in parts])


def _flat(array: AnyArray, shape: Shape) -> list[AnyArray]:
    if not isinstance(shape, Composite):
        return [array]
    assert isinstance(array, pa.StructArray), "values with parts are structs"
    parts = zip(array.flatten(), parts_of(shape), strict=True)
    return [column for part, (_, of) in parts for column in _flat(part, of)]
