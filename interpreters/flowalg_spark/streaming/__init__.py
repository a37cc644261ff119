"""Spark streaming: unbounded pipelines as one stateful operator for each grouping, keyed by shard."""

from flowalg_spark.streaming.compilation import CAPABILITIES, StreamInput, check, compile, drain
from flowalg_spark.streaming.options import StreamOptions

__all__ = [
    "CAPABILITIES",
    "StreamInput",
    "StreamOptions",
    "check",
    "compile",
    "drain",
]
