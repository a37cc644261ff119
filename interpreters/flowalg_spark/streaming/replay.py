"""A streaming run as timelines, so that the reference interpreter can go through it again and say why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final, TypedDict, TypeVar, cast

import pyarrow as pa
from attrs import frozen
from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime, event_time, processing_time
from flowalg.pipeline.source import Source
from flowalg.runs.timeline import Instant, Timeline
from flowalg_spark.frames.final_values import METRICS_COLUMN
from flowalg_spark.lowering.values import AnyColumn
from flowalg_spark.streaming.metrics_columns import require_metrics

A = TypeVar("A")


@frozen
class Part:
    """What came of a source in a micro-batch, and what its clock read after it."""

    elements: int
    watermark: EventTime
    percentiles: Mapping[float, EventTime]
    signals: frozenset[str]
    reached: Mapping[str, EventTime]


@frozen
class Recorded:
    """One micro-batch: its number, its processing time, and what came of each source, by name."""

    number: int
    processing_time: ProcessingTime
    parts: Mapping[str, Part]


@frozen
class Recording:
    """The micro-batches of a streaming run, in order: clocks and counts, but not the elements."""

    batches: tuple[Recorded, ...]

    def timeline(self, source: Source[A], records: Iterable[A]) -> Timeline[A]:
        """What the source did in the run, an instant for each micro-batch.

        ``records`` are the elements of the source in the order in which the run had them: those of a micro-batch before
        those of the next one. What the run has not come to yet is left out. Raises ``ArgumentError`` for a source that
        is not in the recording, and when there are fewer records than the run had.
        """
        known = sorted({name for one in self.batches for name in one.parts})
        if not isinstance(source, Source) or source.name not in known:
            raise ArgumentError("source", source, f"one of the recorded sources: {', '.join(known)}")
        return Timeline(tuple(self._instants(source.name, iter(records))))

    def _instants(self, name: str, records: Iterator[A]) -> Iterator[Instant[A]]:
        part = Part(0, EventTime(MIN_TIME), {}, frozenset(), {})
        came = 0
        for batch in self.batches:
            told = batch.parts.get(name)
            part = (
                Part(0, part.watermark, part.percentiles, frozenset(), part.reached) if told is None else told
            )
            elements = tuple(islice(records, part.elements))
            came += len(elements)
            if len(elements) < part.elements:
                wanted = sum(one.parts[name].elements for one in self.batches if name in one.parts)
                raise ArgumentError(
                    "records", came, f"all {wanted} elements that {name!r} had in the run, in their order"
                )
            yield Instant(
                batch.processing_time,
                elements,
                part.watermark,
                part.percentiles,
                part.signals,
                part.reached,
            )


class _Source(TypedDict):
    source: str
    elements: int
    watermark: datetime
    percentiles: list[tuple[str, datetime]]
    signals: list[str]
    reached: list[tuple[str, datetime]]


class _Told(TypedDict):
    batch: int
    processing_time: datetime
    sources: list[_Source]


def recorded(stored: DataFrame | pa.Table) -> Recording:
    """The recording of a run, from what a sink has stored of ``PaneFrame.with_metrics``.

    Raises ``ArgumentError`` for a frame without metrics, and for one that does not have them from the first
    micro-batch on.
    """
    found: dict[int, Recorded] = {}
    for row in _accounts(stored):
        number, now = row["batch"], processing_time(row["processing_time"])
        before = found.get(number, Recorded(number, now, {}))
        parts = {one["source"]: _part(one) for one in row["sources"]}
        found[number] = Recorded(number, max(before.processing_time, now), {**parts, **before.parts})
    if 0 not in found:
        first = min(found, default=None)
        raise ArgumentError("the first micro-batch of stored", first, "0: metrics from the beginning on")
    return Recording(tuple(one for _, one in sorted(found.items())))


_POINT: Final = pa.timestamp("us", tz="UTC")
_SOURCE: Final = pa.struct(
    [
        ("source", pa.string()),
        ("elements", pa.int64()),
        ("watermark", _POINT),
        ("percentiles", pa.map_(pa.string(), _POINT)),
        ("signals", pa.list_(pa.string())),
        ("reached", pa.map_(pa.string(), _POINT)),
    ]
)
_KIND: Final = pa.struct([("batch", pa.int64()), ("processing_time", _POINT), ("sources", pa.list_(_SOURCE))])
"""What is read of metrics."""


def _accounts(stored: DataFrame | pa.Table) -> list[_Told]:
    if isinstance(stored, pa.Table) and METRICS_COLUMN in stored.column_names:
        written = stored.column(METRICS_COLUMN)
        found = written.type.field("processing_time").type
        if found.unit != "us":
            raise ArgumentError(
                f"the type of processing_time in {METRICS_COLUMN}",
                str(found),
                'of microseconds; read Spark\'s Parquet files with coerce_int96_timestamp_unit="us"',
            )
        # What Spark has written in its old way is read without a time zone: it is UTC.
        column: AnyColumn = written.cast(_KIND)
    else:
        column = require_metrics(stored).select(METRICS_COLUMN).toArrow().column(METRICS_COLUMN)
    return cast("list[_Told]", column.drop_null().to_pylist())


def _part(told: _Source) -> Part:
    return Part(
        told["elements"],
        event_time(told["watermark"]),
        {float(q): event_time(point) for q, point in told["percentiles"]},
        frozenset(told["signals"]),
        {name: event_time(point) for name, point in told["reached"]},
    )


__all__ = ["Part", "Recorded", "Recording", "recorded"]
