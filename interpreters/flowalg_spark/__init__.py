"""The Spark interpreters: ``batch`` for bounded data, ``streaming`` for Structured Streaming.

Both compile a pipeline to an ordinary DataFrame of panes; ``collect`` reads panes back as typed values, and
``session`` has what a Spark session needs.
"""

from flowalg_spark import batch, streaming
from flowalg_spark.flow import LiftingNote
from flowalg_spark.frames import PaneFrame, collect
from flowalg_spark.session import local_session
from flowalg_spark.streaming import StreamInput

__all__ = ["LiftingNote", "PaneFrame", "StreamInput", "batch", "collect", "local_session", "streaming"]
