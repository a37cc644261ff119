"""The names of the columns that tables of elements, bundles, windows and panes have beside keys and values."""

from __future__ import annotations

from typing import Final

# Of elements, as they come.
EVENT_TIME: Final = "__event_time"
PROCESSING_TIME: Final = "__processing_time"
KEEP: Final = "__keep"
ENDED: Final = "__ended"
SHARD: Final = "__shard"
WEIGHT: Final = "__weight"
ARRIVAL: Final = "__arrival"
VALUE: Final = "__value"

# What rows say of the clocks: the event time by which a policy sees a record (where it is not that of the element any
# more), the partition of the source that it came from, a signal, which origin it is of, what a stage's shards report.
SIGHTED: Final = "__sighted"
PARTITION: Final = "__partition"
SIGNAL: Final = "__signal"
ORIGIN: Final = "__origin"
REPORT: Final = "__report"

# Of a window.
START: Final = "__start"
END: Final = "__end"

# Of a bundle: how many elements, and the summary of them that triggers see.
COUNT: Final = "__count"
POINT: Final = "__point"
NEW: Final = "__new/"

# Of the contents of a window: values less those taken back, the event times, whether there is a result.
CONTENTS: Final = "__contents"
SIZE: Final = "__size"
EARLIEST: Final = "__earliest"
LATEST: Final = "__latest"
HAS: Final = "__has"

# Of a window's panes: whether there is anything new since the last one, what triggers would see of it, how many there
# were, and whether one stands.
CHANGED: Final = "__changed"
PENDING: Final = "__pending/"
PANES: Final = "__panes"
STANDS: Final = "__stands"

# Of a pane, and of a drop.
CHANGE: Final = "change"
TIMING: Final = "timing"
INDEX: Final = "index"
IS_FIRST: Final = "is_first"
IS_LAST: Final = "is_last"
POSITION: Final = "position"
REASON: Final = "reason"
DROPPED: Final = "dropped"

__all__ = [
    "ARRIVAL",
    "CHANGE",
    "CHANGED",
    "CONTENTS",
    "COUNT",
    "DROPPED",
    "EARLIEST",
    "END",
    "ENDED",
    "EVENT_TIME",
    "HAS",
    "INDEX",
    "IS_FIRST",
    "IS_LAST",
    "KEEP",
    "LATEST",
    "NEW",
    "ORIGIN",
    "PANES",
    "PARTITION",
    "PENDING",
    "POINT",
    "POSITION",
    "PROCESSING_TIME",
    "REASON",
    "REPORT",
    "SHARD",
    "SIGHTED",
    "SIGNAL",
    "SIZE",
    "STANDS",
    "START",
    "TIMING",
    "VALUE",
    "WEIGHT",
]
