"""Spark streaming: unbounded pipelines as one stateful operator for each grouping, keyed by shard."""

from flowalg_spark.streaming.compilation import CAPABILITIES, StreamInput, compile, compile_all, drain

__all__ = [
    "CAPABILITIES",
    "StreamInput",
    "compile",
    "compile_all",
    "drain",
]
