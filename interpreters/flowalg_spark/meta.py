"""The columns that travel beside an element's own: its times, its window, and what a pane says of itself."""

from __future__ import annotations

from typing import Final

from flowalg_shard.stage import END, ENDED, EVENT_TIME, KEEP, PROCESSING_TIME, START
from pyspark.sql import types as T

TIMING: Final = "__timing"
INDEX: Final = "__index"
IS_FIRST: Final = "__is_first"
IS_LAST: Final = "__is_last"
CHANGE: Final = "__change"
PANE_TIME: Final = "__pane_time"
WATERMARK: Final = "__watermark"
SPAN: Final = "__span"
"""The window of a pane once more, as the struct by which it was grouped: see ``relational.native_groups``."""

DROP: Final = "__drop"
REASON: Final = "__reason"
DROPPED: Final = "__dropped"

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
    REASON: T.StringType(),
    DROPPED: T.LongType(),
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


def pane_meta() -> dict[str, T.DataType]:
    """What travels with a pane, with the types."""
    return {name: META_TYPES[name] for name in PANE_META}


__all__ = [
    "CHANGE",
    "DROP",
    "DROPPED",
    "END",
    "ENDED",
    "EVENT_TIME",
    "INDEX",
    "IS_FIRST",
    "IS_LAST",
    "KEEP",
    "META_TYPES",
    "PANE_META",
    "PANE_TIME",
    "PROCESSING_TIME",
    "REASON",
    "SPAN",
    "START",
    "TIMING",
    "WATERMARK",
    "pane_meta",
]
