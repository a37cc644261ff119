"""Values tagged with the number of their collection, and the combiners of co-groups and joins, which separate them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import cast

from attrs import frozen

from flowalg.combiners.core import AnyCombiner, Combiner
from flowalg.data.kv import KV
from flowalg.data.values import sort_by_time
from flowalg.elementwise.functions import require_keyed
from flowalg.pipeline.joins import JoinKind, time_of
from flowalg.windows.strategy import TimestampCombiner


@frozen
class Tagged:
    """A value and the number of its collection."""

    source: int
    value: object


def tagged(pair: object, source: int, transform: str) -> KV[object, Tagged]:
    """Returns a pair with its value tagged; raises ``KeyedCollectionError`` for an element that is not a pair."""
    keyed = require_keyed(pair, transform)
    return KV(keyed.key, Tagged(source, keyed.value))


def untagged(value: object) -> object:
    """Returns the untagged value, which triggers observe."""
    return value.value if isinstance(value, Tagged) else value


Lists = tuple[tuple[object, ...], ...]


@frozen
class Separate(Combiner[Tagged, Lists, tuple[list[object], ...]]):
    """A list of the values of each of ``sources`` collections, ordered by event time, then by value.

    If it is ``timed``, each value is a pair with its event time in microseconds.
    """

    sources: int
    timed: bool = False

    @property
    def has_empty_result(self) -> bool:
        """The result of no values is empty lists."""
        return True

    @property
    def is_ordered(self) -> bool:
        """A list is ordered."""
        return True

    def zero(self) -> Lists:  # noqa: D102
        return ((),) * self.sources

    def add(self, accumulator: Lists, value: Tagged) -> Lists:  # noqa: D102
        return tuple(
            (*values, value.value) if number == value.source else values
            for number, values in enumerate(accumulator)
        )

    def add_timed(self, accumulator: Lists, timed: Iterable[tuple[int, Tagged]]) -> Lists:  # noqa: D102
        if self.timed:
            timed = ((time, Tagged(tagged.source, (tagged.value, int(time)))) for time, tagged in timed)
        return super().add_timed(accumulator, timed)

    def merge(self, left: Lists, right: Lists) -> Lists:  # noqa: D102
        return tuple((*a, *b) for a, b in zip(left, right, strict=True))

    def extract(self, accumulator: Lists) -> tuple[list[object], ...]:  # noqa: D102
        return tuple(map(list, accumulator))


@frozen
class Matched:
    """A value of a join, and its event time in microseconds."""

    value: object
    time: int


Sides = tuple[tuple[Matched, ...], tuple[Matched, ...]]
"""The left and the right values of a join."""


@frozen
class Matches:
    """The values of a join. All pairs inside each group of ``emitted`` have been emitted, and none with ``new`` values.

    Each group has left and right values. Several groups come from windows that have merged.
    """

    emitted: tuple[Sides, ...] = ()
    new: Sides = ((), ())


@frozen
class Join(Combiner[Tagged, Matches, list[object]]):
    """The pairs of two collections that have not been emitted, left values first by event time, then by value.

    With ``times`` each pair has a third item, its event time: that of the earlier or of the later of its values. A kind
    that selects has left values instead of pairs, each with its own event time in a tuple if there are ``times``.

    Law, for bags: ``extract(merge(a, b)) = extract(a) + extract(merge(discard(a), b))``. Under ``DISCARDING`` all panes
    together therefore have each pair once. A kind that keeps values without a match does not obey it.
    """

    kind: JoinKind
    times: TimestampCombiner | None = None

    @property
    def has_empty_result(self) -> bool:
        """There are no pairs of no values."""
        return True

    @property
    def is_ordered(self) -> bool:
        """A list is ordered."""
        return True

    def zero(self) -> Matches:  # noqa: D102
        return Matches()

    def add(self, accumulator: Matches, value: Tagged) -> Matches:
        """Returns the accumulator with a value whose event time is unknown, and so equal to those of all others."""
        return self.add_timed(accumulator, [(0, value)])

    def add_timed(self, accumulator: Matches, timed: Iterable[tuple[int, Tagged]]) -> Matches:
        """Returns the accumulator with values, given with their event times. They are ordered later."""
        timed_values = list(timed)
        added = tuple(
            tuple(Matched(tagged.value, time) for time, tagged in timed_values if tagged.source == side)
            for side in (0, 1)
        )
        return Matches(accumulator.emitted, _both((accumulator.new, cast("Sides", added))))

    def merge(self, left: Matches, right: Matches) -> Matches:  # noqa: D102
        return Matches((*left.emitted, *right.emitted), _both((left.new, right.new)))

    def discard(self, accumulator: Matches) -> Matches:
        """Returns all values as one group, since a pane has all other pairs."""
        return Matches((_both((*accumulator.emitted, accumulator.new)),))

    def extract(self, accumulator: Matches) -> list[object]:  # noqa: D102
        *emitted, new = groups = (*accumulator.emitted, accumulator.new)
        if self.kind.selects:
            return [self._alone(left) for left in _in_order(self._selected(emitted, new))]
        everything = _in_order(value for _, right in groups for value in right)
        lefts = [(value.time, (value, everything)) for value in new[0]]
        for number, (left, _) in enumerate(emitted):
            others = _in_order(
                value for _, right in (*groups[:number], *groups[number + 1 :]) for value in right
            )
            lefts += [(value.time, (value, others)) for value in left]
        nothing: tuple[Matched, ...] = ()
        pairs: list[tuple[Matched | None, Matched | None]] = []
        if not new[0]:
            pairs += self.kind.pairs(nothing, everything)
        for value, others in sort_by_time(lefts, by=lambda pair: pair[0].value):
            pairs += self.kind.pairs((value,), others)
        return [self._pair(left, right) for left, right in pairs]

    def _selected(self, emitted: Sequence[Sides], new: Sides) -> Iterable[Matched]:
        """Returns the left values that are selected. A semi join has emitted those of a group with right values."""
        matched = any(right for _, right in (*emitted, new))
        if self.kind is JoinKind.SEMI:
            unmatched = (left for left, right in emitted if not right)
            return chain(new[0], *unmatched) if matched else ()
        return () if matched else chain.from_iterable(left for left, _ in (*emitted, new))

    def _alone(self, left: Matched) -> object:
        return left.value if self.times is None else (left.value, time_of(self.times, [left.time]))

    def _pair(self, left: Matched | None, right: Matched | None) -> tuple[object, ...]:
        values = None if left is None else left.value, None if right is None else right.value
        if self.times is None:
            return values
        times = [value.time for value in (left, right) if value is not None]
        return (*values, time_of(self.times, times))


def drops_sides(combiner: AnyCombiner) -> bool:
    """Returns whether the value of dropped elements is a list for each side: of a join, whose pairs they are not."""
    return isinstance(combiner, Join)


def _both(groups: Iterable[Sides]) -> Sides:
    lefts, rights = zip(*groups, strict=True)
    return tuple(chain.from_iterable(lefts)), tuple(chain.from_iterable(rights))


def _in_order(values: Iterable[Matched]) -> list[Matched]:
    return sort_by_time(((value.time, value) for value in values), by=lambda value: value.value)
