"""The Spark types of the metadata columns of elements."""

from __future__ import annotations

from typing import Final

from flowalg_columns.names import (
    DROPPED_KEY,
    DROPPED_VALUE,
    ERROR,
    LATE_CHANGE,
    LATE_INPUT,
    LATE_TIME,
    LATE_WATERMARK,
    METRICS,
    PANE_META,
    PANE_TIME,
    SPAN,
    STAGE,
    WATERMARK,
)
from flowalg_shard.tables.columns import (
    CHANGE,
    DROP_COUNT,
    DROP_REASON,
    END,
    ENDED,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    KEEP,
    OBSERVED_TIME,
    PARTITION,
    PROCESSING_TIME,
    PUBLISHED,
    REPORT,
    SIGNAL,
    SIGNAL_END,
    SIGNAL_KEY,
    SIGNAL_START,
    START,
    TIMING,
    UPSTREAM,
)
from pyspark.sql import types as T

META_TYPES: Final[dict[str, T.DataType]] = {
    EVENT_TIME: T.LongType(),
    PROCESSING_TIME: T.LongType(),
    KEEP: T.BooleanType(),
    ENDED: T.BooleanType(),
    START: T.LongType(),
    END: T.LongType(),
    CHANGE: T.StringType(),
    TIMING: T.StringType(),
    INDEX: T.LongType(),
    IS_FIRST: T.BooleanType(),
    IS_LAST: T.BooleanType(),
    PANE_TIME: T.LongType(),
    WATERMARK: T.LongType(),
    SPAN: T.StructType([T.StructField(START, T.LongType())]),
    DROP_REASON: T.StringType(),
    DROP_COUNT: T.LongType(),
    STAGE: T.StringType(),
    DROPPED_KEY: T.StringType(),
    DROPPED_VALUE: T.StringType(),
    LATE_TIME: T.LongType(),
    LATE_WATERMARK: T.LongType(),
    LATE_CHANGE: T.StringType(),
    LATE_INPUT: T.IntegerType(),
    OBSERVED_TIME: T.LongType(),
    PARTITION: T.StringType(),
    SIGNAL: T.StringType(),
    SIGNAL_KEY: T.StringType(),
    SIGNAL_START: T.LongType(),
    SIGNAL_END: T.LongType(),
    PUBLISHED: T.LongType(),
    UPSTREAM: T.IntegerType(),
    REPORT: T.BinaryType(),
    ERROR: T.StringType(),
    METRICS: T.StringType(),
}
"""The types of the columns. Times are microseconds since the epoch. The type of ``DROP`` depends on its grouping."""


def pane_meta_types() -> dict[str, T.DataType]:
    """Returns the metadata columns of a pane, with their types."""
    return {name: META_TYPES[name] for name in PANE_META}
