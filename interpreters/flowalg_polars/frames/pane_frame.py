"""The result of compiling a pipeline: a lazy frame of panes or elements, with notes about its functions.

Its columns are the fields of the element (``key`` and ``value`` for pairs; records inside them are structs), then
``window`` (start, end), ``event_time``, ``change``, and ``pane`` (timing, index, is_first, is_last,
processing_time, watermark): those of ``flowalg_spark``. If the pipeline groups nothing, they are the fields of the
element, ``event_time`` and ``processing_time``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import polars as pl
from flowalg_columns.layout import layout_of
from flowalg_columns.names import PANE_META
from flowalg_columns.notes import LiftingNote
from flowalg_columns.output_elements import (
    flat_columns,
    read_output_elements,
    require_elements,
    require_panes,
    user_columns,
)
from flowalg_columns.panes import element_shape, panes_in, read_panes

from flowalg.data.errors import ArgumentError
from flowalg.data.shapes import Shape
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.output import Output, OutputElement
from flowalg.runs.panes import Pane
from flowalg_polars.columns import EXPRESSIONS, columns_of
from flowalg_polars.errors import raise_causes
from flowalg_polars.frames.final_values import final_values
from flowalg_polars.lowering.python_steps import to_arrow
from flowalg_polars.meta import OUTPUT_META

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


def shown_columns(shape: Shape, *, panes: bool) -> list[pl.Expr]:
    """Returns the columns that users see of panes or elements, from the leaves of elements and their metadata."""
    return user_columns(EXPRESSIONS, columns_of(layout_of(shape)), pl.col, panes=panes)


def flat_rows(pipeline: PCollection[object], frame: pl.LazyFrame | pl.DataFrame) -> pl.LazyFrame:
    """Returns the rows of a frame with the leaves of elements and their metadata."""
    panes = emits_panes(pipeline.node)
    rows = frame.lazy()
    if panes:
        rows = rows.filter(pl.col("pane").is_not_null())
    elif "drop" in rows.collect_schema().names():
        rows = rows.filter(pl.col("drop").is_null())
    return rows.select(flat_columns(EXPRESSIONS, element_shape(pipeline), pl.col, panes=panes))


def output_in(pipeline: PCollection[A], rows: pl.DataFrame) -> Output[A]:
    """Returns the output in rows with the leaves of elements and their metadata, in order."""
    shape = element_shape(pipeline)
    if emits_panes(pipeline.node):
        return Output(read_panes(to_arrow(rows, shape, PANE_META), pipeline))
    return Output((), elements=read_output_elements(to_arrow(rows, shape, OUTPUT_META), pipeline))


def collect(pipeline: PCollection[A], frame: pl.LazyFrame | pl.DataFrame) -> tuple[Pane[A], ...]:
    """Collects the panes of a frame from ``compile``, or of a table that a sink has stored, as typed values.

    They are sorted by processing time, window and key, with each retraction before its replacement. Drops are excluded.
    Raises ``UnsupportedError`` for a pipeline that groups nothing.
    """
    require_panes(pipeline, "collect")
    with raise_causes():
        rows = flat_rows(pipeline, frame).collect(engine="streaming")
    return output_in(pipeline, rows).panes


def collect_elements(
    pipeline: PCollection[A], frame: pl.LazyFrame | pl.DataFrame
) -> tuple[OutputElement[A], ...]:
    """Collects the elements of a frame from ``compile``, or of a table that a sink has stored, as typed values.

    They are sorted by processing time, event time and value. Raises ``UnsupportedError`` for an output of panes.
    """
    require_elements(pipeline, "collect_elements")
    with raise_causes():
        rows = flat_rows(pipeline, frame).collect(engine="streaming")
    return output_in(pipeline, rows).elements


def read_output(pipeline: PCollection[A], rows: pl.DataFrame) -> Output[A]:
    """Returns the output in rows with the leaves of elements and their metadata: panes as they are, elements sorted."""
    if emits_panes(pipeline.node):
        return Output(panes_in(to_arrow(rows, element_shape(pipeline), PANE_META), pipeline))
    return output_in(pipeline, rows)


class PaneFrame(pl.LazyFrame, Generic[A_co]):
    """A lazy frame of panes, or of elements if the pipeline groups nothing, with notes on how its functions run.

    Its methods (``filter``, ``collect``, ``sink_parquet`` and so on) are those of every lazy frame. With
    ``collect(engine="streaming")`` or ``sink_parquet``, data larger than memory pass.
    """

    _notes: tuple[LiftingNote, ...] = ()
    _dead_letters: pl.LazyFrame | None = None

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

    def dead_letters(self) -> pl.LazyFrame:
        """Returns the bad records of the query that gives this frame, as rows with the columns of drops.

        ``stage`` is the source, or the transform whose function raised; ``error`` is the error, and ``value`` the row
        of the source, or the input of the transform, as JSON. ``reason`` is ``bad_record``, ``count`` is 1, and ``key``
        and ``watermark`` are null. Raises ``ArgumentError`` for a frame that was compiled without ``dead_letters``.
        """
        if self._dead_letters is None:
            raise ArgumentError("dead_letters", False, "True in batch.compile for dead_letters()")
        return self._dead_letters


def pane_frame(
    frame: pl.LazyFrame,
    shape: Shape,
    notes: tuple[LiftingNote, ...],
    dead_letters: pl.LazyFrame | None = None,
    *,
    panes: bool,
) -> PaneFrame[object]:
    """Returns the frame of rows with the leaves of elements and the metadata of panes or elements."""
    selected = frame.select(shown_columns(shape, panes=panes))
    result: PaneFrame[object] = PaneFrame.__new__(PaneFrame)
    result._ldf = selected._ldf
    result._notes = notes
    result._dead_letters = dead_letters
    return result
