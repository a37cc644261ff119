"""Rows of a source that cannot be records, as a column: those that ``binding`` refuses, whose errors Python gives.

A flag on a row that is a record costs time only, since Python reads that row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import or_

import polars as pl
from flowalg_columns.layout import fields_in, parts_of

from flowalg.data.shapes import (
    EnumOf,
    ListOf,
    Nullable,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    SumOf,
    TupleOf,
)
from flowalg.data.time import FIRST_DAY, FIRST_MICROSECOND, LAST_DAY, LAST_MICROSECOND
from flowalg.pipeline.nodes import SourceNode
from flowalg_polars.columns import type_of


def invalid_rows(source: SourceNode, schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """Returns whether a row cannot be a record of a source, since a field is null or Python has no such value."""
    faults = (
        fault
        for name, field in fields_in(source.shape)
        for fault in _faults(pl.col(name), schema[name], field)
    )
    return _any(faults)


def _any(conditions: Iterable[pl.Expr]) -> pl.Expr:
    return reduce(or_, (condition.fill_null(False) for condition in conditions), pl.lit(False))


def _faults(column: pl.Expr, stored: pl.DataType, shape: Shape) -> Iterator[pl.Expr]:
    if isinstance(shape, Nullable):
        for fault in _faults(column, stored, shape.of):
            yield column.is_not_null() & fault
        return
    yield column.is_null()
    match shape:
        case EnumOf(cls=cls):
            yield ~column.cast(pl.String()).is_in(list(cls.__members__))
        case ListOf(of=inner) | SetOf(of=inner) if isinstance(stored, pl.List | pl.Array):
            items = column if isinstance(stored, pl.List) else column.arr.to_list()
            yield items.list.eval(_any(_faults(pl.element(), type_of(stored.inner), inner))).list.any()
        case RecordOf() | TupleOf() | SumOf() if isinstance(stored, pl.Struct):
            types = dict(stored)
            if isinstance(shape, SumOf):
                yield count_members(column, shape) != 1
            for name, part in parts_of(shape):
                yield from _faults(column.struct.field(name), type_of(types[name]), part)
        case Scalar() if isinstance(stored, pl.Datetime | pl.Date | pl.Duration):
            yield from _outside(column.to_physical(), stored)
        case _:
            pass


def count_members(column: pl.Expr, shape: SumOf) -> pl.Expr:
    """Returns how many members of a sum are not null."""
    return pl.sum_horizontal(
        column.struct.field(member.name).is_not_null().cast(pl.Int64) for member in shape.members
    )


def _outside(number: pl.Expr, stored: pl.Datetime | pl.Date | pl.Duration) -> Iterator[pl.Expr]:
    """Yields whether Python has no such time or day, or a duration is beyond 64 bits in microseconds."""
    match stored:
        case pl.Date():
            yield ~number.is_between(FIRST_DAY, LAST_DAY)
        case pl.Datetime(time_unit="us"):
            yield ~number.is_between(FIRST_MICROSECOND, LAST_MICROSECOND)
        case pl.Datetime(time_unit="ms"):
            yield ~number.is_between(FIRST_MICROSECOND // 1_000, LAST_MICROSECOND // 1_000)
        case pl.Duration(time_unit="ms"):
            yield ~number.is_between(-(2**63) // 1_000 + 1, 2**63 // 1_000 - 1)
        case _:
            pass
