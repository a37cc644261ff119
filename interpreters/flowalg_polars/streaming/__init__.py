"""A pipeline over unbounded input, micro-batch by micro-batch, in one process.

``run`` runs a query, ``batches`` is an iterator over its output, and ``drain`` ends its input. ``run_all`` and
``batches_all`` are the same for several outputs of one query. ``open_state`` and ``open_keys`` read the live state in
a checkpoint, and ``replay_log`` gives the clocks of a run to the reference interpreter.
"""

from flowalg_polars.streaming.checkpoint import drain
from flowalg_polars.streaming.inspection import open_keys, open_state, replay_log
from flowalg_polars.streaming.query import MicroBatch, MicroBatches
from flowalg_polars.streaming.reading.inputs import Files, Frames, Records, StreamInput
from flowalg_polars.streaming.running import (
    CAPABILITIES,
    RunSummary,
    Sink,
    batches,
    batches_all,
    run,
    run_all,
)

__all__ = [
    "CAPABILITIES",
    "Files",
    "Frames",
    "MicroBatch",
    "MicroBatches",
    "Records",
    "RunSummary",
    "Sink",
    "StreamInput",
    "batches",
    "batches_all",
    "drain",
    "open_keys",
    "open_state",
    "replay_log",
    "run",
    "run_all",
]
