"""Combiners that only Python can run, over Arrow batches: combined per partition first, then per group.

Values of a combiner that looks at their order are not combined first; they come sorted by event time.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast

import pyarrow as pa
from attrs import define, field, frozen

from flowalg.combiners.core import Combiner
from flowalg_spark.batch.runs import groups_of, runs
from flowalg_spark.encoding.layout import Layout
from flowalg_spark.encoding.meta import EVENT_TIME
from flowalg_spark.encoding.values import integers, read, write

ACCUMULATOR: Final = "__accumulator"
EARLIEST: Final = "__earliest"
LATEST: Final = "__latest"

_MOST_GROUPS: Final = 50_000
"""How many accumulators a task holds before it hands them on."""

AnyCombiner = Combiner[object, object, object]


@define
class Partial:
    """What some values of a group come to, and their earliest and latest event times."""

    accumulator: object
    earliest: int
    latest: int

    def widen(self, earliest: int, latest: int) -> None:
        """Take in the event times of more values."""
        self.earliest = min(self.earliest, earliest)
        self.latest = max(self.latest, latest)


@frozen
class Precombined:
    """The accumulators of a partition's groups, one row each; a group may come more than once."""

    by: tuple[str, ...]
    value: Layout
    combiner: AnyCombiner
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One batch of accumulators after another."""
        table: dict[tuple[object, ...], Partial] = {}
        for batch in batches:
            self.absorb(batch, table)
            if len(table) > _MOST_GROUPS:
                yield self.packed(table)
                table = {}
        if table:
            yield self.packed(table)

    def absorb(self, batch: pa.RecordBatch, table: dict[tuple[object, ...], Partial]) -> None:
        """Add a batch's values to the accumulators of their groups."""
        add, zero = self.combiner.add, self.combiner.zero
        times = integers(batch, EVENT_TIME)
        for group, value, time in zip(groups_of(batch, self.by), read(self.value, batch), times, strict=True):
            known = table.get(group)
            if known is None:
                table[group] = Partial(add(zero(), value), time, time)
            else:
                known.accumulator = add(known.accumulator, value)
                known.widen(time, time)

    def packed(self, table: dict[tuple[object, ...], Partial]) -> pa.RecordBatch:
        """The accumulators as rows."""
        partials = list(table.values())
        columns: list[Sequence[object]] = list(zip(*table, strict=True))
        columns.append([pickle.dumps(one.accumulator) for one in partials])
        columns += [[one.earliest for one in partials], [one.latest for one in partials]]
        arrays = [pa.array(values, kind) for values, kind in zip(columns, self.schema.types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@frozen
class Finishing:
    """The results of groups whose rows come together: values in order, or accumulators if ``value`` is ``None``."""

    by: tuple[str, ...]
    value: Layout | None
    combiner: AnyCombiner
    result: Layout
    label: str
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row for each group, in batches of about as many rows as came."""
        rows = Rows(self)
        for _, parts in runs(batches, self.by):
            rows.add(parts)
            if len(rows.results) >= 10_000:
                yield rows.emitted()
                rows = Rows(self)
        if rows.results:
            yield rows.emitted()

    def finished(self, parts: list[pa.RecordBatch]) -> tuple[object, int, int]:
        """The result of one group, and its earliest and latest event times."""
        combiner = self.combiner
        accumulator = combiner.zero()
        earliest: list[int] = []
        latest: list[int] = []
        for part in parts:
            if self.value is None:
                for packed in cast("list[bytes]", part.column(ACCUMULATOR).to_pylist()):
                    accumulator = combiner.merge(accumulator, pickle.loads(packed))  # of our own making
                earliest += integers(part, EARLIEST)
                latest += integers(part, LATEST)
            else:
                for value in read(self.value, part):
                    accumulator = combiner.add(accumulator, value)
                times = integers(part, EVENT_TIME)
                earliest += times
                latest += times
        return combiner.extract(accumulator), min(earliest), max(latest)


@define
class Rows:
    """Finished groups on their way out."""

    finishing: Finishing
    groups: list[pa.RecordBatch] = field(factory=list)
    results: list[object] = field(factory=list)
    earliest: list[int] = field(factory=list)
    latest: list[int] = field(factory=list)

    def add(self, parts: list[pa.RecordBatch]) -> None:
        """Finish one group."""
        result, earliest, latest = self.finishing.finished(parts)
        self.groups.append(parts[0].slice(0, 1).select(list(self.finishing.by)))
        self.results.append(result)
        self.earliest.append(earliest)
        self.latest.append(latest)

    def emitted(self) -> pa.RecordBatch:
        """The groups as one batch."""
        finishing = self.finishing
        keys = pa.Table.from_batches(self.groups).combine_chunks() if finishing.by else None
        arrays = [] if keys is None else [keys.column(name).combine_chunks() for name in finishing.by]
        arrays += write(finishing.result, self.results, f"the result of {finishing.label}")
        arrays += [pa.array(self.earliest, pa.int64()), pa.array(self.latest, pa.int64())]
        return pa.RecordBatch.from_arrays(arrays, schema=finishing.schema)


__all__ = ["ACCUMULATOR", "EARLIEST", "LATEST", "Finishing", "Precombined"]
