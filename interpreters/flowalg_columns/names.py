"""The names of the metadata columns of elements: times, window, pane, drop, and clock reports.

Times are microseconds since the epoch.
"""

from __future__ import annotations

from typing import Final

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

PANE_TIME: Final = "__pane_time"
WATERMARK: Final = "__watermark"
SPAN: Final = "__span"
"""The window of a pane as the struct by which it was grouped; see Spark batch."""

DROP: Final = "__drop"
STAGE: Final = "__stage"
DROPPED_KEY: Final = "__dropped_key"
DROPPED_VALUE: Final = "__dropped_value"
"""The key and the value of a drop as JSON, in pipelines where several stages (``STAGE``) can drop elements."""

LATE_TIME: Final = "__late_time"
LATE_WATERMARK: Final = "__late_watermark"
LATE_CHANGE: Final = "__late_change"
LATE_INPUT: Final = "__late_input"
"""Of a dropped element: its event time, the watermark before its instant, its change, and the number of its input."""

ORIGIN: Final = "__origin"
"""Where a row of a source comes from, such as the offset of a message; the errors of bad records start with it."""

ERROR: Final = "__error"
"""The error of a bad record that is routed to the dead-letter output."""

CORRUPT_RECORD: Final = "__corrupt_record"
"""The column with text that is not a record, as JSON; null for records."""

CORRUPT_ERROR: Final = "__corrupt_error"
"""The column with the error of text that is not a record."""

BAD_RECORD: Final = "bad_record"
"""The reason of a drop that is a bad record."""

METRICS: Final = "__metrics"
"""The metrics of a shard in a micro-batch as JSON, in a separate row."""

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
"""The metadata columns of a pane."""

SIGNAL_META: Final = (SIGNAL, SIGNAL_KEY, SIGNAL_START, SIGNAL_END)
"""The columns of a signal: its name, its key as JSON and the bounds of its window, if it has them."""

CLOCK_META: Final = (
    PROCESSING_TIME,
    ENDED,
    OBSERVED_TIME,
    PARTITION,
    *SIGNAL_META,
    PUBLISHED,
    UPSTREAM,
    REPORT,
)
"""The columns that clocks observe. A flow has some of them."""

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
"""The columns of a drop that later stages forward."""

LATE_META: Final = (LATE_TIME, LATE_WATERMARK, LATE_CHANGE, LATE_INPUT)
"""The further columns of a drop in a query with late data."""

FORWARDED_META: Final = (*DROP_META, *LATE_META, ERROR, METRICS)
"""All columns that later stages forward, if the flow has them."""
