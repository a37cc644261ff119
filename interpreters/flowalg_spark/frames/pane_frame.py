"""The result of compiling a pipeline: a DataFrame of panes with notes about its functions.

Its columns are the fields of the element (``key`` and ``value`` for pairs; records inside them are structs), then
``window`` (start, end), ``event_time``, ``change``, and ``pane`` (timing, index, is_first, is_last,
processing_time, watermark).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar, cast

import pyarrow as pa
from attrs import evolve
from flowalg_columns.layout import Branch
from flowalg_columns.names import (
    CHANGE,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    KEEP,
    PANE_TIME,
    START,
    TIMING,
    WATERMARK,
)
from flowalg_columns.notes import LiftingNote
from flowalg_columns.panes import RESERVED_COLUMNS, element_shape, read_panes
from flowalg_columns.values import read_integers
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.errors import RecordTypeError
from flowalg.data.shapes import RecordOf, Shape
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Pane
from flowalg_spark.encoding.columns import Columns, col, flatten_columns, frame_columns, nest
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.frames.final_values import filter_panes, final_values
from flowalg_spark.lowering.flow import Flow

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)

_NUMBER: Final = "__number"


def user_frame(flow: Flow, *others: Column) -> DataFrame:
    """Returns the panes of a flow with the columns that users see, followed by other columns."""
    selection = flow.selection
    column_of = selection.columns.__getitem__
    columns = [
        *_element_columns(flow.shape, selection.element(flow.shape)),
        *_pane_columns(column_of, guarded=flow.guarded),
    ]
    return selection.rows.select(*columns, *others)


def _element_columns(shape: Shape, element: Columns) -> list[Column]:
    if isinstance(shape, RecordOf) and isinstance(element, Branch):
        for field in shape.fields:
            if field.name in RESERVED_COLUMNS:
                raise RecordTypeError(
                    f"{shape}.{field.name} must not have the name of a column of panes "
                    f"({', '.join(RESERVED_COLUMNS)}); rename the field"
                )
        return [nest(part).alias(field.name) for part, field in zip(element.parts, shape.fields, strict=True)]
    return [nest(element).alias("value")]


def _pane_columns(column_of: Callable[[str], Column], *, guarded: bool) -> list[Column]:
    def time(name: str) -> Column:
        return F.timestamp_micros(column_of(name))

    pane = F.struct(
        column_of(TIMING).alias("timing"),
        column_of(INDEX).alias("index"),
        column_of(IS_FIRST).alias("is_first"),
        column_of(IS_LAST).alias("is_last"),
        time(PANE_TIME).alias("processing_time"),
        time(WATERMARK).alias("watermark"),
    )
    return [
        F.struct(time(START).alias("start"), time(END).alias("end")).alias("window"),
        time(EVENT_TIME).alias("event_time"),
        column_of(CHANGE).alias("change"),
        (F.when(column_of(KEEP), pane) if guarded else pane).alias("pane"),
    ]


def drop_type(pair: RecordOf) -> T.StructType:
    """Returns the type of ``drop``: the reason, the count, the key, the combined value, and the clocks."""
    key, value = pair.fields
    return T.StructType(
        [
            T.StructField("reason", T.StringType()),
            T.StructField("count", T.LongType()),
            T.StructField("key", spark_type(key.shape)),
            T.StructField("value", spark_type(value.shape)),
            T.StructField("processing_time", T.TimestampType()),
            T.StructField("watermark", T.TimestampType()),
        ]
    )


def collect(pipeline: PCollection[A], frame: DataFrame) -> tuple[Pane[A], ...]:
    """Collects the panes of a frame from ``compile``, or of a table that a sink has stored, as typed values.

    They are sorted by processing time, window and key, with each retraction before its replacement. Drops are excluded.
    The panes must fit in memory. If the query fails because of an element or a user-defined function, the error is that
    of the reference interpreter, with Spark's exception as its cause.
    """
    with raise_causes():
        table = flatten_frame(pipeline, frame).toArrow()
    return read_panes(table, pipeline)


def collect_all(
    pipelines: Sequence[PCollection[object]], frames: Sequence[DataFrame]
) -> tuple[tuple[Pane[object], ...], ...]:
    """Collects the panes of several frames, as ``collect`` does, by one query, which computes shared parts once."""
    flats = [flatten_frame(pipeline, frame) for pipeline, frame in zip(pipelines, frames, strict=True)]
    # Nullable, since the struct of a frame is null on the rows of the others, and Arrow checks nullability.
    types = [
        T.StructType([T.StructField(field.name, field.dataType) for field in flat.schema]) for flat in flats
    ]
    parts = [
        flat.select(F.lit(number).alias(_NUMBER), *_pack(flat, number, types))
        for number, flat in enumerate(flats)
    ]
    with raise_causes():
        table = reduce(DataFrame.union, parts).toArrow()
    return tuple(read_panes(_unpack(table, number), pipeline) for number, pipeline in enumerate(pipelines))


def _pack(frame: DataFrame, number: int, types: Sequence[T.StructType]) -> Iterator[Column]:
    """Yields one struct for each frame: the frame's own columns at its number, and null at the others."""
    for other, type_ in enumerate(types):
        column = F.struct(*map(col, frame.columns)) if other == number else F.lit(None)
        yield column.cast(type_).alias(f"_{other}")


