"""Reads a micro-batch into values: its panes or elements in order, and its drops, by one action of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import pyarrow as pa
from flowalg_columns.layout import fields_in
from flowalg_columns.output_elements import DROP_WINDOW, ELEMENT_COLUMNS
from flowalg_columns.panes import METRICS_COLUMN, PANE_COLUMNS
from flowalg_sinks.pane_columns import require_element_shape
from flowalg_sinks.pane_sink import SinkBatch
from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg_spark.encoding.columns import col, select, where
from flowalg_spark.frames.pane_frame import leaves_and_meta, read_output

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")

_DROP: Final = "__drop"
_WINDOW: Final = "__window"


def read_batch(pipeline: PCollection[A], frame: DataFrame) -> SinkBatch[A]:
    """Reads the frame of a micro-batch into the driver's memory.

    It runs one action, since each action runs all stages of the query. Rows with metrics are ignored. Raises
    ``ArgumentError`` for a frame without the columns of the pipeline's output.
    """
    require_output(pipeline, frame)
    columns = frame.columns
    window = "window" if emits_panes(pipeline.node) else DROP_WINDOW
    if METRICS_COLUMN in columns:
        frame = where(frame, col(METRICS_COLUMN).is_null())
    if "drop" not in columns:
        return SinkBatch(read_output(select(frame, *leaves_and_meta(pipeline)).toArrow(), pipeline), None)
    drop_columns = (col("drop").alias(_DROP), col(window).alias(_WINDOW))
    table = select(frame, *leaves_and_meta(pipeline), *drop_columns).toArrow()
    drop = table.column(_DROP)
    rows = table.filter(drop.is_null()).drop_columns([_DROP, _WINDOW])
    late_data = pa.types.is_struct(drop.type) and drop.type.get_field_index("event_time") >= 0
    return SinkBatch(read_output(rows, pipeline), _drops(table.filter(drop.is_valid())), late_data)


def require_output(pipeline: PCollection[object], frame: object) -> None:
    """Raises ``ArgumentError`` for anything else than a frame with the columns of the pipeline's output."""
    if not isinstance(frame, DataFrame):
        raise ArgumentError("frame", frame, "a DataFrame of panes or elements")
    required = [*(name for name, _ in fields_in(require_element_shape(pipeline))), *_columns_of(pipeline)]
    if set(frame.columns) - {"drop", DROP_WINDOW, METRICS_COLUMN} != set(required):
        raise ArgumentError(
            "frame",
            frame.columns,
            f"a frame of the pipeline's output, with the columns {', '.join(required)}",
        )


def _columns_of(pipeline: PCollection[object]) -> tuple[str, ...]:
    return PANE_COLUMNS if emits_panes(pipeline.node) else ELEMENT_COLUMNS


def _drops(table: pa.Table) -> tuple[Mapping[str, object], ...]:
    """Returns each drop, with the ``start`` and ``end`` of its window."""
    rows = table.select([_DROP, _WINDOW]).to_pylist()
    no_window = {"start": None, "end": None}
    return tuple({"drop": row[_DROP], **(row[_WINDOW] or no_window)} for row in rows)
