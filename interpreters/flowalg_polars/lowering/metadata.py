"""Elements paired with their metadata: the columns of an element, and those of its event time, window or pane."""

from __future__ import annotations

from typing import assert_never

import polars as pl
from flowalg_columns.layout import Branch, Leaf, layout_of
from flowalg_columns.names import END, EVENT_TIME, INDEX, IS_FIRST, IS_LAST, START, TIMING

from flowalg.data.metadata import Metadata
from flowalg.data.shapes import TIMESTAMP, RecordOf, Shape, TupleOf
from flowalg_polars.columns import Columns, columns_of, flatten_columns, polars_type
from flowalg_polars.lowering.programs import Program


def compile_metadata(metadata: Metadata, before: Shape, meta: tuple[str, ...]) -> Program:
    """Compiles the pairing of elements with a part of their metadata."""
    after = TupleOf((before, metadata.shape))
    pair = Branch(after, (columns_of(layout_of(before)), _columns(metadata)))
    columns = [*flatten_columns(pair, after), *map(pl.col, meta)]
    return Program(before, meta).then(lambda frame: frame.select(columns), after, fallible=False)


def _columns(metadata: Metadata) -> Columns:
    match metadata:
        case Metadata.TIMESTAMP:
            return Leaf(TIMESTAMP, _time(EVENT_TIME))
        case Metadata.WINDOW:
            columns = [_time(START), _time(END)]
        case Metadata.PANE:
            # An enum is the name of its member, and the column has its value.
            columns = [pl.col(TIMING).str.to_uppercase(), *map(pl.col, (INDEX, IS_FIRST, IS_LAST))]
        case _:
            assert_never(metadata)
    shape = metadata.shape
    assert isinstance(shape, RecordOf), "windows and panes are records"
    parts = (Leaf(field.shape, column) for field, column in zip(shape.fields, columns, strict=True))
    return Branch(shape, tuple(parts))


def _time(name: str) -> pl.Expr:
    return pl.col(name).cast(polars_type(TIMESTAMP))


__all__ = ["compile_metadata"]
