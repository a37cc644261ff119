"""The vectorised step: one instant of a grouping, for all keys of a shard at once, as Polars tables.

An engine's inner part. It knows no Spark: an engine brings bundles and reports, keeps the state, and carries the
emissions on. ``step`` is pure and deterministic, and equals the reference interpreter pane by pane.
"""

from flowalg_shard.clocks.clocks import BEGINNING, Clocks
from flowalg_shard.clocks.exchange import (
    FromSource,
    FromStage,
    InputClocks,
    SourceReport,
    StageReport,
    Upstream,
)
from flowalg_shard.clocks.reports import reports_of, source_report
from flowalg_shard.metrics import Account, account_of
from flowalg_shard.operators import Emitted, Grouping, Operator, Sent, Side, Stored, advanced
from flowalg_shard.state.compatibility import Description, description_of
from flowalg_shard.state.window_store import Memory, Segment
from flowalg_shard.step.bundle import precombine
from flowalg_shard.step.shard_state import Emission, ShardState
from flowalg_shard.step.stage import AggregateColumn, Stage, aggregate_columns
from flowalg_shard.step.step import step
from flowalg_shard.tables.packing import pack, unpack

__all__ = [
    "BEGINNING",
    "Account",
    "AggregateColumn",
    "Clocks",
    "Description",
    "Emission",
    "Emitted",
    "FromSource",
    "FromStage",
    "Grouping",
    "InputClocks",
    "Memory",
    "Operator",
    "Segment",
    "Sent",
    "ShardState",
    "Side",
    "SourceReport",
    "Stage",
    "StageReport",
    "Stored",
    "Upstream",
    "account_of",
    "advanced",
    "aggregate_columns",
    "description_of",
    "pack",
    "precombine",
    "reports_of",
    "source_report",
    "step",
    "unpack",
]
