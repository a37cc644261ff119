"""Spark streaming: unbounded pipelines as one stateful operator for each grouping, keyed by shard."""

from flowalg_shard.state.compatibility import Outcome, StageFinding
from flowalg_shard.state.plans import Plan

from flowalg_spark.streaming.compilation import CAPABILITIES, StreamInput, compile, compile_all, drain
from flowalg_spark.streaming.planning import plan

__all__ = [
    "CAPABILITIES",
    "Outcome",
    "Plan",
    "StageFinding",
    "StreamInput",
    "compile",
    "compile_all",
    "drain",
    "plan",
]
