"""A pipeline over unbounded input, micro-batch by micro-batch, in one process.

``run`` runs a query, ``batches`` is an iterator over its output, and ``drain`` ends its input.
"""

from flowalg_polars.streaming.checkpoint import drain
from flowalg_polars.streaming.inputs import Files, Frames, Records, StreamInput
from flowalg_polars.streaming.query import MicroBatch
from flowalg_polars.streaming.running import CAPABILITIES, RunSummary, Sink, batches, run

__all__ = [
    "CAPABILITIES",
    "Files",
    "Frames",
    "MicroBatch",
    "Records",
    "RunSummary",
    "Sink",
    "StreamInput",
    "batches",
    "drain",
    "run",
]
