"""The rows of a stream that repeats a timeline: its records with what the timeline's policy observed, and control rows.

A stream of these rows generates the watermarks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

import pyarrow as pa

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME
from flowalg.pipeline.source import Source, source_node
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.elements import good_records
from flowalg.runs.instants import PipelineInstant
from flowalg.runs.micro_batches import GeneratedBy
from flowalg.runs.signals import AnySignal, KeyText, in_order
from flowalg.runs.timeline import Timeline
from flowalg_columns.tables import record_rows

TICK: Final = "instant_tick"
TIME: Final = "instant_time"
PARTITION: Final = "instant_partition"
PUBLISHED: Final = "instant_published"
SIGNAL: Final = "instant_signal"
SIGNAL_KEY: Final = "instant_signal_key"
SIGNAL_WINDOW: Final = "instant_signal_window"
ENDS: Final = "instant_ends"
MARKS: Final[dict[str, pa.DataType]] = {
    TICK: pa.bool_(),
    TIME: pa.timestamp("us", tz="UTC"),
    PARTITION: pa.string(),
    PUBLISHED: pa.timestamp("us", tz="UTC"),
    SIGNAL: pa.string(),
    SIGNAL_KEY: pa.string(),
    SIGNAL_WINDOW: pa.struct([pa.field(name, pa.timestamp("us", tz="UTC")) for name in ("start", "end")]),
    ENDS: pa.bool_(),
}
"""The columns of a row besides those of its record."""

Row: TypeAlias = dict[str, object]


def observed_batches(
    source: Source[object],
    timeline: Timeline[object],
    instants: Iterable[PipelineInstant],
    bad: list[BadRecord] | None = None,
) -> Iterator[list[Row]]:
    """Returns the micro-batches of a source with the observations of its timeline's policy.

    Bad records are added to ``bad``; without it they fail the run.
    """
    generated_by = require_policy(source.name, timeline)
    for now in instants:
        received, instant = now.records(source.name), now.instants.get(source.name)
        records = good_records(source_node(source), received, bad)
        rows: list[Row] = []
        observations = map(generated_by.observe, records)
        for row, observation in zip(record_rows(source, records), observations, strict=True):
            published = None if observation.published is None else observation.published.datetime
            marks = {TIME: observation.processing_time.datetime, PARTITION: observation.partition}
            rows.append(row | marks | {PUBLISHED: published})
        tick: Row = {TICK: True, TIME: now.processing_time.datetime}
        rows.append(tick)
        if instant is not None:
            ends = instant is timeline.instants[-1] and instant.watermark == MAX_TIME and not received
            rows[-1] = tick | {ENDS: ends}
            rows += [tick | signal_row(signal) for signal in in_order(instant.signals)]
        yield rows


def signal_row(signal: AnySignal) -> Row:
    """Returns the columns of a signal."""
    if isinstance(signal, str):
        return {SIGNAL: signal}
    window = signal.window
    bounds = None if window is None else {"start": window.start.datetime, "end": window.end.datetime}
    return {SIGNAL: signal.name, SIGNAL_KEY: KeyText.of(signal.key).text, SIGNAL_WINDOW: bounds}


def require_policy(source: str, timeline: Timeline[object]) -> GeneratedBy:
    """Returns the policy of a timeline and its observations; raises ``ArgumentError`` if no policy generated it."""
    if timeline.generated_by is None:
        raise ArgumentError(
            f"the input of source {source!r}",
            timeline,
            "a timeline that a watermark policy generated, such as Timeline.from_records(..., watermark=...)",
        )
    return timeline.generated_by
