"""The history of one source from columns, as ``Timeline.from_records`` would make it of the records."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa
from attrs import evolve, frozen
from flowalg_columns.layout import layout_of
from flowalg_columns.values import read_elements
from flowalg_reference.debugging.history import SelectedInstants
from flowalg_reference.debugging.selection import Selection
from flowalg_shard.tables.columns import EVENT_TIME, PARTITION, PROCESSING_TIME
from numpy.typing import NDArray

from flowalg.data.errors import FlowalgError
from flowalg.data.time import EventTime, ProcessingTime, duration_of
from flowalg.pipeline.nodes import GroupingNode
from flowalg.pipeline.source import Source
from flowalg.runs.clocks import Clocks
from flowalg.runs.instants import PipelineInstant
from flowalg.runs.timeline import Instant
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows.window import Window
from flowalg_tools.recorded.columns import processing_times, record_columns, require_shape
from flowalg_tools.recorded.elements import ElementColumns, element_columns
from flowalg_tools.recorded.keys import Rows
from flowalg_tools.recorded.unsuited import UnsuitedDataError
from flowalg_tools.what_if.observed import INSTANT, LONGEST, ObservedRecords
from flowalg_tools.what_if.watermarks import PolicyWatermarks


@frozen(eq=False)
class ColumnHistory:
    """The history of a source from the columns of its records, which are in order of processing time.

    ``bounds`` has the first row of each instant, and then the number of rows; the end of the input is an instant
    without rows. ``elements`` are those of the grouping.
    """

    source: Source[object]
    policy: WatermarkPolicy
    records: pa.Table
    processing_times: Rows
    elements: ElementColumns
    bounds: Rows
    clock: Rows
    watermark: Rows
    ends: bool

    @property
    def times(self) -> Sequence[int]:
        """The processing time of each instant."""
        return self.clock.data

    @property
    def watermarks(self) -> Sequence[int]:
        """The watermark of each instant."""
        return self.watermark.data

    @property
    def sources(self) -> Iterable[str]:
        """The name of the only source."""
        return [self.source.name]

    @property
    def dead_letters(self) -> bool:
        """The records of a table are not bad."""
        return False

    def latest(self, source: str, until: ProcessingTime) -> Instant[object] | None:
        """Returns the last instant at or before a processing time, without its elements."""
        number = bisect_right(self.times, until) - 1
        if number < 0:
            return None
        return evolve(self.instant(number), reached=self._reached(number))

    def instant(self, number: int, elements: Sequence[object] = ()) -> Instant[object]:
        """Returns an instant with some elements."""
        time, watermark = ProcessingTime(self.times[number]), EventTime(self.watermarks[number])
        return Instant(time, tuple(elements), watermark, idle_at=self._idle_at(number))

    def _has_ended(self, number: int) -> bool:
        return self.ends and number == len(self.clock) - 1

    def _idle_at(self, number: int) -> ProcessingTime | None:
        """``Instant.idle_at``: ``idle_after`` beyond the last record that counts, or the first instant."""
        idle = self.policy.idle_micros
        if idle is None or self._has_ended(number):
            return None
        return ProcessingTime(int(self._last_active[number]) + idle)

    @cached_property
    def _last_active(self) -> Rows:
        """The greatest processing time of the records that count, up to each instant."""
        times = np.where(self._counts, self.processing_times, self.times[0])
        active: Rows = np.maximum.accumulate(np.maximum(times, self.times[0]))[self.bounds[1:] - 1]
        return active

    @cached_property
    def _counts(self) -> NDArray[np.bool_]:
        """Whether a record advances the clocks: not if it is further ahead than ``max_ahead``."""
        ahead = self.policy.max_ahead_micros
        if ahead is None:
            return np.ones(len(self.processing_times), np.bool_)
        counts: NDArray[np.bool_] = self.elements.event_times - self.processing_times <= min(ahead, LONGEST)
        return counts

    def _reached(self, number: int) -> dict[str, EventTime]:
        """``Instant.reached``: the greatest event time of the only partition, unless it is idle or has no record."""
        if self._has_ended(number):
            return {}
        end = int(self.bounds[number + 1])
        counts, idle = self._counts[:end], self.policy.idle_micros
        events, times = self.elements.event_times[:end][counts], self.processing_times[:end][counts]
        if not len(events) or (idle is not None and self.times[number] - int(times.max()) >= idle):
            return {}
        return {"": EventTime(int(events.max()))}

    def arrivals(self, grouping: GroupingNode, first: int, last: int) -> Iterator[tuple[object, EventTime]]:
        """Yields the key and the event time of the elements that the grouping receives in a range of instants."""
        start, end = np.searchsorted(self.elements.rows, self.bounds[[first, last]])
        keys = self.elements.keys.of(np.arange(start, end))
        yield from zip(keys, map(EventTime, self.elements.times[start:end].tolist()), strict=True)

    def keys_within(self, grouping: GroupingNode, span: Window) -> Iterable[object]:
        """Returns the keys of the elements that the grouping receives with an event time in a span."""
        return self.elements.keys.of(np.flatnonzero(self._within(span)))

    def first_event_time(self, grouping: GroupingNode, start: EventTime) -> EventTime | None:
        """Returns the least event time at or after a point, of the elements that the grouping receives."""
        later = self.elements.times[self.elements.times >= start]
        return EventTime(int(later.min())) if len(later) else None

    def last_event_time(self, grouping: GroupingNode, end: EventTime) -> EventTime | None:
        """Returns the greatest event time before a point, of the elements that the grouping receives."""
        earlier = self.elements.times[self.elements.times < end]
        return EventTime(int(earlier.max())) if len(earlier) else None

    def select(self, grouping: GroupingNode, selection: Selection) -> SelectedInstants:
        """Returns the instants with the selected elements of the grouping."""
        chosen = np.arange(len(self.elements.times))
        if selection.spans is not None:
            chosen = np.flatnonzero(np.any([self._within(span) for span in selection.spans], axis=0))
        if selection.keys is not None:
            chosen = self.elements.keys.rows_of(selection.keys, chosen)
        rows = np.unique(self.elements.rows[chosen])
        numbers = np.searchsorted(self.bounds[:-1], rows, side="right") - 1
        records = read_elements(layout_of(require_shape(self.source)), self.records.take(rows))
        together: dict[int, list[object]] = defaultdict(list)
        for number, record in zip(numbers.tolist(), records, strict=True):
            together[number].append(record)
        return _SelectedColumns(self, together)

    def _within(self, span: Window) -> NDArray[np.bool_]:
        """Returns whether the event time of each element is in a span."""
        return (self.elements.times >= span.start) & (self.elements.times < span.end)


@frozen(eq=False)
class _SelectedColumns:
    history: ColumnHistory
    records: Mapping[int, Sequence[object]]

    @property
    def busy(self) -> Sequence[int]:
        return self._busy

    @cached_property
    def _busy(self) -> Sequence[int]:
        return sorted(self.records)

    def at(self, number: int) -> PipelineInstant:
        instant = self.history.instant(number, self.records.get(number, ()))
        name, time, idle_at = self.history.source.name, instant.processing_time, instant.idle_at
        clocks = Clocks(time, instant.watermark)
        return PipelineInstant({name: clocks}, {name: instant}, {} if idle_at is None else {name: idle_at})


def column_history(
    source: Source[object],
    grouping: GroupingNode,
    table: pa.Table,
    processing_time: str,
    policy: WatermarkPolicy,
    *,
    every: timedelta | None,
    ends: bool,
) -> ColumnHistory:
    """Returns the history of the records of a source, which a table has next to their processing times.

    Law: it is the history of ``Timeline.from_records`` of the records. Raises ``UnsuitedDataError`` for data that have
    an error or must be read as records, and for a policy with percentile watermarks or declared partitions.
    """
    if policy.percentiles or policy.lag_percentiles or policy.partitions or not table.num_rows:
        raise UnsuitedDataError
    records, times = record_columns(source, table), processing_times(table, processing_time).to_numpy()
    if np.any(times[1:] < times[:-1]):
        order = np.argsort(times, kind="stable")
        times, records = times[order], records.take(order)
    elements = element_columns(source, grouping, records)
    try:
        bounds = _bounds(times, every)
        number = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        columns = {EVENT_TIME: elements.event_times, PROCESSING_TIME: times, INSTANT: number}
        rows = pl.DataFrame(columns).with_columns(pl.lit("").alias(PARTITION))
        observed = ObservedRecords(rows, times[bounds[1:] - 1], ends)
        watermark = PolicyWatermarks(observed).of(policy)
    except FlowalgError as error:
        raise UnsuitedDataError from error
    if ends:
        bounds = np.append(bounds, len(times))
    return ColumnHistory(source, policy, records, times, elements, bounds, observed.clock, watermark, ends)


def _bounds(times: Rows, every: timedelta | None) -> Rows:
    """Returns the first row of each period of processing time, and the number of rows."""
    period = 1 if every is None else min(duration_of("every", every, allow_zero=False), LONGEST)
    slots = times // period
    return np.concatenate([[0], np.flatnonzero(slots[1:] != slots[:-1]) + 1, [len(times)]])
