"""The contents of windows as stored Python objects, for combiners that are not built in.

SEMANTICS section 8: contents are the accumulator of the values, or the values themselves if retractions need them. They
equal the contents of the reference interpreter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import polars as pl
from attrs import define, field, frozen

from flowalg.combiners.core import AnyCombiner
from flowalg.combiners.named_errors import with_named_errors
from flowalg.combiners.subtraction import is_signed, keeps_values, subtract
from flowalg.data.time import Micros
from flowalg.data.values import canonicalize, same
from flowalg.serialization.stored import read, store_value
from flowalg.windows.strategy import Accumulation
from flowalg_shard.contents.stage import RESULT, Stage
from flowalg_shard.tables.columns import (
    CONTENTS,
    EARLIEST,
    EVENT_TIME,
    HAS_VALUE,
    LATEST,
    SIZE,
    VALUE,
    WEIGHT,
)
from flowalg_shard.tables.rows import for_rows


@frozen
class KeptValue:
    """A value in the contents. The weight is -1 for a retraction whose value has not arrived."""

    value: object
    event_time: Micros
    weight: int


@frozen
class WindowContents:
    """The contents of one window. ``size`` is the number of values minus that of retractions.

    ``times`` has the multiplicity of each event time.
    """

    accumulator: object
    values: tuple[KeptValue, ...] = ()
    size: int = 0
    times: Mapping[Micros, int] = field(factory=dict)

    @property
    def _points(self) -> list[Micros]:
        return [time for time, count in self.times.items() if count > 0]

    @property
    def earliest(self) -> Micros | None:
        """The earliest event time of the values, if the stage keeps times."""
        return min(self._points, default=None)

    @property
    def latest(self) -> Micros | None:
        """The latest event time of the values, if the stage keeps times."""
        return max(self._points, default=None)


@define
class ValueList:
    """A bag of values: no value beside its retraction of the same event time."""

    values: list[KeptValue] = field(factory=list)
    retractions: int = 0

    def add(self, new: KeptValue) -> None:
        """Adds a value or a retraction, or cancels its opposite."""
        if new.weight < 0 or self.retractions:
            for number, kept in enumerate(self.values):
                if kept.event_time == new.event_time and _cancel(kept, new):
                    del self.values[number]
                    self.retractions -= kept.weight < 0
                    return
        self.values.append(new)
        self.retractions += new.weight < 0


def remaining(values: Sequence[KeptValue]) -> Sequence[KeptValue]:
    """Returns the values and retractions that remain when equal ones cancel out, the earliest first."""
    if all(kept.weight > 0 for kept in values):
        return values
    left: list[KeptValue] = []
    for new in sorted(values, key=lambda kept: kept.event_time):
        opposite = next((number for number, kept in enumerate(left) if _cancel(kept, new)), None)
        if opposite is None:
            left.append(new)
        else:
            del left[opposite]
    return left


def _cancel(kept: KeptValue, new: KeptValue) -> bool:
    """Returns whether one is a value, and the other one retracts an equal value."""
    return kept.weight == -new.weight and same(kept.value, new.value)


@frozen
class ObjectContents:
    """Contents as one column of stored objects, with columns for their properties that a step needs.

    ``known`` has the contents of this instant by their bytes, since each part of a step reads them again.
    """

    stage: Stage
    combiner: AnyCombiner = field(converter=with_named_errors)
    known: dict[bytes, WindowContents] = field(factory=dict, init=False, eq=False, repr=False)

    @cached_property
    def _keeps_values(self) -> bool:
        return keeps_values(self.combiner, retractions=self.stage.retractions)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in bundles and in state."""
        times = (EARLIEST, LATEST) if self.stage.keeps_times else ()
        return (CONTENTS, HAS_VALUE, *times, *((SIZE,) if self.stage.unmerges else ()))

    @property
    def nested(self) -> list[pl.Expr]:
        """The columns, to be nested in lists."""
        return [pl.col(name) for name in self.columns]

    def lift(self, rows: pl.DataFrame) -> list[pl.Expr]:
        """Returns the columns of single elements that ``precombine`` reads."""
        weight = pl.col(WEIGHT) if self.stage.retractions else pl.lit(1, pl.Int8()).alias(WEIGHT)
        return [pl.col(VALUE), pl.col(EVENT_TIME), weight]

    def precombine(self, table: pl.DataFrame, group: Sequence[str], extra: Sequence[pl.Expr]) -> pl.DataFrame:
        """Returns one row for each group of elements."""
        lists = [VALUE, EVENT_TIME, WEIGHT]
        grouped = table.group_by(group, maintain_order=True).agg(*map(pl.col, lists), *extra)
        contents = for_rows(
            grouped,
            (
                self._contents_of(list(zip(*parts, strict=True)))
                for parts in grouped.select(lists).iter_rows()
            ),
        )
        return self._with_contents(grouped.drop(lists), contents)

    def _contents_of(self, elements: list[tuple[bytes, int, int]]) -> WindowContents:
        times = Counter[Micros]()
        values: list[KeptValue] = []
        accumulator, size = self.combiner.zero(), 0
        keeps_times = self.stage.keeps_times
        for packed, time, weight in elements:
            value = read(packed, object)
            size += weight
            if keeps_times:
                times[time] += weight
            if self._keeps_values:
                values.append(KeptValue(value, time, weight))
            elif weight > 0:
                accumulator = self.combiner.add(accumulator, value)
            else:
                accumulator = subtract(self.combiner, accumulator, value)
        return WindowContents(accumulator, tuple(values), size, self._times(times))

    def _times(self, times: Counter[Micros]) -> dict[Micros, int]:
        """Returns the event times that contents keep: without retractions only the first and the last."""
        if not self.stage.keeps_times or not times:
            return {}
        if self.stage.retractions:
            return dict(times)
        return dict.fromkeys((min(times), max(times)), 1)

    def absorb(self, table: pl.DataFrame, group: Sequence[str], extra: Sequence[pl.Expr]) -> pl.DataFrame:
        """Returns one row for each group: contents of windows merge in the order of the rows, then new elements."""
        grouped = table.group_by(group, maintain_order=True).agg(pl.col(CONTENTS).drop_nulls(), *extra)
        contents = for_rows(
            grouped, (self._merge(map(self._read, parts)) for parts in grouped[CONTENTS].to_list())
        )
        return self._with_contents(grouped, contents)

    def _merge(self, parts: Iterable[WindowContents]) -> WindowContents:
        accumulator, size = self.combiner.zero(), 0
        times = Counter[Micros]()
        merged = ValueList()
        for part in parts:
            accumulator = self.combiner.merge(accumulator, part.accumulator)
            size += part.size
            for time, count in part.times.items():
                times[time] += count
            for kept in part.values:
                merged.add(kept)
        return WindowContents(accumulator, tuple(merged.values), size, self._times(times))

    def _with_contents(self, table: pl.DataFrame, contents: list[WindowContents]) -> pl.DataFrame:
        """Returns the table with the given contents, and with the columns for their properties."""
        times = (
            [
                pl.Series(EARLIEST, [window_contents.earliest for window_contents in contents], pl.Int64()),
                pl.Series(LATEST, [window_contents.latest for window_contents in contents], pl.Int64()),
            ]
            if self.stage.keeps_times
            else []
        )
        sizes = [self._size(window_contents) for window_contents in contents] if self.stage.unmerges else []
        return table.with_columns(
            pl.Series(CONTENTS, list(map(self._store, contents)), pl.Binary()),
            pl.Series(
                HAS_VALUE, [self._has_value(window_contents) for window_contents in contents], pl.Boolean()
            ),
            *times,
            *([pl.Series(SIZE, sizes, pl.Int64())] if self.stage.unmerges else []),
        )

    def _size(self, contents: WindowContents) -> int:
        """Returns a number that is zero if all values were retracted, and no retraction waits for its value."""
        return len(remaining(contents.values)) if self._keeps_values else contents.size

    @property
    def is_empty(self) -> pl.Expr:
        """Whether all values were retracted, where merged windows come apart."""
        return pl.col(SIZE) == 0

    def _has_value(self, contents: WindowContents) -> bool:
        """Returns whether there is a value to emit; under ``DISCARDING`` it may be negative."""
        if self._keeps_values:
            return any(kept.weight > 0 for kept in remaining(contents.values))
        discards = self.stage.strategy.mode is Accumulation.DISCARDING
        return contents.size > 0 or (discards and is_signed(self.combiner))

    @property
    def has_value(self) -> pl.Expr:
        """Whether a window has a value to emit."""
        return pl.col(HAS_VALUE)

    @property
    def total(self) -> bool:
        """Whether the combiner has a result for no values."""
        return self.combiner.has_empty_result

    def results(self, table: pl.DataFrame) -> list[pl.Expr | pl.Series]:
        """Returns the stored results of contents, as a column of the table."""
        results = for_rows(
            table,
            (
                store_value(self.stage.label, "a result", self._extract(self._read(packed)))
                for packed in table[CONTENTS].to_list()
            ),
        )
        return [pl.Series(RESULT, results, pl.Binary())]

    def _extract(self, contents: WindowContents) -> object:
        result = self.combiner.extract(self._combined(contents))
        return canonicalize(result, f"the result of {self.stage.label}")

    def _combined(self, contents: WindowContents) -> object:
        """Returns the accumulator with the values that are kept, by event time and then by value."""
        timed = [(kept.event_time, kept.value) for kept in remaining(contents.values) if kept.weight > 0]
        return self.combiner.add_timed(contents.accumulator, timed)

    def discard(self, table: pl.DataFrame, emitted: str) -> pl.DataFrame:
        """Returns the table with what later panes need in windows where the column ``emitted`` is true.

        That is what the combiner keeps, and unmatched retractions.
        """
        discarded = table.filter(pl.col(emitted))
        contents = for_rows(
            discarded,
            (self._after_discard(self._read(packed)) for packed in discarded[CONTENTS].to_list()),
        )
        return pl.concat([table.filter(~pl.col(emitted)), self._with_contents(discarded, contents)])

    def _after_discard(self, contents: WindowContents) -> WindowContents:
        values = tuple(kept for kept in remaining(contents.values) if kept.weight < 0)
        times = Counter[Micros]()
        for kept in values:
            times[kept.event_time] -= 1
        accumulator = self.combiner.discard(self._combined(contents))
        return WindowContents(accumulator, values, -len(values), self._times(times))

    def _store(self, contents: WindowContents) -> bytes:
        kept = [(each.value, each.event_time, each.weight) for each in contents.values]
        columns = tuple(zip(*kept, strict=True))
        parts = (contents.accumulator, contents.size, contents.times, *columns)
        packed = store_value(self.stage.label, "an accumulator", parts)
        self.known[packed] = contents
        return packed

    def _read(self, packed: bytes) -> WindowContents:
        known = self.known.get(packed)
        if known is not None:
            return known
        accumulator, size, times, *columns = read(packed, tuple)
        return WindowContents(accumulator, tuple(map(KeptValue, *columns)) if columns else (), size, times)
