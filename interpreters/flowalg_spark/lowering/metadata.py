"""Elements paired with their metadata: the columns of an element, and those of its event time, window or pane."""

from __future__ import annotations

from flowalg_columns.layout import Branch
from flowalg_columns.panes import metadata_columns

from flowalg.data.metadata import Metadata
from flowalg.data.shapes import TupleOf
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col
from flowalg_spark.lowering.flow import Flow, guard_columns


def pair_with_metadata(flow: Flow, metadata: Metadata) -> Flow:
    """Returns the flow with each element paired with a part of its metadata."""
    after = TupleOf((flow.shape, metadata.shape))
    columns = metadata_columns(
        metadata,
        time=lambda name: sql.timestamp_micros(col(name)),
        member=lambda name: sql.upper(col(name)),
        column=col,
    )
    paired = guard_columns(columns) if flow.guarded else columns
    return flow.select(Branch(after, (flow.element, paired)), after)
