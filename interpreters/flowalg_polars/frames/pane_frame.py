"""The result of compiling a pipeline: a lazy frame of panes with notes about its functions.

Its columns are the fields of the element (``key`` and ``value`` for pairs; records inside them are structs), then
``window`` (start, end), ``event_time``, ``change``, and ``pane`` (timing, index, is_first, is_last,
processing_time, watermark): those of ``flowalg_spark``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import polars as pl
from flowalg_columns.layout import Branch, layout_of, parts_of
from flowalg_columns.names import (
    CHANGE,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    PANE_META,
    PANE_TIME,
    START,
    TIMING,
    WATERMARK,
)
from flowalg_columns.notes import LiftingNote
from flowalg_columns.panes import RESERVED_COLUMNS, element_shape, panes_in, read_panes

from flowalg.data.errors import RecordTypeError
from flowalg.data.shapes import RecordOf, Shape
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Pane
from flowalg_polars.columns import Columns, columns_of, flatten_columns, nest, unnest
from flowalg_polars.errors import raise_causes
from flowalg_polars.frames.final_values import final_values
from flowalg_polars.lowering.python_steps import to_arrow

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


def user_columns(shape: Shape) -> list[pl.Expr]:
    """Returns the columns that users see of panes, from the leaves of elements and the metadata of panes."""
    return [*element_columns(shape), *pane_columns()]


def element_columns(shape: Shape) -> list[pl.Expr]:
    """Returns the columns that users see of elements: one for each field of a record, otherwise ``value``."""
    element = columns_of(layout_of(shape))
    if isinstance(shape, RecordOf) and isinstance(element, Branch):
        for field in shape.fields:
            if field.name in RESERVED_COLUMNS:
                raise RecordTypeError(
                    f"{shape}.{field.name} must not have the name of a column of panes "
                    f"({', '.join(RESERVED_COLUMNS)}); rename the field"
                )
        return [nest(part).alias(field.name) for part, field in zip(element.parts, shape.fields, strict=True)]
    return [nest(element).alias("value")]


def pane_columns() -> list[pl.Expr]:
    """Returns the columns that users see of panes, without those of elements."""

    def time(name: str) -> pl.Expr:
        return pl.col(name).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")

    return [
        pl.struct(time(START).alias("start"), time(END).alias("end")).alias("window"),
        time(EVENT_TIME).alias("event_time"),
        pl.col(CHANGE).alias("change"),
        pl.struct(
            pl.col(TIMING).alias("timing"),
            pl.col(INDEX).alias("index"),
            pl.col(IS_FIRST).alias("is_first"),
            pl.col(IS_LAST).alias("is_last"),
            time(PANE_TIME).alias("processing_time"),
            time(WATERMARK).alias("watermark"),
        ).alias("pane"),
    ]


def flat_columns(shape: Shape) -> list[pl.Expr]:
    """Returns the leaves of elements and the metadata of panes, from the columns that users see."""
    element: Columns
    if isinstance(shape, RecordOf):
        element = Branch(shape, tuple(unnest(pl.col(name), part) for name, part in parts_of(shape)))
    else:
        element = unnest(pl.col("value"), shape)
    window, pane = pl.col("window").struct, pl.col("pane").struct
    meta = {
        EVENT_TIME: pl.col("event_time").to_physical(),
        START: window.field("start").to_physical(),
        END: window.field("end").to_physical(),
        CHANGE: pl.col("change"),
        TIMING: pane.field("timing"),
        INDEX: pane.field("index"),
        IS_FIRST: pane.field("is_first"),
        IS_LAST: pane.field("is_last"),
        PANE_TIME: pane.field("processing_time").to_physical(),
        WATERMARK: pane.field("watermark").to_physical(),
    }
    return [*flatten_columns(element, shape), *(meta[name].alias(name) for name in PANE_META)]


def collect(pipeline: PCollection[A], frame: pl.LazyFrame | pl.DataFrame) -> tuple[Pane[A], ...]:
    """Collects the panes of a frame from ``compile``, or of a table that a sink has stored, as typed values.

    They are sorted by processing time, window and key, with each retraction before its replacement. Drops are excluded.
    """
    shape = element_shape(pipeline)
    rows = frame.lazy().filter(pl.col("pane").is_not_null()).select(flat_columns(shape))
    with raise_causes():
        table = to_arrow(rows.collect(engine="streaming"), shape, PANE_META)
    return read_panes(table, pipeline)


def panes_of(pipeline: PCollection[A], rows: pl.DataFrame) -> tuple[Pane[A], ...]:
    """Returns the panes in rows with the leaves of elements and the metadata of panes, row by row."""
    return panes_in(to_arrow(rows, element_shape(pipeline), PANE_META), pipeline)


class PaneFrame(pl.LazyFrame, Generic[A_co]):
    """A lazy frame of panes, with notes on how the pipeline's functions run.

    Its methods (``filter``, ``collect``, ``sink_parquet`` and so on) are those of every lazy frame. With
    ``collect(engine="streaming")`` or ``sink_parquet``, data larger than memory pass.
    """

    _notes: tuple[LiftingNote, ...] = ()

    @property
    def lifting(self) -> tuple[LiftingNote, ...]:
        """How each user-defined function runs: as Polars columns, or in Python with the reason."""
        return self._notes

    def explain(self, **options: object) -> str:
        """Returns how each user-defined function runs, followed by Polars' plan; ``options`` are those of Polars."""
        plan = super().explain(**options)  # type: ignore[arg-type]  # Polars checks its options
        return "\n".join(["== Functions ==", *map(str, self._notes), "", plan])

    def final_values(self, *, by: Sequence[str] | None = None) -> pl.LazyFrame:
        """Returns the latest value of each key and window that is not retracted: ``flowalg_polars.final_values``."""
        return final_values(self, by=by)


def pane_frame(frame: pl.LazyFrame, shape: Shape, notes: tuple[LiftingNote, ...]) -> PaneFrame[object]:
    """Returns the pane frame of rows with the leaves of elements and the metadata of panes."""
    selected = frame.select(user_columns(shape))
    panes: PaneFrame[object] = PaneFrame.__new__(PaneFrame)
    panes._ldf = selected._ldf
    panes._notes = notes
    return panes


__all__ = [
    "PaneFrame",
    "collect",
    "element_columns",
    "pane_columns",
    "pane_frame",
    "panes_of",
    "user_columns",
]
