"""Elements paired with their metadata: the columns of an element, and those of its event time, window or pane."""

from __future__ import annotations

import polars as pl
from flowalg_columns.layout import Branch, flatten_columns, layout_of
from flowalg_columns.panes import metadata_columns

from flowalg.data.metadata import Metadata
from flowalg.data.shapes import TIMESTAMP, Shape, TupleOf
from flowalg_polars.columns import columns_of, polars_type
from flowalg_polars.lowering.programs import Program


def compile_metadata(metadata: Metadata, before: Shape, meta: tuple[str, ...]) -> Program:
    """Compiles the pairing of elements with a part of their metadata."""
    after = TupleOf((before, metadata.shape))
    paired = metadata_columns(
        metadata,
        time=lambda name: pl.col(name).cast(polars_type(TIMESTAMP)),
        member=lambda name: pl.col(name).str.to_uppercase(),
        column=pl.col,
    )
    pair = Branch(after, (columns_of(layout_of(before)), paired))
    columns = [*flatten_columns(pair, after), *map(pl.col, meta)]
    return Program(before, meta).then(lambda frame: frame.select(columns), after, fallible=False)
