"""The replay log of a run of Spark streaming, from its stored metrics."""

from __future__ import annotations

from datetime import datetime
from typing import Final, TypedDict, TypeVar, cast

import pyarrow as pa
from flowalg_columns.panes import METRICS_COLUMN
from flowalg_columns.values import AnyColumn
from flowalg_shard.clocks.signals import signal_of
from flowalg_shard.replay import ReplayBatch, ReplayLog, SourceBatch
from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError
from flowalg.data.time import event_time, processing_time
from flowalg.runs.signals import AnySignal
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.streaming.metrics_columns import METRICS_TYPE, require_metrics

A = TypeVar("A")


class _SignalRow(TypedDict):
    name: str
    key: str
    start: datetime | None
    end: datetime | None


class _SourceRow(TypedDict):
    source: str
    elements: int
    watermark: datetime
    percentile_watermarks: list[tuple[str, datetime]]
    signals: list[str]
    reached: list[tuple[str, datetime]]
    idle: bool
    awaited: list[str]
    signals_to_keys: list[_SignalRow]


class _Row(TypedDict):
    batch: int
    processing_time: datetime
    sources: list[_SourceRow]


def replay_log(stored: DataFrame | pa.Table) -> ReplayLog:
    """Returns the replay log of a run, from stored output of ``PaneFrame.with_metrics``.

    Raises ``ArgumentError`` for a frame without metrics, and for one whose first micro-batch is not the first of the
    run.
    """
    batches: dict[int, ReplayBatch] = {}
    for row in _rows(stored):
        number, now = row["batch"], processing_time(row["processing_time"])
        before = batches.get(number, ReplayBatch(number, now, {}))
        sources = {source["source"]: _source_batch(source) for source in row["sources"]}
        batches[number] = ReplayBatch(number, max(before.processing_time, now), {**sources, **before.sources})
    if 0 not in batches:
        first = min(batches, default=None)
        raise ArgumentError("the first micro-batch of stored", first, "0: metrics from the beginning on")
    return ReplayLog(tuple(batch for _, batch in sorted(batches.items())))


_ARROW: Final = arrow_schema(METRICS_TYPE)
_READ: Final = pa.struct([_ARROW.field(name) for name in _Row.__annotations__])
"""The metrics that a replay log needs."""


def _rows(stored: DataFrame | pa.Table) -> list[_Row]:
    if isinstance(stored, pa.Table) and METRICS_COLUMN in stored.column_names:
        written = stored.column(METRICS_COLUMN)
        type_ = written.type.field("processing_time").type
        if type_.unit != "us":
            raise ArgumentError(
                f"the type of processing_time in {METRICS_COLUMN}",
                str(type_),
                'of microseconds; read Spark\'s Parquet files with coerce_int96_timestamp_unit="us"',
            )
        # Parquet that Spark wrote as INT96 is read without a time zone: it is UTC.
        column: AnyColumn = written.cast(_READ)
    else:
        column = require_metrics(stored).select(METRICS_COLUMN).toArrow().column(METRICS_COLUMN)
    return cast("list[_Row]", column.drop_null().to_pylist())


def _source_batch(row: _SourceRow) -> SourceBatch:
    return SourceBatch(
        row["elements"],
        event_time(row["watermark"]),
        {float(q): event_time(point) for q, point in row["percentile_watermarks"]},
        frozenset((*row["signals"], *map(_signal, row["signals_to_keys"]))),
        {name: event_time(point) for name, point in row["reached"]},
        row["idle"],
        frozenset(row["awaited"]),
    )


def _signal(row: _SignalRow) -> AnySignal:
    start, end = (None if point is None else event_time(point) for point in (row["start"], row["end"]))
    return signal_of(row["name"], row["key"], start, end)
