"""The columns that travel beside an element's own: its times, its window, and what a pane says of itself."""

from __future__ import annotations

from typing import Final

from flowalg_shard.tables.columns import (
    END,
    ENDED,
    EVENT_TIME,
    KEEP,
    OBSERVED_TIME,
    PARTITION,
    PROCESSING_TIME,
    REPORT,
    SIGNAL,
    START,
    UPSTREAM,
)
from pyspark.sql import types as T

TIMING: Final = "__timing"
INDEX: Final = "__index"
IS_FIRST: Final = "__is_first"
IS_LAST: Final = "__is_last"
CHANGE: Final = "__change"
PANE_TIME: Final = "__pane_time"
WATERMARK: Final = "__watermark"
SPAN: Final = "__span"
"""The window of a pane as the struct by which it was grouped: see ``batch.native_groups``."""

DROP: Final = "__drop"
DROP_REASON: Final = "__drop_reason"
DROP_COUNT: Final = "__drop_count"
STAGE: Final = "__stage"
DROPPED_KEY: Final = "__dropped_key"
DROPPED_VALUE: Final = "__dropped_value"
"""Of a drop in a pipeline where several stages can drop: which one, and the key and the value as JSON."""

ERROR: Final = "__error"
"""What is wrong with a bad record, where these are told as drops: see ``checking``."""

BAD_RECORD: Final = "bad_record"
"""The reason of such a drop."""

METRICS: Final = "__metrics"
"""The metrics of a shard in a micro-batch, as JSON, on a row of their own: see ``metrics_columns``."""

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
    OBSERVED_TIME: T.LongType(),
    PARTITION: T.StringType(),
    SIGNAL: T.StringType(),
    UPSTREAM: T.IntegerType(),
    REPORT: T.BinaryType(),
    ERROR: T.StringType(),
    METRICS: T.StringType(),
}
"""The type of each; times are microseconds since the epoch. ``DROP`` has the type that its grouping gives it."""

PANE_META: Final = (
    EVENT_TIME,
    START,
    END,
    CHANGE,
    TIMING,
    INDEX,
    IS_FIRST,
    IS_LAST,
    PANE_TIME,
    WATERMARK,
)
"""What travels with a pane."""

CLOCK_META: Final = (PROCESSING_TIME, ENDED, OBSERVED_TIME, PARTITION, SIGNAL, UPSTREAM, REPORT)
"""What rows say of the clocks, where they do."""

DROP_META: Final = (
    STAGE,
    DROP_REASON,
    DROP_COUNT,
    DROPPED_KEY,
    DROPPED_VALUE,
    START,
    END,
    PANE_TIME,
    WATERMARK,
)
"""What is said of a drop that has to pass other stages."""

FORWARDED_META: Final = (*DROP_META, ERROR, METRICS)
"""What is said on rows that have to pass other stages, where it is."""


def pane_meta_types() -> dict[str, T.DataType]:
    """What travels with a pane, with the types."""
    return {name: META_TYPES[name] for name in PANE_META}


__all__ = [
    "BAD_RECORD",
    "CHANGE",
    "CLOCK_META",
    "DROP",
    "DROPPED_KEY",
    "DROPPED_VALUE",
    "DROP_COUNT",
    "DROP_META",
    "DROP_REASON",
    "END",
    "ENDED",
    "ERROR",
    "EVENT_TIME",
    "FORWARDED_META",
    "INDEX",
    "IS_FIRST",
    "IS_LAST",
    "KEEP",
    "META_TYPES",
    "METRICS",
    "OBSERVED_TIME",
    "PANE_META",
    "PANE_TIME",
    "PARTITION",
    "PROCESSING_TIME",
    "REPORT",
    "SIGNAL",
    "SPAN",
    "STAGE",
    "START",
    "TIMING",
    "UPSTREAM",
    "WATERMARK",
    "pane_meta_types",
]
