"""The vectorised step: one instant of a grouping, for all keys of a shard at once, as Polars tables.

An engine's inner part. It knows no Spark: an engine brings bundles and reports, keeps the state, and carries the
emissions on. ``step`` is pure and deterministic, and equals the reference interpreter pane by pane.
"""

from flowalg_shard.bundle import clock_report, precombine, report_of
from flowalg_shard.clocks import BEGINNING, Clocks
from flowalg_shard.stage import AggregateColumn, Stage, aggregate_columns
from flowalg_shard.state import Emission, ShardState
from flowalg_shard.step import next_deadline, step
from flowalg_shard.tables import pack, unpack

__all__ = [
    "BEGINNING",
    "AggregateColumn",
    "Clocks",
    "Emission",
    "ShardState",
    "Stage",
    "aggregate_columns",
    "clock_report",
    "next_deadline",
    "pack",
    "precombine",
    "report_of",
    "step",
    "unpack",
]
