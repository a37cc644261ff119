"""Elements that nothing has grouped as columns: the names that users see, and elements as values from a table."""

from __future__ import annotations

from typing import Final, TypeVar, cast

import pyarrow as pa
from flowalg_shard.tables.columns import EVENT_TIME, PROCESSING_TIME

from flowalg.data.errors import RecordTypeError, UnsupportedError
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.output import OutputElement, sort_elements
from flowalg_columns.layout import layout_of
from flowalg_columns.panes import METRICS_COLUMN, RESERVED_COLUMNS, element_shape
from flowalg_columns.values import read_elements, read_integers

A = TypeVar("A")

ELEMENT_COLUMNS: Final = ("event_time", "processing_time")
"""The columns of an element that nothing has grouped, without those of its fields."""

DROP_WINDOW: Final = "drop_window"
"""The column with the window of a drop, in a frame without the windows of panes."""

_RESERVED: Final = (*ELEMENT_COLUMNS, "drop", DROP_WINDOW, METRICS_COLUMN)


def reserved_columns(*, panes: bool) -> tuple[str, ...]:
    """Returns the columns of a frame of panes, or of elements, that are not columns of the element."""
    return RESERVED_COLUMNS if panes else _RESERVED


def require_free_names(shape: Shape, *, panes: bool) -> None:
    """Raises ``RecordTypeError`` if a field of a record has the name of a reserved column."""
    reserved = reserved_columns(panes=panes)
    for field in shape.fields if isinstance(shape, RecordOf) else ():
        if field.name in reserved:
            raise RecordTypeError(
                f"{shape}.{field.name} must not have the name of a column of {'panes' if panes else 'elements'} "
                f"({', '.join(reserved)}); rename the field"
            )


def read_output_elements(table: pa.Table, pipeline: PCollection[A]) -> tuple[OutputElement[A], ...]:
    """Reads elements from a table with a column for each leaf, ``EVENT_TIME`` and ``PROCESSING_TIME``, in order."""
    elements = read_elements(layout_of(element_shape(pipeline)), table)
    times = zip(read_integers(table, EVENT_TIME), read_integers(table, PROCESSING_TIME), strict=True)
    return sort_elements(
        OutputElement(cast("A", element), EventTime(event), ProcessingTime(processing))
        for element, (event, processing) in zip(elements, times, strict=True)
    )


def require_panes(pipeline: PCollection[object], function: str) -> None:
    """Raises ``UnsupportedError`` if the pipeline's output is elements, which ``function`` does not read."""
    if not emits_panes(pipeline.node):
        raise UnsupportedError(
            f"{function}: the pipeline groups nothing, so its output is elements, not panes; use collect_elements(...)"
        )


def require_elements(pipeline: PCollection[object], function: str) -> None:
    """Raises ``UnsupportedError`` if the pipeline's output is panes, which ``function`` does not read."""
    if emits_panes(pipeline.node):
        raise UnsupportedError(
            f"{function}: the output of the pipeline is the panes of a grouping; use collect(...)"
        )
