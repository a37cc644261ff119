"""The vectorised step: one instant of a grouping, for all keys of a shard at once, as Polars tables.

An engine's inner part. It knows no Spark: an engine brings bundles and reports, keeps the state, and carries the
emissions on. ``step`` is pure and deterministic, and equals the reference interpreter pane by pane.
"""

from flowalg_shard.clocks.exchange import (
    FromSource,
    FromStage,
    InputClocks,
    SourceReport,
    StageReport,
    Upstream,
    at_time,
)
from flowalg_shard.clocks.reports import reports_of, source_report
from flowalg_shard.contents.stage import AggregateColumn, Stage, aggregate_columns
from flowalg_shard.metrics import ShardMetrics, measure_shard
from flowalg_shard.operators import (
    Grouping,
    Operator,
    OperatorOutput,
    OperatorState,
    ShardInput,
    Side,
    advance,
)
from flowalg_shard.state.compatibility import StageDescription, describe_stage
from flowalg_shard.state.window_store import Segment, WindowStore
from flowalg_shard.step.bundle import precombine
from flowalg_shard.step.shard_state import Emission, ShardState
from flowalg_shard.step.step import step
from flowalg_shard.tables.packing import pack, unpack

__all__ = [
    "AggregateColumn",
    "Emission",
    "FromSource",
    "FromStage",
    "Grouping",
    "InputClocks",
    "Operator",
    "OperatorOutput",
    "OperatorState",
    "Segment",
    "ShardInput",
    "ShardMetrics",
    "ShardState",
    "Side",
    "SourceReport",
    "Stage",
    "StageDescription",
    "StageReport",
    "Upstream",
    "WindowStore",
    "advance",
    "aggregate_columns",
    "at_time",
    "describe_stage",
    "measure_shard",
    "pack",
    "precombine",
    "reports_of",
    "source_report",
    "step",
    "unpack",
]
