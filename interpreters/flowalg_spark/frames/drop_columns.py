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
from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg_spark.encoding.columns import col
from flowalg_spark.frames.pane_frame import DROP_TYPE


def drop_struct(*, errors: bool, late_data: bool) -> Column:
    """Returns the drop of a row with its stage; null on other rows. With ``late_data`` each is one element."""
    watermark = F.coalesce(col(LATE_WATERMARK), col(WATERMARK)) if late_data else col(WATERMARK)
    late = (
        F.timestamp_micros(col(LATE_TIME)).alias("event_time"),
        col(LATE_CHANGE).alias("change"),
        col(LATE_INPUT).alias("input"),
    )
    fields = F.struct(
        col(STAGE).alias("stage"),
        col(DROP_REASON).alias("reason"),
        col(DROP_COUNT).alias("count"),
        col(DROPPED_KEY).alias("key"),
        col(DROPPED_VALUE).alias("value"),
        F.timestamp_micros(col(PANE_TIME)).alias("processing_time"),
        F.timestamp_micros(watermark).alias("watermark"),
        *([col(ERROR).alias("error")] if errors else []),
        *(late if late_data else ()),
    )
    return F.when(col(DROP_REASON).isNotNull(), fields)


def drop_columns(columns: Iterable[str]) -> tuple[Column, Column]:
    """Returns the drop of a row and its window, given the columns of its frame; null if nothing can drop elements."""
    names = set(columns)
    if DROP_REASON not in names:
        window_type = "struct<start: timestamp, end: timestamp>"
        return F.lit(None).cast(DROP_TYPE).alias("drop"), F.lit(None).cast(window_type).alias(DROP_WINDOW)
    window = F.struct(
        F.timestamp_micros(col(START)).alias("start"), F.timestamp_micros(col(END)).alias("end")
    )
    return (
        drop_struct(errors=ERROR in names, late_data=LATE_TIME in names).alias("drop"),
        F.when(col(DROP_REASON).isNotNull(), window).alias(DROP_WINDOW),
    )
