"""Contents as Python objects, for combiners that have no columns: pickled at rest, one bag for each window.

SEMANTICS section 8: a bag has the accumulator of its values, or where they must be kept one by one the values
themselves. It does the same as the contents of the reference interpreter.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import polars as pl
from attrs import define, evolve, field, frozen

from flowalg.combiners.core import Group
from flowalg.data.time import EventTime
from flowalg.data.values import canonicalize
from flowalg.windows.strategy import Accumulation
from flowalg_shard.step.stage import RESULT, AnyCombiner, Stage, keeps_values
from flowalg_shard.tables.columns import (
    ARRIVAL,
    CONTENTS,
    EARLIEST,
    END,
    EVENT_TIME,
    HAS,
    LATEST,
    START,
    VALUE,
    WEIGHT,
)

Order = tuple[int, int, int]
"""Where an element came in its instant: the window that it was assigned, and its number."""


@frozen
class Held:
    """One value; of weight -1 if it is a retraction that has not met what it takes back.

    ``order`` is there until it has been taken into a window.
    """

    value: object
    event_time: EventTime
    weight: int
    order: Order | None = None


@frozen
class Bag:
    """Some values. ``size`` counts them, and retractions against them; ``times`` counts their event times."""

    accumulator: object
    held: tuple[Held, ...] = ()
    size: int = 0
    times: Mapping[EventTime, int] = field(factory=dict)

    @property
    def _points(self) -> list[EventTime]:
        return [time for time, count in self.times.items() if count > 0]

    @property
    def earliest(self) -> EventTime | None:
        """The earliest event time of what is held, where times are kept."""
        return min(self._points, default=None)

    @property
    def latest(self) -> EventTime | None:
        """The latest event time of what is held, where times are kept."""
        return max(self._points, default=None)


@define
class Line:
    """Values in order of arrival, of which some meet their opposite and go with it."""

    held: list[Held] = field(factory=list)
    unmatched: int = 0

    def take(self, new: Held) -> None:
        """Keep a value, unless it meets its opposite: an equal one, of the same event time if there is one."""
        if new.weight < 0 or self.unmatched:
            opposite = [one for one in self.held if one.weight == -new.weight and one.value == new.value]
            if opposite:
                met = next((one for one in opposite if one.event_time == new.event_time), opposite[0])
                self.held = [one for one in self.held if one is not met]
                self.unmatched -= met.weight < 0
                return
        self.held.append(new)
        self.unmatched += new.weight < 0


@frozen
class InObjects:
    """Contents as one column of pickled bags, and what a window must know of them in columns beside it."""

    stage: Stage
    combiner: AnyCombiner

    @property
    def _keeps(self) -> bool:
        return keeps_values(self.combiner, retractions=self.stage.retractions)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in bundles and in state."""
        return (CONTENTS, HAS, *((EARLIEST, LATEST) if self.stage.timed else ()))

    def lifted(self, rows: pl.DataFrame) -> list[pl.Expr]:
        """The columns of single elements that ``precombined`` reads."""
        arrival = pl.col(ARRIVAL) if ARRIVAL in rows.columns else pl.int_range(pl.len()).alias(ARRIVAL)
        weight = pl.col(WEIGHT) if self.stage.retractions else pl.lit(1, pl.Int8()).alias(WEIGHT)
        return [pl.col(VALUE), pl.col(EVENT_TIME), arrival, weight]

    def precombined(
        self, table: pl.DataFrame, group: Sequence[str], extra: Sequence[pl.Expr]
    ) -> pl.DataFrame:
        """One row for each group of elements."""
        lists = [VALUE, EVENT_TIME, WEIGHT, ARRIVAL]
        grouped = table.group_by(group, maintain_order=True).agg(*map(pl.col, lists), *extra)
        bags = [
            self._bag(start, end, list(zip(*parts, strict=True)))
            for start, end, *parts in grouped.select(START, END, *lists).iter_rows()
        ]
        return self._described(grouped.drop(lists), bags)

    def _bag(self, start: int, end: int, elements: list[tuple[bytes, int, int, int]]) -> Bag:
        times = Counter[EventTime]()
        held: list[Held] = []
        accumulator, size = self.combiner.zero(), 0
        for packed, point, weight, arrival in elements:
            value, time = pickle.loads(packed), EventTime(point)
            size += weight
            times[time] += weight
            if self._keeps:
                held.append(Held(value, time, weight, (start, end, arrival)))
            elif weight > 0:
                accumulator = self.combiner.add(accumulator, value)
            else:
                assert isinstance(self.combiner, Group), "what cannot be subtracted is held one by one"
                accumulator = self.combiner.subtract(accumulator, value)
        return Bag(accumulator, tuple(held), size, self._times(times))

    def _times(self, times: Counter[EventTime]) -> dict[EventTime, int]:
        """The times that can still matter: without retractions only the first and the last."""
        if not self.stage.timed or not times:
            return {}
        if self.stage.retractions:
            return dict(times)
        return dict.fromkeys((min(times), max(times)), 1)

    def absorbed(self, table: pl.DataFrame, group: Sequence[str], extra: Sequence[pl.Expr]) -> pl.DataFrame:
        """One row for each group: what windows hold, in the order of the rows, and after it what has arrived."""
        grouped = table.group_by(group, maintain_order=True).agg(pl.col(CONTENTS), *extra)
        bags = [self._joined(map(_unpickled, parts)) for parts in grouped[CONTENTS].to_list()]
        return self._described(grouped, bags)

    def _joined(self, parts: Iterable[Bag]) -> Bag:
        bags = list(parts)
        accumulator, size = self.combiner.zero(), 0
        times = Counter[EventTime]()
        for bag in bags:
            accumulator = self.combiner.merge(accumulator, bag.accumulator)
            size += bag.size
            for time, count in bag.times.items():
                times[time] += count
        line = Line()
        arrived = []
        for one in (one for bag in bags for one in bag.held):
            if one.order is None:
                line.take(one)
            else:
                arrived.append((one.order, one))
        for _, one in sorted(arrived, key=lambda pair: pair[0]):
            line.take(evolve(one, order=None))
        return Bag(accumulator, tuple(line.held), size, self._times(times))

    def _described(self, table: pl.DataFrame, bags: list[Bag]) -> pl.DataFrame:
        """The table with some bags, and what must be known of them."""
        times = (
            [
                pl.Series(EARLIEST, [bag.earliest for bag in bags], pl.Int64()),
                pl.Series(LATEST, [bag.latest for bag in bags], pl.Int64()),
            ]
            if self.stage.timed
            else []
        )
        return table.with_columns(
            pl.Series(CONTENTS, [pickle.dumps(bag) for bag in bags], pl.Binary()),
            pl.Series(HAS, [self._has(bag) for bag in bags], pl.Boolean()),
            *times,
        )

    def _has(self, bag: Bag) -> bool:
        """Whether there is anything to combine; what has changed may be less than nothing."""
        if self._keeps:
            return any(one.weight > 0 for one in bag.held)
        discards = self.stage.strategy.accumulation is Accumulation.DISCARDING
        return bag.size > 0 or (discards and isinstance(self.combiner, Group) and self.combiner.is_signed)

    @property
    def gives(self) -> pl.Expr:
        """Whether there is anything to say."""
        return pl.col(HAS)

    @property
    def total(self) -> bool:
        """Whether no values at all have a result."""
        return self.combiner.has_empty_result

    def extracted(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with pickled results in place of its bags."""
        results = [pickle.dumps(self._result(_unpickled(one))) for one in table[CONTENTS].to_list()]
        return table.with_columns(pl.Series(RESULT, results, pl.Binary()))

    def _result(self, bag: Bag) -> object:
        accumulator = bag.accumulator
        if self._keeps:
            accumulator = self.combiner.zero()
            for one in sorted(bag.held, key=lambda one: one.event_time):
                if one.weight > 0:
                    accumulator = self.combiner.add(accumulator, one.value)
        return canonicalize(self.combiner.extract(accumulator), f"the result of {self.stage.label}")

    def discarded(self, table: pl.DataFrame, shown: str) -> pl.DataFrame:
        """The table with nothing in the windows whose ``shown`` is true but retractions that met nothing."""
        emptied = table.filter(pl.col(shown))
        bags = [self._rest(_unpickled(one)) for one in emptied[CONTENTS].to_list()]
        return pl.concat([table.filter(~pl.col(shown)), self._described(emptied, bags)])

    def _rest(self, bag: Bag) -> Bag:
        held = tuple(one for one in bag.held if one.weight < 0)
        times = Counter[EventTime]()
        for one in held:
            times[one.event_time] -= 1
        return Bag(self.combiner.zero(), held, -len(held), self._times(times))


def _unpickled(packed: bytes) -> Bag:
    return cast("Bag", pickle.loads(packed))


__all__ = ["Bag", "Held", "InObjects", "Line"]
