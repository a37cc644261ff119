"""The names of the columns of elements, bundles, windows and panes, next to those of keys and values."""

from __future__ import annotations

from typing import Final

# Of the rows that arrive at a stage. KEEP: whether a row is an element; ENDED: whether it ends the input; SIDE: the
# number of the input of a co-group.
EVENT_TIME: Final = "__event_time"
PROCESSING_TIME: Final = "__processing_time"
KEEP: Final = "__keep"
ENDED: Final = "__ended"
SHARD: Final = "__shard"
WEIGHT: Final = "__weight"
VALUE: Final = "__value"
SIDE: Final = "__side"

# For the clocks: the event time of the record as its source gave it (where the element has another one by now), the
# partition of the source, a signal with its key as JSON and its window, the watermark that the source publishes for the
# partition, the number of the upstream, the report of a shard of the stage before.
OBSERVED_TIME: Final = "__observed_time"
PARTITION: Final = "__partition"
SIGNAL: Final = "__signal"
SIGNAL_KEY: Final = "__signal_key"
SIGNAL_START: Final = "__signal_start"
SIGNAL_END: Final = "__signal_end"
PUBLISHED: Final = "__published"
UPSTREAM: Final = "__upstream"
REPORT: Final = "__report"

# Of a window.
START: Final = "__start"
END: Final = "__end"

# Of a bundle: the number of elements, an event time, and the prefix of the summary that triggers observe.
COUNT: Final = "__count"
POINT: Final = "__point"
NEW: Final = "__new/"

# Of the contents of a window: pickled objects, values less retractions, event times, whether there is a value to emit.
CONTENTS: Final = "__contents"
SIZE: Final = "__size"
EARLIEST: Final = "__earliest"
LATEST: Final = "__latest"
HAS_VALUE: Final = "__has_value"

# Of a window that may come apart: its proto-windows, each with its bounds, the number of its elements less retractions,
# and the prefix of the summary of those that it has observed. RESTARTS: whether the trigger of a window restarts.
PROTO_WINDOWS: Final = "__proto_windows"
PROTO_START: Final = "__proto_start"
PROTO_END: Final = "__proto_end"
MULTIPLICITY: Final = "__multiplicity"
OBSERVED: Final = "__observed/"
RESTARTS: Final = "__restarts"

# Of the panes of a window: whether it has unemitted changes, the prefix of the summary of these, the number of panes so
# far, and whether one is current (emitted and not retracted).
CHANGED: Final = "__changed"
PENDING: Final = "__pending/"
PANES: Final = "__panes"
HAS_CURRENT: Final = "__has_current"

# Of a pane, and of a drop.
CHANGE: Final = "__change"
TIMING: Final = "__timing"
INDEX: Final = "__index"
IS_FIRST: Final = "__is_first"
IS_LAST: Final = "__is_last"
POSITION: Final = "__position"
DROP_REASON: Final = "__drop_reason"
DROP_COUNT: Final = "__drop_count"
