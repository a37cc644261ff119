"""The rows of sinks as frames: the columns of a table, computed by Spark from the frame of a micro-batch.

The columns are those of every sink. Values with parts that have no columns of their own keep their Spark types. All
durations are microseconds, since neither Delta nor Iceberg has intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowalg_columns.layout import layout_of, leaf_columns, leaves
from flowalg_columns.output_elements import DROP_WINDOW
from flowalg_columns.panes import METRICS_COLUMN
from flowalg_sinks.cells import element_columns
from flowalg_sinks.databases.tables import CellKind, Table
from flowalg_sinks.pane_columns import require_element_shape
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from flowalg.data.kv import KV
from flowalg.data.shapes import DECIMAL, RecordOf, Shape
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import last_groupings
from flowalg.runs.panes import Change
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, frame_columns, select, where
from flowalg_spark.encoding.json_columns import value_json
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.encoding.sql import NULL, Sql

DUPLICATE: Final = "__duplicate"
_NEXT: Final = "__next"
_NUMBER: Final = "__number"

_TYPES: Final[dict[CellKind, T.DataType]] = {
    CellKind.BOOLEAN: T.BooleanType(),
    CellKind.INTEGER: T.LongType(),
    CellKind.FLOAT: T.DoubleType(),
    CellKind.TEXT: T.StringType(),
    CellKind.BINARY: T.BinaryType(),
    CellKind.TIMESTAMP: T.TimestampType(),
    CellKind.DAY: T.DateType(),
    CellKind.DURATION: T.LongType(),
    CellKind.DECIMAL: spark_type(DECIMAL),
}


def table_schema(table: Table, shape: Shape | None = None) -> T.StructType:
    """Returns the Spark types of a table, whose rows have elements of a shape.

    All columns are nullable: neither format has primary keys.
    """
    own: dict[str, T.DataType] = {}
    if shape is not None:
        types = (_stored_type(spark_type(leaf.shape)) for leaf in leaves(layout_of(shape)))
        own = {column.name: kind for column, kind in zip(element_columns(shape), types, strict=True)}
    fields = [(c.name, own[c.name] if c.name in own else _TYPES[c.kind]) for c in table.columns]
    return T.StructType([T.StructField(name, kind) for name, kind in fields])


def output_rows(pipeline: PCollection[object], frame: DataFrame) -> DataFrame:
    """Returns the panes or elements of a micro-batch with the columns of a changelog, except ``BATCH_COLUMNS``."""
    shape = require_element_shape(pipeline)
    names = [column.name for column in element_columns(shape)]
    parts = zip(names, leaf_columns(frame_columns(shape)), leaves(layout_of(shape)), strict=True)
    own = [_stored(part, spark_type(leaf.shape)).alias(name) for name, part, leaf in parts]
    for other in ("drop", METRICS_COLUMN):
        if other in frame.columns:
            frame = where(frame, col(other).is_null())
    if not emits_panes(pipeline.node):
        return select(frame, *own, "event_time", "processing_time")
    pane, window = col("pane"), col("window")
    names_in_pane = ("timing", "index", "is_first", "is_last", "processing_time", "watermark")
    return select(
        frame,
        "change",
        *own,
        window["start"].alias("window_start"),
        window["end"].alias("window_end"),
        "event_time",
        *(pane[name].alias(f"pane_{name}") for name in names_in_pane),
    )


def latest_rows(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """Returns the last pane of each key of a table.

    Later panes of a window have greater indices. If the last one is a retraction, the key has no current value.
    ``DUPLICATE`` is true if the last pane has several elements with that key.
    """
    is_value = col("change") == Change.VALUE.value
    last_first = Sql(f"{col('pane_index')} DESC, {is_value}")
    ranked = select(
        rows,
        "*",
        sql.row_number().over(by=map(col, key), order=last_first).alias(_NUMBER),
        sql.lead(col("pane_index")).over(by=map(col, key), order=last_first).alias(_NEXT),
    )
    duplicate = is_value & (col(_NEXT) == col("pane_index"))
    last = where(ranked, col(_NUMBER) == 1)
    return select(last, *map(col, rows.columns), sql.coalesce(duplicate, False).alias(DUPLICATE))


def ordered_rows(rows: DataFrame, batch: int) -> DataFrame:
    """Returns rows with ``BATCH_COLUMNS``: positions increase in the order of instants, windows, elements and panes.

    Positions are distinct, but not consecutive, since Spark numbers the rows of each partition.
    """
    instant = [
        name for name in ("pane_processing_time", "pane_watermark", "processing_time") if name in rows.columns
    ]
    window = [name for name in ("window_start", "window_end", "event_time") if name in rows.columns]
    others = [name for name in rows.columns if name not in ("change", *instant, *window)]
    # The retraction of a pane is after its value, and before the next pane.
    last = [col("change") == sql.lit(Change.RETRACTION.value)] if "change" in rows.columns else []
    index = ["pane_index"] if "pane_index" in others else []
    key = [name for name in others if name == "key" or name.startswith("key_")]
    by = dict.fromkeys([*instant, *window, *key, *index])
    rest = [name for name in others if name not in by]
    order = [*map(col, by), *last, *map(col, rest)]
    ordered = rows.orderBy(*(part.column for part in order))
    numbered = (
        sql.long(batch).alias("batch"),
        sql.monotonically_increasing_id().alias("position"),
    )
    return select(ordered, *numbered, *map(col, rows.columns))


def drop_rows(pipeline: PCollection[object], frame: DataFrame) -> DataFrame:
    """Returns the drops of a micro-batch with the columns of a table of drops, except ``BATCH_COLUMNS``."""
    kind = frame.schema["drop"].dataType
    assert isinstance(kind, T.StructType), "drop is a struct"
    drop, window = col("drop"), col("window" if emits_panes(pipeline.node) else DROP_WINDOW)
    key, value = drop["key"], drop["value"]
    pair = next((grouping.shape for grouping in last_groupings(pipeline.node)), None)
    if "stage" not in kind.names and isinstance(pair, RecordOf) and pair.cls is KV:
        of_key, of_value = (field.shape for field in pair.fields)
        # The type of an optional key does not show that it may be null, and its JSON is null.
        key = sql.coalesce(value_json(key, of_key), "null")
        value = value_json(value, of_value)

    def optional(name: str) -> Sql:
        return drop[name] if name in kind.names else NULL.cast("string")

    return select(
        where(frame, drop.is_not_null()),
        optional("stage").alias("stage"),
        drop["reason"].alias("reason"),
        drop["count"].alias("count"),
        key.cast("string").alias("dropped_key"),
        value.cast("string").alias("dropped_value"),
        optional("error").alias("error"),
        window["start"].alias("window_start"),
        window["end"].alias("window_end"),
        drop["processing_time"].alias("processing_time"),
        drop["watermark"].alias("watermark"),
    )


def _stored_type(kind: T.DataType) -> T.DataType:
    match kind:
        case T.DayTimeIntervalType():
            return T.LongType()
        case T.ArrayType():
            return T.ArrayType(_stored_type(kind.elementType))
        case T.StructType():
            return T.StructType(
                [T.StructField(field.name, _stored_type(field.dataType)) for field in kind.fields]
            )
        case _:
            return kind


def _stored(column: Sql, kind: T.DataType) -> Sql:
    """Converts a column of a type to its stored type."""
    if _stored_type(kind) == kind:
        return column
    match kind:
        case T.ArrayType():
            return sql.transform(column, lambda item: _stored(item, kind.elementType))
        case T.StructType():
            parts = (_stored(column[field.name], field.dataType).alias(field.name) for field in kind.fields)
            return sql.when(column.is_not_null(), sql.struct(*parts))
        case _:
            seconds = column.cast(T.DayTimeIntervalType(3, 3)).cast("decimal(38,6)")
            return (seconds * 10**6).cast("bigint")
