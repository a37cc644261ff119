"""A pipeline over unbounded input, micro-batch by micro-batch, in one process.

``run`` runs a query, ``batches`` is an iterator over its output, and ``drain`` ends its input. A query has a pipeline,
or several outputs by their names, and ``StreamOptions``. ``open_state`` and ``open_keys`` read the live state in a
checkpoint, ``plan`` says what a changed pipeline can continue from it, ``reshard`` changes its number of shards, and
``read_query`` and ``write_query`` move it to another engine and from one.
``replay_log`` gives the clocks of a run to the reference interpreter.
"""

from flowalg_shard.state.compatibility import Outcome, StageFinding
from flowalg_shard.state.plans import ChangePlan
from flowalg_shard.stored_query import StoredQuery

from flowalg_polars.streaming.inspection import check, open_keys, open_state, plan, replay_log, reshard
from flowalg_polars.streaming.moves.stored_queries import read_query, write_query
from flowalg_polars.streaming.options import StreamOptions
from flowalg_polars.streaming.query import MicroBatch, MicroBatches
from flowalg_polars.streaming.reading.inputs import Files, Frames, Records, StreamInput
from flowalg_polars.streaming.reading.snapshots import snapshot_input
from flowalg_polars.streaming.running import (
    CAPABILITIES,
    RunSummary,
    Sink,
    batches,
    run,
)
from flowalg_polars.streaming.storage.checkpoint import drain

__all__ = [
    "CAPABILITIES",
    "ChangePlan",
    "Files",
    "Frames",
    "MicroBatch",
    "MicroBatches",
    "Outcome",
    "Records",
    "RunSummary",
    "Sink",
    "StageFinding",
    "StoredQuery",
    "StreamInput",
    "StreamOptions",
    "batches",
    "check",
    "drain",
    "open_keys",
    "open_state",
    "plan",
    "read_query",
    "replay_log",
    "reshard",
    "run",
    "snapshot_input",
    "write_query",
]
