"""The drop of a row as a struct, and the window of the drop where the frame has no windows of panes."""

from __future__ import annotations

from collections.abc import Iterable

from flowalg_columns.names import (
    DROPPED_KEY,
    DROPPED_VALUE,
    ERROR,
    LATE_CHANGE,
    LATE_INPUT,
    LATE_TIME,
    LATE_WATERMARK,
    PANE_TIME,
    STAGE,
    WATERMARK,
)
from flowalg_columns.output_elements import DROP_WINDOW
from flowalg_shard.tables.columns import DROP_COUNT, DROP_REASON, END, START
from pyspark.sql import types as T

from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col
from flowalg_spark.encoding.sql import NULL, Sql
from flowalg_spark.frames.pane_frame import DROP_TYPE


def drop_struct(*, errors: bool, late_data: bool) -> Sql:
    """Returns the drop of a row with its stage; null on other rows. With ``late_data`` each is one element."""
    watermark = sql.coalesce(col(LATE_WATERMARK), col(WATERMARK)) if late_data else col(WATERMARK)
    late = (
        sql.timestamp_micros(col(LATE_TIME)).alias("event_time"),
        col(LATE_CHANGE).alias("change"),
        col(LATE_INPUT).alias("input"),
    )
    return _on_drops(
        col(STAGE).alias("stage"),
        *_drop_fields(col(DROPPED_KEY), col(DROPPED_VALUE), watermark),
        *([col(ERROR).alias("error")] if errors else []),
        *(late if late_data else ()),
    )


def typed_drop_struct(key: Sql, value: Sql) -> Sql:
    """Returns the drop of a row of the only stage; null on other rows."""
    return _on_drops(*_drop_fields(key, value, col(WATERMARK)))


def _drop_fields(key: Sql, value: Sql, watermark: Sql) -> tuple[Sql, ...]:
    return (
        col(DROP_REASON).alias("reason"),
        col(DROP_COUNT).alias("count"),
        key.alias("key"),
        value.alias("value"),
        sql.timestamp_micros(col(PANE_TIME)).alias("processing_time"),
        sql.timestamp_micros(watermark).alias("watermark"),
    )


def _on_drops(*fields: Sql) -> Sql:
    return sql.when(col(DROP_REASON).is_not_null(), sql.struct(*fields))


def drop_columns(columns: Iterable[str]) -> tuple[Sql, Sql]:
    """Returns the drop of a row and its window, given the columns of its frame; null if nothing can drop elements."""
    names = set(columns)
    if DROP_REASON not in names:
        window_type = T.StructType([T.StructField(name, T.TimestampType()) for name in ("start", "end")])
        return NULL.cast(DROP_TYPE).alias("drop"), NULL.cast(window_type).alias(DROP_WINDOW)
    window = sql.timestamp_micros(col(START)).alias("start"), sql.timestamp_micros(col(END)).alias("end")
    return (
        drop_struct(errors=ERROR in names, late_data=LATE_TIME in names).alias("drop"),
        _on_drops(*window).alias(DROP_WINDOW),
    )
