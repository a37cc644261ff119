"""Combiners in Python over Arrow batches: values are combined per partition, and then per group.

For a combiner that depends on the order, values are sorted by event time and value, and combined per group only.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Final, cast

import pyarrow as pa
from attrs import define, field, frozen
from flowalg_shard.tables.columns import END, EVENT_TIME, START

from flowalg.combiners.core import AnyCombiner
from flowalg.combiners.named_errors import with_named_errors
from flowalg.data.errors import ElementError, FlowalgError, describe_raised, errors_of
from flowalg.data.time import EventTime
from flowalg.windows.group_errors import in_group
from flowalg.windows.window import Window
from flowalg_columns.layout import Layout
from flowalg_columns.python.consecutive_groups import consecutive_groups, group_keys
from flowalg_columns.values import read_elements, read_integers, write_arrays

ACCUMULATOR: Final = "__accumulator"
EARLIEST: Final = "__earliest"
LATEST: Final = "__latest"

_MAX_GROUPS: Final = 50_000
"""The most accumulators that a task holds before it emits them."""

_BATCH_ROWS: Final = 10_000
"""The number of groups in a batch of results."""


@define
class Partial:
    """The accumulator of some values of a group, and their earliest and latest event times."""

    accumulator: object
    earliest: int
    latest: int

    def widen(self, earliest: int, latest: int) -> None:
        """Includes the event times of more values."""
        self.earliest = min(self.earliest, earliest)
        self.latest = max(self.latest, latest)


@frozen
class CombinePartition:
    """Combines the rows of a partition to a row for each group; a group may have several rows."""

    by: tuple[str, ...]
    value: Layout
    combiner: AnyCombiner = field(converter=with_named_errors)
    label: str
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns batches of accumulators."""
        table: dict[tuple[object, ...], Partial] = {}
        for batch in batches:
            with errors_of(self.label):
                self.absorb(batch, table)
            if len(table) > _MAX_GROUPS:
                yield self.pack_rows(table)
                table = {}
        if table:
            yield self.pack_rows(table)

    def absorb(self, batch: pa.RecordBatch, table: dict[tuple[object, ...], Partial]) -> None:
        """Adds a batch's values to the accumulators of their groups."""
        add, zero = self.combiner.add, self.combiner.zero
        times = read_integers(batch, EVENT_TIME)
        for group, value, time in zip(
            group_keys(batch, self.by), read_elements(self.value, batch), times, strict=True
        ):
            partial = table.get(group)
            if partial is None:
                table[group] = Partial(add(zero(), value), time, time)
            else:
                partial.accumulator = add(partial.accumulator, value)
                partial.widen(time, time)

    def pack_rows(self, table: dict[tuple[object, ...], Partial]) -> pa.RecordBatch:
        """Returns the accumulators as rows."""
        partials = list(table.values())
        columns: list[Sequence[object]] = list(zip(*table, strict=True))
        columns.append([_pickled(self.label, partial.accumulator) for partial in partials])
        columns += [[partial.earliest for partial in partials], [partial.latest for partial in partials]]
        arrays = [pa.array(values, type_) for values, type_ in zip(columns, self.schema.types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _pickled(label: str, accumulator: object) -> bytes:
    """Returns an accumulator for another task of a batch, which keeps none."""
    try:
        return pickle.dumps(accumulator)
    except MemoryError:
        raise
    except Exception as error:
        raise ElementError(
            f"{label}: an accumulator cannot be sent to another task: {describe_raised(error)}; its class, and those "
            "of its parts, must be defined at the top level of a module, and must be picklable"
        ) from error


@frozen
class CombineGroups:
    """Combines groups whose rows are consecutive; they have values, or accumulators if ``value`` is ``None``."""

    by: tuple[str, ...]
    key: Layout
    value: Layout | None
    combiner: AnyCombiner = field(converter=with_named_errors)
    result: Layout
    label: str
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns a row for each group, in batches."""
        rows = FinishedGroups(self)
        for _, parts in consecutive_groups(batches, self.by):
            with errors_of(self.label):
                rows.add(parts)
            if len(rows.results) >= _BATCH_ROWS:
                yield rows.to_batch()
                rows = FinishedGroups(self)
        if rows.results:
            yield rows.to_batch()

    def finish(self, parts: list[pa.RecordBatch]) -> tuple[object, int, int]:
        """Returns the result of one group, and its earliest and latest event times."""
        try:
            return self._finish(parts)
        except FlowalgError as error:
            row = parts[0].slice(0, 1)
            (key,) = read_elements(self.key, row) or [None]
            raise in_group(error, key, _window_of(row, self.by)) from error.__cause__

    def _finish(self, parts: list[pa.RecordBatch]) -> tuple[object, int, int]:
        combiner = self.combiner
        accumulator = combiner.zero()
        timed: list[tuple[int, object]] = []
        earliest: list[int] = []
        latest: list[int] = []
        for part in parts:
            if self.value is None:
                for packed in cast("list[bytes]", part.column(ACCUMULATOR).to_pylist()):
                    # trusted: pickled by ``CombinePartition``
                    accumulator = combiner.merge(accumulator, pickle.loads(packed))
                earliest += read_integers(part, EARLIEST)
                latest += read_integers(part, LATEST)
            else:
                times = read_integers(part, EVENT_TIME)
                timed += zip(times, read_elements(self.value, part), strict=True)
                earliest += times
                latest += times
        if combiner.is_ordered:
            accumulator = combiner.add_timed(accumulator, timed)
        else:
            accumulator = reduce(combiner.add, (value for _, value in timed), accumulator)
        return combiner.extract(accumulator), min(earliest), max(latest)


def _window_of(row: pa.RecordBatch, by: Sequence[str]) -> Window | EventTime | None:
    """Returns the window of a group, or its start, as far as the columns that identify the group have it."""
    if START not in by:
        return None
    (start,) = map(EventTime, read_integers(row, START))
    return Window(start, EventTime(read_integers(row, END)[0])) if END in by else start


@define
class FinishedGroups:
    """The results of groups before they become a batch."""

    combine_groups: CombineGroups
    groups: list[pa.RecordBatch] = field(factory=list)
    results: list[object] = field(factory=list)
    earliest: list[int] = field(factory=list)
    latest: list[int] = field(factory=list)

    def add(self, parts: list[pa.RecordBatch]) -> None:
        """Finishes one group, whose rows are in these slices of batches."""
        result, earliest, latest = self.combine_groups.finish(parts)
        self.groups.append(parts[0].slice(0, 1).select(list(self.combine_groups.by)))
        self.results.append(result)
        self.earliest.append(earliest)
        self.latest.append(latest)

    def to_batch(self) -> pa.RecordBatch:
        """Returns the groups as one batch."""
        combine = self.combine_groups
        keys = pa.Table.from_batches(self.groups).combine_chunks() if combine.by else None
        arrays = [] if keys is None else [keys.column(name).combine_chunks() for name in combine.by]
        arrays += write_arrays(combine.result, self.results, f"the result of {combine.label}")
        arrays += [pa.array(self.earliest, pa.int64()), pa.array(self.latest, pa.int64())]
        return pa.RecordBatch.from_arrays(arrays, schema=combine.schema)
