"""What a batch brings, as values: its panes in order, and its drops, by one action of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Generic, TypeVar

import pyarrow as pa
from attrs import frozen
from flowalg_sinks.pane_columns import shape_of_elements
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Pane
from flowalg_spark.encoding.schema import fields_in
from flowalg_spark.frames.final_values import METRICS_COLUMN, PANE_COLUMNS
from flowalg_spark.frames.pane_frame import flat_columns, read_panes

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")

_DROP: Final = "__drop"
_WINDOW: Final = "__window"


@frozen
class Arrived(Generic[A_co]):
    """The panes of a batch, in order, and what it has dropped; ``None`` if its frame does not say."""

    panes: tuple[Pane[A_co], ...]
    drops: tuple[Mapping[str, object], ...] | None


def arrived(pipeline: PCollection[A], frame: DataFrame) -> Arrived[A]:
    """What the frame of a batch has, in the driver's memory.

    One action, for a stage of a stream keeps its state by it: two would be twice the work. Accounts, which are neither
    panes nor drops, are passed over. Raises ``ArgumentError`` for
    a frame that has not the columns of the pipeline's panes.
    """
    if not isinstance(frame, DataFrame):
        raise ArgumentError("frame", frame, "a DataFrame of panes")
    has = frame.columns
    needs = [*(name for name, _ in fields_in(shape_of_elements(pipeline))), *PANE_COLUMNS]
    if set(has) - {"drop", METRICS_COLUMN} != set(needs):
        raise ArgumentError(
            "frame", has, f"the frame of the pipeline's panes, which has the columns {', '.join(needs)}"
        )
    if METRICS_COLUMN in has:
        frame = frame.filter(F.col(METRICS_COLUMN).isNull())
    if "drop" not in has:
        return Arrived(read_panes(frame.select(*flat_columns(pipeline)).toArrow(), pipeline), None)
    beside = (F.col("drop").alias(_DROP), F.col("window").alias(_WINDOW))
    table = frame.select(*flat_columns(pipeline), *beside).toArrow()
    drop = table.column(_DROP)
    panes = table.filter(drop.is_null()).drop_columns([_DROP, _WINDOW])
    return Arrived(read_panes(panes, pipeline), _drops(table.filter(drop.is_valid())))


def _drops(table: pa.Table) -> tuple[Mapping[str, object], ...]:
    """Each drop, with the ``start`` and ``end`` of its window."""
    rows = table.select([_DROP, _WINDOW]).to_pylist()
    return tuple({"drop": row[_DROP], **row[_WINDOW]} for row in rows)


__all__ = ["Arrived", "arrived"]
