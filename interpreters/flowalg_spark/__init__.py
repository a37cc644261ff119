"""The Spark interpreters: ``batch`` for bounded data, ``streaming`` for Structured Streaming.

Both compile a pipeline to an ordinary DataFrame of panes; ``collect`` reads panes back as typed values, and
``final_values`` what panes come to in the end. ``schema_of``, ``read_table`` and ``read_files`` hold data to their
source, ``sinks`` has tables that a stream writes to, and ``session`` has what Spark needs. Of a run of a stream
``open_windows`` reads the checkpoint, ``check_checkpoint`` looks whether it is whole, and ``metrics`` and ``recorded``
read what it has told of itself. ``records_in`` and ``pane_table`` are records and panes as Arrow tables, for the
reference interpreter.
"""

from flowalg_spark import batch, sinks, streaming
from flowalg_spark.checkpoints import check_checkpoint
from flowalg_spark.final import final_values
from flowalg_spark.flow import LiftingNote
from flowalg_spark.frames import PaneFrame, collect
from flowalg_spark.progress import StageMetrics, bad_records, metrics, stage_metrics
from flowalg_spark.reading import read_files, read_table, schema_of
from flowalg_spark.recording import Recording, recorded
from flowalg_spark.session import local_session
from flowalg_spark.stateful.open_windows import open_windows
from flowalg_spark.streaming import StreamInput
from flowalg_spark.tables import arrow_schema_of, pane_table, records_in

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
