"""Elements paired with their metadata: the columns of an element, and those of its event time, window or pane."""

from __future__ import annotations

from typing import assert_never

from flowalg_columns.layout import Branch, Leaf
from flowalg_columns.names import END, EVENT_TIME, INDEX, IS_FIRST, IS_LAST, START, TIMING
from pyspark.sql import Column
from pyspark.sql import functions as F

from flowalg.data.metadata import Metadata
from flowalg.data.shapes import TIMESTAMP, RecordOf, TupleOf
from flowalg_spark.encoding.columns import Columns, col
from flowalg_spark.lowering.flow import Flow, guard_columns


def pair_with_metadata(flow: Flow, metadata: Metadata) -> Flow:
    """Returns the flow with each element paired with a part of its metadata."""
    after = TupleOf((flow.shape, metadata.shape))
    columns = _columns(metadata)
    return flow.select(
        Branch(after, (flow.element, guard_columns(columns) if flow.guarded else columns)), after
    )


def _columns(metadata: Metadata) -> Columns:
    match metadata:
        case Metadata.TIMESTAMP:
            return Leaf(TIMESTAMP, _time(EVENT_TIME))
        case Metadata.WINDOW:
            columns = [_time(START), _time(END)]
        case Metadata.PANE:
            # An enum is the name of its member, and the column has its value.
            columns = [F.upper(col(TIMING)), *map(col, (INDEX, IS_FIRST, IS_LAST))]
        case _:
            assert_never(metadata)
    shape = metadata.shape
    assert isinstance(shape, RecordOf), "windows and panes are records"
    parts = (Leaf(field.shape, column) for field, column in zip(shape.fields, columns, strict=True))
    return Branch(shape, tuple(parts))


def _time(name: str) -> Column:
    return F.timestamp_micros(col(name))


__all__ = ["pair_with_metadata"]
