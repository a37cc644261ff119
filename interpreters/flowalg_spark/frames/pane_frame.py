"""The result of compiling a pipeline: a DataFrame of panes or elements, with notes about its functions.

Its columns are the fields of the element (``key`` and ``value`` for pairs; records inside them are structs), then
``window`` (start, end), ``event_time``, ``change``, and ``pane`` (timing, index, is_first, is_last,
processing_time, watermark). If the pipeline groups nothing, they are the fields of the element, ``event_time`` and
``processing_time``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve
from flowalg_columns.notes import LiftingNote
from flowalg_columns.output_elements import (
    flat_columns,
    read_output_elements,
    require_elements,
    require_panes,
    user_columns,
)
from flowalg_columns.panes import METRICS_COLUMN, element_shape, read_panes
from flowalg_shard.tables.columns import (
    KEEP,
)
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from flowalg.data.errors import ArgumentError
from flowalg.data.shapes import RecordOf
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.output import Output, OutputElement
from flowalg.runs.panes import Pane
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import EXPRESSIONS, col, select, where
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.frames.final_values import filter_panes, final_values
from flowalg_spark.lowering.flow import Flow
from flowalg_spark.lowering.notes import LiftedNote

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)

_NUMBER: Final = "__number"


def user_frame(flow: Flow, *others: Sql, panes: bool) -> DataFrame:
    """Returns the panes or elements of a flow with the columns that users see, followed by other columns."""
    selection = flow.selection
    return select(selection.rows, *shown_columns(flow, panes=panes), *others)


def shown_columns(flow: Flow, *, panes: bool) -> list[Sql]:
    """Returns the columns that users see of the panes or elements of a flow."""
    column = flow.selection.columns.__getitem__

    def kept(pane: Sql) -> Sql:
        return sql.when(column(KEEP), pane) if flow.guarded else pane

    element = flow.selection.element(flow.shape)
    return user_columns(EXPRESSIONS, element, column, panes=panes, of_pane=kept)


def _drop_fields(key: T.DataType, value: T.DataType) -> list[T.StructField]:
    return [
        T.StructField("reason", T.StringType()),
        T.StructField("count", T.LongType()),
        T.StructField("key", key),
        T.StructField("value", value),
        T.StructField("processing_time", T.TimestampType()),
        T.StructField("watermark", T.TimestampType()),
    ]


def drop_type(pair: RecordOf) -> T.StructType:
    """Returns the type of ``drop``: the reason, the count, the key, the combined value, and the clocks."""
    key, value = pair.fields
    return T.StructType(_drop_fields(spark_type(key.shape), spark_type(value.shape)))


def collect(pipeline: PCollection[A], frame: DataFrame) -> tuple[Pane[A], ...]:
    """Collects the panes of a frame from ``compile``, or of a table that a sink has stored, as typed values.

    They are sorted by processing time, window and key, with each retraction before its replacement. Drops are excluded.
    The panes must fit in memory. If the query fails because of an element or a user-defined function, the error is that
    of the reference interpreter, with Spark's exception as its cause. Raises ``UnsupportedError`` for a pipeline that
    groups nothing.
    """
    require_panes(pipeline, "collect")
    return collect_output(pipeline, frame).panes


def collect_elements(pipeline: PCollection[A], frame: DataFrame) -> tuple[OutputElement[A], ...]:
    """Collects the elements of a frame from ``compile``, or of a table that a sink has stored, as typed values.

    They are sorted by processing time, event time and value. Errors are those of ``collect``. Raises
    ``UnsupportedError`` for an output of panes.
    """
    require_elements(pipeline, "collect_elements")
    return collect_output(pipeline, frame).elements


def collect_output(pipeline: PCollection[A], frame: DataFrame) -> Output[A]:
    """Collects the panes or elements of a frame as typed values."""
    with raise_causes():
        table = flatten_frame(pipeline, frame).toArrow()
    return read_output(table, pipeline)


def read_output(table: pa.Table, pipeline: PCollection[A]) -> Output[A]:
    """Reads the output of a pipeline from a table with the columns of ``leaves_and_meta``, in order."""
    if emits_panes(pipeline.node):
        return Output(read_panes(table, pipeline))
    return Output((), elements=read_output_elements(table, pipeline))


def collect_tables(flats: Sequence[DataFrame]) -> list[pa.Table]:
    """Collects several frames as tables, by one query: it computes shared parts once."""
    # Nullable, since the struct of a frame is null on the rows of the others, and Arrow checks nullability.
    types = [
        T.StructType([T.StructField(field.name, field.dataType) for field in flat.schema]) for flat in flats
    ]
    parts = [
        select(flat, sql.lit(number).alias(_NUMBER), *_pack(flat, number, types))
        for number, flat in enumerate(flats)
    ]
    with raise_causes():
        table = reduce(DataFrame.union, parts).toArrow()
    return [_unpack(table, number) for number in range(len(flats))]


def _pack(frame: DataFrame, number: int, types: Sequence[T.StructType]) -> Iterator[Sql]:
    """Yields one struct for each frame: the frame's own columns at its number, and null at the others."""
    for other, type_ in enumerate(types):
        column = sql.struct(*map(col, frame.columns)) if other == number else NULL
        yield column.cast(type_).alias(f"_{other}")


