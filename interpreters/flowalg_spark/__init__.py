"""The Spark interpreters: ``SparkBatch`` for bounded data, ``SparkStreaming`` for Structured Streaming.

Both are interpreters of the core. ``batch.compile`` and ``streaming.compile`` return a DataFrame of panes instead of a
run. ``collect`` reads panes back as typed values, ``collect_drops`` reads drops, ``collect_bad_records`` bad records,
and ``final_values`` reduces panes to the current value of each key and window. ``select_output`` selects one of several
outputs of a stream. ``schema_of``, ``read_table`` and ``read_files`` give the data of a source in its schema, ``sinks``
has tables that a stream writes to, and ``configure`` prepares a session. ``replay`` runs a pipeline over recorded data
as a stream would. For a run of a stream, ``check_checkpoint`` validates its checkpoint, ``open_state`` reads its live
state, ``plan`` says what a changed pipeline can continue from it, ``reshard`` divides it into another number of shards,
``read_query`` and ``write_query`` move it to another engine and from one, and ``metrics`` and ``replay_log`` read its
stored metrics. ``listener`` reports the progress of a session's queries to
observers. ``records_in`` and ``pane_table`` convert between Arrow tables and the records and panes of the reference
interpreter.
"""

from flowalg_columns.notes import LiftingNote
from flowalg_columns.tables import arrow_schema_of, pane_table, record_table, records_in
from flowalg_shard.replay import ReplayLog
from flowalg_shard.state.compatibility import Outcome, StageFinding
from flowalg_shard.state.plans import ChangePlan
from flowalg_shard.stored_query import StoredQuery

from flowalg.runs.metrics import StageMetrics
from flowalg_spark import batch, sinks, streaming
from flowalg_spark.batch.interpreter import SparkBatch
from flowalg_spark.changes.planning import plan
from flowalg_spark.changes.resharding import reshard
from flowalg_spark.frames.drops import collect_bad_records, collect_drops
from flowalg_spark.frames.final_values import final_values
from flowalg_spark.frames.output_rows import select_output
from flowalg_spark.frames.pane_frame import PaneFrame, collect, collect_elements
from flowalg_spark.frames.sources import read_files, read_table, schema_of, stream_files
from flowalg_spark.inputs import snapshot_input
from flowalg_spark.moves.stored_queries import read_query, write_query
from flowalg_spark.replays.replay_log import replay_log
from flowalg_spark.replays.replaying import (
    ReplayedBatch,
    ReplayedBatches,
    ReplayInput,
    replay,
)
from flowalg_spark.session import configure, local_session
from flowalg_spark.state.checkpoints import check_checkpoint
from flowalg_spark.state.open_state import open_keys, open_state
from flowalg_spark.streaming.compilation import StreamInput
from flowalg_spark.streaming.interpreter import SparkStreaming
from flowalg_spark.streaming.listener import listener
from flowalg_spark.streaming.metrics import bad_records, metrics, query_progress, stage_metrics

__all__ = [
    "ChangePlan",
    "LiftingNote",
    "Outcome",
    "PaneFrame",
    "ReplayInput",
    "ReplayLog",
    "ReplayedBatch",
    "ReplayedBatches",
    "SparkBatch",
    "SparkStreaming",
    "StageFinding",
    "StageMetrics",
    "StoredQuery",
    "StreamInput",
    "arrow_schema_of",
    "bad_records",
    "batch",
    "check_checkpoint",
    "collect",
    "collect_bad_records",
    "collect_drops",
    "collect_elements",
    "configure",
    "final_values",
    "listener",
    "local_session",
    "metrics",
    "open_keys",
    "open_state",
    "pane_table",
    "plan",
    "query_progress",
    "read_files",
    "read_query",
    "read_table",
    "record_table",
    "records_in",
    "replay",
    "replay_log",
    "reshard",
    "schema_of",
    "select_output",
    "sinks",
    "snapshot_input",
    "stage_metrics",
    "stream_files",
    "streaming",
    "write_query",
]
