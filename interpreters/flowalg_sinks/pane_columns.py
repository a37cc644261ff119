"""The window, timing and clocks of panes as the cells of a row."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from flowalg.data.errors import RecordTypeError
from flowalg.data.shapes import Shape
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Pane
from flowalg.windows.window import Window
from flowalg_sinks.databases.tables import CellKind, Column, Row

WINDOW_COLUMNS: Final = (Column("window_start", CellKind.TIMESTAMP), Column("window_end", CellKind.TIMESTAMP))
PANE_COLUMNS: Final = (
    Column("event_time", CellKind.TIMESTAMP),
    Column("pane_timing", CellKind.TEXT),
    Column("pane_index", CellKind.INTEGER),
    Column("pane_is_first", CellKind.BOOLEAN),
    Column("pane_is_last", CellKind.BOOLEAN),
    Column("pane_processing_time", CellKind.TIMESTAMP),
    Column("pane_watermark", CellKind.TIMESTAMP),
)
TIME_COLUMNS: Final = (
    Column("event_time", CellKind.TIMESTAMP),
    Column("processing_time", CellKind.TIMESTAMP),
)
"""The columns of an element that nothing has grouped, besides those of its fields."""

BATCH_COLUMNS: Final = (Column("batch", CellKind.INTEGER), Column("position", CellKind.INTEGER))


# Many panes of a batch have the same window, and all have the same clocks.
@lru_cache(maxsize=10_000)
def window_cells(window: Window) -> Row:
    """Returns the cells of ``WINDOW_COLUMNS``."""
    return window.start.datetime, window.end.datetime


def pane_cells(pane: Pane[object]) -> Row:
    """Returns the cells of ``PANE_COLUMNS``."""
    clocks = clock_cells(pane.processing_time, pane.watermark)
    position = (pane.timing.value, pane.index, pane.is_first, pane.is_last)
    return (pane.event_time.datetime, *position, *clocks)


@lru_cache(maxsize=100)
def clock_cells(processing_time: ProcessingTime, watermark: EventTime) -> Row:
    """Returns the cells of a pane's processing time and watermark."""
    return processing_time.datetime, watermark.datetime


def require_element_shape(pipeline: PCollection[object]) -> Shape:
    """Returns the shape of a pipeline's elements; raises ``RecordTypeError`` if it is unknown before a run."""
    if pipeline.shape is None:
        raise RecordTypeError(
            "the element type of the pipeline must be known to make a table; annotate the last function"
        )
    return pipeline.shape
