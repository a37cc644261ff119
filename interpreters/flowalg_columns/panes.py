"""Panes as columns: the names that users see, and panes as values from a table of their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar, assert_never, cast

import pyarrow as pa
from flowalg_shard.tables.columns import CHANGE, END, EVENT_TIME, INDEX, IS_FIRST, IS_LAST, START, TIMING

from flowalg.data.errors import ArgumentError, RecordTypeError
from flowalg.data.metadata import Metadata, Timing
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.output import sort_panes
from flowalg.runs.panes import Change, Pane, PaneInfo
from flowalg.windows.window import Window
from flowalg_columns.layout import Branch, Leaf, Tree, layout_of
from flowalg_columns.names import PANE_META, PANE_TIME, WATERMARK
from flowalg_columns.values import read_elements

A = TypeVar("A")
C = TypeVar("C")

METRICS_COLUMN: Final = "stage_metrics"
"""The column of the metrics of stages."""

PANE_COLUMNS: Final = ("window", "event_time", "change", "pane")
"""The columns of a pane, without those of its element."""

RESERVED_COLUMNS: Final = (*PANE_COLUMNS, "drop", METRICS_COLUMN)
"""The columns of a frame of panes that are not columns of the element."""


def identifying_columns(columns: Sequence[str], by: Sequence[str] | None) -> tuple[str, ...]:
    """Returns the columns that identify an element within its window: the ``key`` of pairs, or those of ``by``.

    Raises ``ArgumentError`` for columns that are not those of panes, and for an invalid ``by``.
    """
    missing = [name for name in PANE_COLUMNS if name not in columns]
    if missing:
        raise ArgumentError(
            "panes", list(columns), f"a frame of panes, with the columns {', '.join(missing)}"
        )
    if by is None:
        if "key" in columns:
            return ("key",)
        valid = "the columns that identify an element within its window, since the elements are not pairs"
        raise ArgumentError("by", by, valid)
    elements = [name for name in columns if name not in RESERVED_COLUMNS]
    if isinstance(by, str) or any(name not in elements for name in by):
        raise ArgumentError("by", by, f"names of columns of the element, from {', '.join(elements)}")
    return tuple(by)


def element_shape(pipeline: PCollection[object]) -> Shape:
    """Returns the shape of a pipeline's elements; raises ``RecordTypeError`` if it is unknown."""
    if pipeline.shape is None:
        raise RecordTypeError(
            "the element type of the pipeline must be known to collect its panes; annotate the last function"
        )
    return pipeline.shape


def metadata_columns(
    metadata: Metadata, time: Callable[[str], C], member: Callable[[str], C], column: Callable[[str], C]
) -> Tree[C]:
    """Returns a part of the metadata of elements as columns of an engine.

    The functions read a column by its name: as a time, as the name of the member of an enum whose value it has, and as
    it is.
    """
    match metadata:
        case Metadata.EVENT_TIME:
            return Leaf(metadata.shape, time(EVENT_TIME))
        case Metadata.WINDOW:
            columns = [time(START), time(END)]
        case Metadata.PANE:
            columns = [member(TIMING), *map(column, (INDEX, IS_FIRST, IS_LAST))]
        case _:
            assert_never(metadata)
    shape = metadata.shape
    assert isinstance(shape, RecordOf), "windows and panes are records"
    parts = (Leaf(field.shape, part) for field, part in zip(shape.fields, columns, strict=True))
    return Branch(shape, tuple(parts))


def panes_in(table: pa.Table, pipeline: PCollection[A]) -> tuple[Pane[A], ...]:
    """Reads panes from a table with a column for each leaf of the element and each of ``PANE_META``, row by row."""
    elements = read_elements(layout_of(element_shape(pipeline)), table)
    meta = table.select(list(PANE_META)).to_pylist()
    return tuple(_pane(cast("A", element), row) for element, row in zip(elements, meta, strict=True))


def read_panes(table: pa.Table, pipeline: PCollection[A]) -> tuple[Pane[A], ...]:
    """Reads panes as ``panes_in`` does, in the order of SEMANTICS section 7."""
    return sort_panes(panes_in(table, pipeline))


def _pane(element: A, row: dict[str, object]) -> Pane[A]:
    micros = {name: cast("int", row[name]) for name in (EVENT_TIME, START, END, PANE_TIME, WATERMARK, INDEX)}
    info = PaneInfo(
        Change(row[CHANGE]),
        Timing(row[TIMING]),
        micros[INDEX],
        is_first=bool(row[IS_FIRST]),
        is_last=bool(row[IS_LAST]),
        processing_time=ProcessingTime(micros[PANE_TIME]),
        watermark=EventTime(micros[WATERMARK]),
    )
    window = Window(EventTime(micros[START]), EventTime(micros[END]))
    return Pane(element, window, EventTime(micros[EVENT_TIME]), info)