def _unpack(table: pa.Table, number: int) -> pa.Table:
    """Returns the rows and columns of one of several packed frames."""
    mask = [other == number for other in read_integers(table, _NUMBER)]
    packed = table.select([f"_{number}"]).filter(pa.array(mask, pa.bool_())).flatten()
    return packed.rename_columns([name.partition(".")[2] for name in packed.column_names])


def flatten_frame(pipeline: PCollection[object], frame: DataFrame) -> DataFrame:
    """Returns the panes of a frame, with a column for each leaf of the element and for each field of the pane."""
    return filter_panes(frame).select(*flat_columns(pipeline))


def flat_columns(pipeline: PCollection[object]) -> list[Column]:
    """Returns the columns that ``flatten_frame`` selects."""
    shape = element_shape(pipeline)
    return [*flatten_columns(frame_columns(shape), shape), *_flat_meta()]


def _flat_meta() -> list[Column]:
    pane = F.col("pane")
    return [
        F.unix_micros("event_time").alias(EVENT_TIME),
        F.unix_micros(F.col("window").getField("start")).alias(START),
        F.unix_micros(F.col("window").getField("end")).alias(END),
        F.col("change").alias(CHANGE),
        pane.getField("timing").alias(TIMING),
        pane.getField("index").alias(INDEX),
        pane.getField("is_first").alias(IS_FIRST),
        pane.getField("is_last").alias(IS_LAST),
        F.unix_micros(pane.getField("processing_time")).alias(PANE_TIME),
        F.unix_micros(pane.getField("watermark")).alias(WATERMARK),
    ]


class WithDrops(Protocol):
    """A function that returns the panes with drops, and optionally metrics."""

    def __call__(self, *, metrics: bool) -> DataFrame:
        """Returns the panes and drops, and with ``metrics`` also the metrics."""
        ...


if TYPE_CHECKING:
    _Frame = DataFrame
else:

    class _Frame:
        """An empty base class. The class of DataFrames, classic or Connect, is known only at run time."""


class PaneFrame(_Frame, Generic[A_co]):
    """A DataFrame of panes, with notes on how the pipeline's functions run.

    Its methods (``select``, ``join``, ``writeStream`` and so on) are those of every DataFrame.
    """

    _notes: tuple[LiftingNote, ...]
    _with_drops: WithDrops

    @property
    def lifting(self) -> tuple[LiftingNote, ...]:
        """How each user-defined function runs: as Spark columns, or in Python with the reason."""
        return self._notes

    def explain(self, extended: bool | str | None = None, mode: str | None = None) -> None:
        """Prints how each user-defined function runs, followed by Spark's plan."""
        print("== Functions ==", *self._notes, "", sep="\n")  # noqa: T201  # DataFrame.explain prints too
        super().explain(extended, mode)

    def final_values(self, *, by: Sequence[str] | None = None) -> DataFrame:
        """Returns the latest value of each key and window that is not retracted; see ``flowalg_spark.final_values``."""
        return final_values(self, by=by)

    def with_drops(self) -> DataFrame:
        """Returns the panes and, as additional rows of the same query, the dropped elements.

        The row of a drop has a ``drop``, and no element or ``pane``. It represents all elements that one key and
        window dropped in one micro-batch: ``drop`` has the reason, the count, the key, the combined value of the
        elements, and the clocks. If several groupings and side inputs of a stream can drop elements, it also has the
        ``stage``, and the key and the value are JSON, since their types differ.
        """
        return self._with_drops(metrics=False)

    def with_metrics(self) -> DataFrame:
        """Returns the panes, the dropped elements and, as additional rows, the metrics of each stage and micro-batch.

        A row of metrics is about one shard of a stage. It has a struct ``stage_metrics``, and no element, ``pane`` or
        ``drop``. The struct has the number of the micro-batch (``batch``), the ``number`` of the ``stage`` in the
        pipeline, the ``shard``, the fields of ``flowalg_shard.ShardMetrics``, and the ``seconds`` that the shard took.
        ``flowalg_spark.metrics`` sums them by stage.

        Raises ``UnsupportedError`` for a batch, and ``ArgumentError`` for a stream that was compiled without
        ``metrics``.
        """
        return self._with_drops(metrics=True)


def _pane_frame_class(base: type[DataFrame]) -> type[DataFrame]:
    """Returns the class of pane frames over Spark's class of DataFrames, classic or Connect."""
    return type("PaneFrame", (PaneFrame, base), {})


def pane_frame(pipeline: PCollection[A], flow: Flow, with_drops: WithDrops) -> PaneFrame[A]:
    """Returns the pane frame of a compiled pipeline."""
    panes_only = evolve(flow, frame=flow.frame.filter(col(KEEP))) if flow.guarded else flow
    frame = user_frame(panes_only)
    panes = cast("PaneFrame[A]", object.__new__(_pane_frame_class(type(frame))))
    vars(panes).update(vars(frame))
    panes._notes = flow.notes
    panes._with_drops = with_drops
    return panes


__all__ = [
    "PaneFrame",
    "WithDrops",
    "collect",
    "collect_all",
    "drop_type",
    "flat_columns",
    "pane_frame",
    "user_frame",
]
