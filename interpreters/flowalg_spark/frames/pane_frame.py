"""The frame that compiling gives: an ordinary DataFrame of panes, which also knows its pipeline.

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
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.errors import RecordTypeError
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Change, Pane, PaneInfo, Timing
from flowalg.windows.window import Window
from flowalg_spark.encoding.layout import (
    Branch,
    Columns,
    col,
    flatten_columns,
    frame_columns,
    layout_of,
    nest,
)
from flowalg_spark.encoding.meta import (
    CHANGE,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    KEEP,
    PANE_META,
    PANE_TIME,
    START,
    TIMING,
    WATERMARK,
)
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.values import read_elements, read_integers
from flowalg_spark.frames.final_values import RESERVED_COLUMNS, filter_panes, final_values
from flowalg_spark.frames.ordering import sort_panes
from flowalg_spark.lowering.flow import Flow, LiftingNote

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)

_NUMBER: Final = "__number"


def user_frame(flow: Flow, *others: Column) -> DataFrame:
    """The panes of a flow as a user sees them, and beside them other columns."""
    selection = flow.selection
    at = selection.columns.__getitem__
    columns = [
        *_element_columns(flow.shape, selection.element(flow.shape)),
        *_pane_columns(at, guarded=flow.guarded),
    ]
    return selection.rows.select(*columns, *others)


def _element_columns(shape: Shape, element: Columns) -> list[Column]:
    if isinstance(shape, RecordOf) and isinstance(element, Branch):
        for one in shape.fields:
            if one.name in RESERVED_COLUMNS:
                raise RecordTypeError(
                    f"{shape}.{one.name} would be hidden by the column {one.name} that every pane has; "
                    "rename the field"
                )
        return [nest(part).alias(one.name) for part, one in zip(element.parts, shape.fields, strict=True)]
    return [nest(element).alias("value")]


def _pane_columns(at: Callable[[str], Column], *, guarded: bool) -> list[Column]:
    def time(name: str) -> Column:
        return F.timestamp_micros(at(name))

    pane = F.struct(
        at(TIMING).alias("timing"),
        at(INDEX).alias("index"),
        at(IS_FIRST).alias("is_first"),
        at(IS_LAST).alias("is_last"),
        time(PANE_TIME).alias("processing_time"),
        time(WATERMARK).alias("watermark"),
    )
    return [
        F.struct(time(START).alias("start"), time(END).alias("end")).alias("window"),
        time(EVENT_TIME).alias("event_time"),
        at(CHANGE).alias("change"),
        (F.when(at(KEEP), pane) if guarded else pane).alias("pane"),
    ]


def drop_type(pair: RecordOf) -> T.StructType:
    """What is said of drops: why, how many elements, of which key, what they come to, and the clocks then."""
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
    """The panes of a frame that ``compile`` has given, or of what a sink has stored of it, as typed values.

    They come in order: by processing time, then by window and key, and a retraction before what takes its place. Of a
    frame with drops they are the panes.
    For results that fit in memory.
    """
    return read_panes(flatten_frame(pipeline, frame).toArrow(), pipeline)


def collect_all(
    pipelines: Sequence[PCollection[object]], frames: Sequence[DataFrame]
) -> tuple[tuple[Pane[object], ...], ...]:
    """The panes of several frames, each as ``collect`` gives them, by one query: what they share is computed once."""
    flats = [flatten_frame(pipeline, frame) for pipeline, frame in zip(pipelines, frames, strict=True)]
    # Nullable, as a part is on the rows of the others; Arrow does not forgive a schema that says otherwise.
    kinds = [
        T.StructType([T.StructField(field.name, field.dataType) for field in one.schema]) for one in flats
    ]
    parts = [
        one.select(F.lit(number).alias(_NUMBER), *_beside_nothing(one, number, kinds))
        for number, one in enumerate(flats)
    ]
    table = reduce(lambda one, other: one.union(other), parts).toArrow()
    return tuple(read_panes(_part(table, number), pipeline) for number, pipeline in enumerate(pipelines))


def _beside_nothing(frame: DataFrame, number: int, kinds: Sequence[T.StructType]) -> Iterator[Column]:
    """A frame's rows in the column of its number, and nothing in those of the others."""
    for place, kind in enumerate(kinds):
        column = F.struct(*map(col, frame.columns)) if place == number else F.lit(None)
        yield column.cast(kind).alias(f"_{place}")


def _part(table: pa.Table, number: int) -> pa.Table:
    """The rows of one of several frames, with its columns."""
    mine = [one == number for one in read_integers(table, _NUMBER)]
    packed = table.select([f"_{number}"]).filter(pa.array(mine, pa.bool_())).flatten()
    return packed.rename_columns([name.partition(".")[2] for name in packed.column_names])