def _unpack(table: pa.Table, number: int) -> pa.Table:
    """Returns the rows and columns of one of several packed frames."""
    packed = table.filter(pc.equal(table.column(_NUMBER), pa.scalar(number))).select([f"_{number}"]).flatten()
    return packed.rename_columns([name.partition(".")[2] for name in packed.column_names])


def flatten_frame(pipeline: PCollection[object], frame: DataFrame) -> DataFrame:
    """Returns the output in a frame, with a column for each leaf of the element and for each of its other fields."""
    if emits_panes(pipeline.node):
        rows = filter_panes(frame)
    else:
        others = [name for name in ("drop", METRICS_COLUMN) if name in frame.columns]
        rows = reduce(where, (col(name).is_null() for name in others), frame)
    return select(rows, *leaves_and_meta(pipeline))


def leaves_and_meta(pipeline: PCollection[object], column: Callable[[str], Sql] = col) -> list[Sql]:
    """Returns the columns that ``flatten_frame`` selects. ``column`` maps the name of a column to the column."""
    panes = emits_panes(pipeline.node)
    return flat_columns(EXPRESSIONS, element_shape(pipeline), column, panes=panes)


DROP_TYPE: Final = T.StructType(
    [T.StructField("stage", T.StringType()), *_drop_fields(T.StringType(), T.StringType())]
)
"""The type of ``drop`` in an output of elements, or where several stages can drop: the key and the value are JSON."""


BAD_RECORD_TYPE: Final = T.StructType([*DROP_TYPE.fields, T.StructField("error", T.StringType())])
"""The type of ``drop`` in a query with dead letters, and the columns of a frame of dead letters."""


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
    """A DataFrame of panes, or of elements if the pipeline groups nothing, with notes on how its functions run.

    Its methods (``select``, ``join``, ``writeStream`` and so on) are those of every DataFrame.
    """

    _notes: tuple[LiftingNote, ...]
    _with_drops: WithDrops
    _dead_letters: DataFrame | None

    @property
    def lifting(self) -> tuple[LiftingNote, ...]:
        """How each user-defined function runs: as Spark columns, or in Python with the reason."""
        return self._notes

    def explain(self, extended: bool | str | None = None, mode: str | None = None) -> None:
        """Prints how each user-defined function runs, with the SQL of lifted steps, followed by Spark's plan."""
        lines = (f"{note}\n    {note.sql}" if isinstance(note, LiftedNote) else note for note in self._notes)
        print("== Functions ==", *lines, "", sep="\n")  # noqa: T201  # DataFrame.explain prints too
        super().explain(extended, mode)

    def final_values(self, *, by: Sequence[str] | None = None) -> DataFrame:
        """Returns the latest value of each key and window that is not retracted; see ``flowalg_spark.final_values``."""
        return final_values(self, by=by)

    def with_drops(self) -> DataFrame:
        """Returns the panes and, as additional rows of the same query, the dropped elements.

        The row of a drop has a ``drop``, and no element or ``pane``. It represents all elements that one key and
        window dropped in one micro-batch: ``drop`` has the reason, the count, the key, the combined value of the
        elements, and the clocks. If several groupings and side inputs of a stream can drop elements, it also has the
        ``stage``, and the key and the value are JSON, since their types differ. In a stream with ``late_data`` it
        represents one element, which is the value, with the ``event_time``, the ``change`` and the ``input``.
        """
        return self._with_drops(metrics=False)

    def dead_letters(self) -> DataFrame:
        """Returns the bad records of a batch compiled with ``dead_letters``, as rows with the columns of drops.

        ``stage`` is the source, or the transform whose function raised; ``error`` is the error, and ``value`` the row
        of the source, or the input of the transform, as JSON. ``reason`` is ``bad_record``, ``count`` is 1, and ``key``
        and ``watermark`` are null. The query reads the sources and runs the element-wise steps again, but not the
        groupings. Raises ``ArgumentError`` for any other frame; those of a stream are in ``with_drops()``, since a
        query has one output.
        """
        if self._dead_letters is None:
            valid = "True in batch.compile for dead_letters(); a stream has its bad records in with_drops()"
            raise ArgumentError("dead_letters", False, valid)
        return self._dead_letters

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


def pane_frame(
    pipeline: PCollection[A], flow: Flow, with_drops: WithDrops, dead_letters: DataFrame | None = None
) -> PaneFrame[A]:
    """Returns the frame of a compiled pipeline."""
    kept = evolve(flow, frame=where(flow.frame, col(KEEP))) if flow.guarded else flow
    frame = user_frame(kept, panes=emits_panes(pipeline.node))
    return cast("PaneFrame[A]", noted_frame(frame, flow.notes, with_drops, dead_letters))


def noted_frame(
    frame: DataFrame,
    notes: tuple[LiftingNote, ...],
    with_drops: WithDrops,
    dead_letters: DataFrame | None = None,
) -> PaneFrame[object]:
    """Returns a frame with notes on how functions run, with its drops and its dead letters."""
    noted = cast("PaneFrame[object]", object.__new__(_pane_frame_class(type(frame))))
    vars(noted).update(vars(frame))
    noted._notes = notes
    noted._with_drops = with_drops
    noted._dead_letters = dead_letters
    return noted
