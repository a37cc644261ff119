"""The Spark interpreters: ``batch`` for bounded data, ``streaming`` for Structured Streaming.

Both compile a pipeline to an ordinary DataFrame of panes; ``collect`` reads panes back as typed values, and
``final_values`` what panes come to in the end. ``schema_of``, ``read_table`` and ``read_files`` hold data to their
source, ``sinks`` has tables that a stream writes to, and ``session`` has what Spark needs. Of a run of a stream
``open_windows`` reads the checkpoint, ``check_checkpoint`` looks whether it is whole, and ``metrics`` and ``recorded``
read what it has told of itself. ``records_in`` and ``pane_table`` are records and panes as Arrow tables, for the
reference interpreter.
"""

from flowalg_spark import batch, sinks, streaming
from flowalg_spark.frames.arrow import arrow_schema_of, pane_table, records_in
from flowalg_spark.frames.final_values import final_values
from flowalg_spark.frames.pane_frame import PaneFrame, collect
from flowalg_spark.frames.sources import read_files, read_table, schema_of
from flowalg_spark.lowering.flow import LiftingNote
from flowalg_spark.session import local_session
from flowalg_spark.state.checkpoints import check_checkpoint
from flowalg_spark.state.open_windows import open_windows
from flowalg_spark.streaming.compilation import StreamInput
from flowalg_spark.streaming.metrics import StageMetrics, bad_records, metrics, stage_metrics
from flowalg_spark.streaming.replay import Recording, recorded

__all__ = [
    "LiftingNote",
    "PaneFrame",
    "Recording",
    "StageMetrics",
    "StreamInput",
    "arrow_schema_of",
    "bad_records",
    "batch",
    "check_checkpoint",
    "collect",
    "final_values",
    "local_session",
    "metrics",
    "open_windows",
    "pane_table",
    "read_files",
    "read_table",
    "recorded",
    "records_in",
    "schema_of",
    "sinks",
    "stage_metrics",
    "streaming",
]