def _shape_of(pipeline: PCollection[object]) -> Shape:
    if pipeline.shape is None:
        raise RecordTypeError("the element type of the pipeline is not known, so its panes cannot be rebuilt")
    return pipeline.shape


def flatten_frame(pipeline: PCollection[object], frame: DataFrame) -> DataFrame:
    """The panes of a frame with a column for each leaf of their elements, and for all that a pane says of itself."""
    return filter_panes(frame).select(*flat_columns(pipeline))


def flat_columns(pipeline: PCollection[object]) -> list[Column]:
    """The columns that ``flatten_frame`` selects, of a frame that may have drops."""
    shape = _shape_of(pipeline)
    return [*flatten_columns(frame_columns(shape), shape), *_flat_meta()]


def read_panes(table: pa.Table, pipeline: PCollection[A]) -> tuple[Pane[A], ...]:
    """The panes that lie in the columns of ``flat_columns``, in order."""
    elements = read_elements(layout_of(_shape_of(pipeline)), table)
    meta = table.select(list(PANE_META)).to_pylist()
    panes = [_pane(cast("A", element), row) for element, row in zip(elements, meta, strict=True)]
    return tuple(sort_panes(panes))


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
    """How the rows that are no panes are shown beside them."""

    def __call__(self, *, metrics: bool) -> DataFrame:
        """The panes, the drops, and with ``metrics`` those."""
        ...


if TYPE_CHECKING:
    _Frame = DataFrame
else:

    class _Frame:
        """Nothing: Spark's class of frames, classic or Connect, is known only once there is a frame."""


class PaneFrame(_Frame, Generic[A_co]):
    """An ordinary DataFrame of panes, which also knows how the pipeline's functions run.

    What is derived from it (``select``, ``join``, ``writeStream`` and so on) is as usual.
    """

    _notes: tuple[LiftingNote, ...]
    _with_drops: WithDrops

    @property
    def lifting(self) -> tuple[LiftingNote, ...]:
        """How each of the user's functions runs: as Spark columns, or in Python and why."""
        return self._notes

    def explain(self, extended: bool | str | None = None, mode: str | None = None) -> None:
        """Print how each of the user's functions runs, and then Spark's plan."""
        print("== Functions ==", *self._notes, "", sep="\n")  # noqa: T201  # DataFrame.explain prints too
        super().explain(extended, mode)

    def final_values(self, *, by: Sequence[str] | None = None) -> DataFrame:
        """The latest value of each key and window that is not taken back; see ``flowalg_spark.final_values``."""
        return final_values(self, by=by)

    def with_drops(self) -> DataFrame:
        """The panes and, as more rows, the dropped elements: in one query, so that none is lost.

        The row of a drop has a ``drop``, and no element or ``pane``. It stands for all elements that one key and
        window dropped in one micro-batch: ``drop`` has the reason, the count, the key, the combined value of the
        elements, and the clocks. Where several groupings and side inputs of a stream can drop elements, it also has
        the ``stage``; key and value are JSON then, since their types differ.
        """
        return self._with_drops(metrics=False)

    def with_metrics(self) -> DataFrame:
        """The panes, the dropped elements and, as more rows, the metrics of each stage and micro-batch.

        A row of metrics is about one shard of a stage. It has a struct ``stage_metrics``, and no element, ``pane`` or
        ``drop``. The struct has the number of the micro-batch (``batch``), the ``number`` of the ``stage`` in the
        pipeline, the ``shard``, the fields of ``flowalg_shard.ShardMetrics``, and the ``seconds`` that the shard took.
        ``flowalg_spark.metrics`` sums them up by stage.

        Raises ``UnsupportedError`` for a batch, and ``ArgumentError`` for a stream that was compiled without
        ``metrics``.
        """
        return self._with_drops(metrics=True)


def _class_over(base: type[DataFrame]) -> type[DataFrame]:
    """The pane frame over Spark's own class of frames, classic or Connect."""
    return type("PaneFrame", (PaneFrame, base), {})


def pane_frame(pipeline: PCollection[A], flow: Flow, with_drops: WithDrops) -> PaneFrame[A]:
    """The visible frame of a compiled pipeline."""
    panes_only = evolve(flow, frame=flow.frame.filter(col(KEEP))) if flow.guarded else flow
    frame = user_frame(panes_only)
    panes = cast("PaneFrame[A]", object.__new__(_class_over(type(frame))))
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
    "read_panes",
    "user_frame",
]
