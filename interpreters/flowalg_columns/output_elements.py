"""The output of a pipeline as the columns that users see, and elements that nothing has grouped as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar, cast

import pyarrow as pa
from flowalg_shard.tables.columns import (
    CHANGE,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    PROCESSING_TIME,
    START,
    TIMING,
)

from flowalg.data.errors import RecordTypeError, UnsupportedError
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.output import OutputElement, sort_elements
from flowalg_columns.layout import Branch, E, Expressions, Tree, fields_in, flatten_columns, layout_of
from flowalg_columns.names import PANE_META, PANE_TIME, WATERMARK
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


_IN_WINDOW: Final = {"start": START, "end": END}
_IN_PANE: Final = {
    "timing": TIMING,
    "index": INDEX,
    "is_first": IS_FIRST,
    "is_last": IS_LAST,
    "processing_time": PANE_TIME,
    "watermark": WATERMARK,
}
_IN_ELEMENTS: Final = {"event_time": EVENT_TIME, "processing_time": PROCESSING_TIME}
_TIMES: Final = (EVENT_TIME, START, END, PANE_TIME, WATERMARK, PROCESSING_TIME)
"""The columns of times, which are microseconds. Users see timestamps."""


def user_columns(
    engine: Expressions[E],
    element: Tree[E],
    column: Callable[[str], E],
    *,
    panes: bool,
    of_pane: Callable[[E], E] = lambda pane: pane,
) -> list[E]:
    """Returns the columns that users see of panes or elements, from the leaves of elements and their metadata.

    An element has one for each field of a record, otherwise ``value``. ``column`` gives the metadata by name. Users see
    what ``of_pane`` makes of the struct ``pane``. Raises ``RecordTypeError`` as ``require_free_names`` does.
    """
    require_free_names(element.shape, panes=panes)

    def shown(name: str, as_name: str) -> E:
        return (engine.timestamp(column(name)) if name in _TIMES else column(name)).alias(as_name)

    def struct(fields: Mapping[str, str]) -> E:
        return engine.struct([shown(name, as_name) for as_name, name in fields.items()])

    parts = (
        element.parts if isinstance(element, Branch) and isinstance(element.shape, RecordOf) else [element]
    )
    fields = zip(fields_in(element.shape), parts, strict=True)
    own = [engine.nest(part).alias(name) for (name, _), part in fields]
    if not panes:
        return [*own, *(shown(name, as_name) for as_name, name in _IN_ELEMENTS.items())]
    return [
        *own,
        struct(_IN_WINDOW).alias("window"),
        shown(EVENT_TIME, "event_time"),
        shown(CHANGE, "change"),
        of_pane(struct(_IN_PANE)).alias("pane"),
    ]


def flat_columns(engine: Expressions[E], shape: Shape, column: Callable[[str], E], *, panes: bool) -> list[E]:
    """Returns the leaves of elements and their metadata, from the columns that users see, by name."""
    own = flatten_columns(engine.frame_columns(shape, column), shape)
    if panes:
        meta = {EVENT_TIME: column("event_time"), CHANGE: column("change")}
        for struct, fields in (column("window"), _IN_WINDOW), (column("pane"), _IN_PANE):
            meta |= {name: engine.field(struct, as_name) for as_name, name in fields.items()}
    else:
        meta = {name: column(as_name) for as_name, name in _IN_ELEMENTS.items()}
    names = PANE_META if panes else meta
    flat = ((engine.micros(meta[name]) if name in _TIMES else meta[name]).alias(name) for name in names)
    return [*own, *flat]


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
