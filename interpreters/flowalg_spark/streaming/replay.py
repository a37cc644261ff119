"""Replay: the clocks of a streaming run as timelines, on which the reference interpreter repeats the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final, TypedDict, TypeVar, cast

import pyarrow as pa
from attrs import evolve, frozen
from flowalg_columns.panes import METRICS_COLUMN
from flowalg_columns.values import AnyColumn
from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime, event_time, processing_time
from flowalg.pipeline.source import Source
from flowalg.runs.timeline import Instant, Timeline
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.streaming.metrics_columns import METRICS_TYPE, require_metrics

A = TypeVar("A")


@frozen
class SourceBatch:
    """A source in a micro-batch: the number of its elements, and its clock after the micro-batch, as in ``Instant``."""

    elements: int
    watermark: EventTime
    percentile_watermarks: Mapping[float, EventTime]
    signals: frozenset[str]
    reached: Mapping[str, EventTime]


_BEFORE: Final = SourceBatch(0, EventTime(MIN_TIME), {}, frozenset(), {})


@frozen
class MicroBatch:
    """One micro-batch: its number, its processing time, and its sources by name."""

    number: int
    processing_time: ProcessingTime
    sources: Mapping[str, SourceBatch]


@frozen
class ReplayLog:
    """The micro-batches of a streaming run, in order: clocks and counts, but not the elements."""

    batches: tuple[MicroBatch, ...]

    def timeline(self, source: Source[A], records: Iterable[A]) -> Timeline[A]:
        """Returns the timeline of a source in the run: an instant for each micro-batch.

        ``records`` are the elements of the source in the order of their micro-batches; those that the run has not
        received yet are ignored. Raises ``ArgumentError`` for a source that is not in the log, and for fewer records
        than the run received.
        """
        known = sorted({name for batch in self.batches for name in batch.sources})
        if not isinstance(source, Source) or source.name not in known:
            raise ArgumentError("source", source, f"one of the sources of the run: {', '.join(known)}")
        return Timeline(tuple(self._instants(source.name, iter(records))))

    def _instants(self, name: str, records: Iterator[A]) -> Iterator[Instant[A]]:
        state = _BEFORE
        count = 0
        for batch in self.batches:
            state = batch.sources.get(name) or evolve(state, elements=0, signals=frozenset())
            elements = tuple(islice(records, state.elements))
            count += len(elements)
            if len(elements) < state.elements:
                received = sum(each.sources[name].elements for each in self.batches if name in each.sources)
                raise ArgumentError(
                    "records", count, f"all {received} elements that {name!r} had in the run, in their order"
                )
            yield Instant(
                batch.processing_time,
                elements,
                state.watermark,
                state.percentile_watermarks,
                state.signals,
                state.reached,
            )


class _SourceRow(TypedDict):
    source: str
    elements: int
    watermark: datetime
    percentile_watermarks: list[tuple[str, datetime]]
    signals: list[str]
    reached: list[tuple[str, datetime]]


class _Row(TypedDict):
    batch: int
    processing_time: datetime
    sources: list[_SourceRow]


def replay_log(stored: DataFrame | pa.Table) -> ReplayLog:
    """Returns the replay log of a run, from stored output of ``PaneFrame.with_metrics``.

    Raises ``ArgumentError`` for a frame without metrics, and for one whose first micro-batch is not the first of the
    run.
    """
    batches: dict[int, MicroBatch] = {}
    for row in _rows(stored):
        number, now = row["batch"], processing_time(row["processing_time"])
        before = batches.get(number, MicroBatch(number, now, {}))
        sources = {source["source"]: _source_batch(source) for source in row["sources"]}
        batches[number] = MicroBatch(number, max(before.processing_time, now), {**sources, **before.sources})
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
        frozenset(row["signals"]),
        {name: event_time(point) for name, point in row["reached"]},
    )


__all__ = ["MicroBatch", "ReplayLog", "SourceBatch", "replay_log"]
