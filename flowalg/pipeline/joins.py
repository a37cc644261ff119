"""The kinds of joins, and the steps that emit their pairs one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum, unique
from functools import cache
from itertools import chain
from typing import Final, TypeVar, cast

from attrs import frozen
from returns.maybe import Nothing

from flowalg.data.errors import ArgumentError
from flowalg.data.kv import KV
from flowalg.data.record_classes import attributes_of
from flowalg.data.shapes import (
    TIMESTAMP,
    ListOf,
    Nullable,
    RecordOf,
    SetOf,
    Shape,
    TupleOf,
    kv_of,
    optional,
)
from flowalg.data.time import EventTime
from flowalg.elementwise.functions import Call, user_call
from flowalg.elementwise.steps import Map, Step, WithTimestamps
from flowalg.windows.strategy import TimestampCombiner

A = TypeVar("A")
K = TypeVar("K")
B = TypeVar("B")


@unique
class JoinKind(Enum):
    """The method of ``PCollection`` that made a join: which pairs it has, or which left values it selects."""

    INNER = "inner_join"
    LEFT = "left_join"
    FULL = "full_join"
    SEMI = "semi_join"
    ANTI = "anti_join"
    EXCEPT = "except_"

    @property
    def selects(self) -> bool:
        """Whether the result has left values by themselves, and not in pairs."""
        return self in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.EXCEPT)

    @property
    def keeps_left(self) -> bool:
        """Whether left values without a match are kept. A later match of one is then a correction."""
        return self not in (JoinKind.INNER, JoinKind.SEMI)

    @property
    def keeps_right(self) -> bool:
        """Whether right values without a match are kept."""
        return self is JoinKind.FULL

    def pairs(self, left: Sequence[A], right: Sequence[B]) -> Iterator[tuple[A | None, B | None]]:
        """Yields each left value with each right value of one key and window."""
        lefts: Sequence[A | None] = left if left or not self.keeps_right else (None,)
        rights: Sequence[B | None] = right if right or not self.keeps_left else (None,)
        return ((a, b) for a in lefts for b in rights)

    def shape(self, left: Shape, right: Shape) -> TupleOf:
        """Returns the shape of a pair."""
        return TupleOf(
            (optional(left) if self.keeps_right else left, optional(right) if self.keeps_left else right)
        )


def require_distinct_nothing(kind: JoinKind, left: Shape, right: Shape) -> None:
    """Raises ``ArgumentError`` if a value of an optional side may be ``None``, as the mark of no match is."""
    if kind.selects:
        return
    for side, shape, kept in (("right", right, kind.keeps_left), ("left", left, kind.keeps_right)):
        if kept and isinstance(shape, Nullable):
            valid = (
                f"values that are not None: {kind.value} pairs a value without a match with None, so that no match and "
                "a match with None would be the same pair; filter them, or put them into a record"
            )
            raise ArgumentError(f"the {side} collection of {kind.value}", str(shape), valid)


def has_none(value: object) -> bool:
    """Returns whether a key is ``None`` or ``Nothing``, or has one in it. Such a key matches nothing, as in SQL."""
    if value is None or value is Nothing:
        return True
    if isinstance(value, KV):
        return has_none(value.key) or has_none(value.value)
    if isinstance(value, tuple | frozenset):
        return any(map(has_none, value))
    kind: type = type(value)
    return any(has_none(getattr(value, name)) for name in attributes_of(kind) or ())


def may_have_none(shape: Shape | None) -> bool:
    """Returns whether a value of a shape may be ``None``, or have a ``None`` in it; true if the shape is unknown."""
    match shape:
        case None | Nullable():
            return True
        case TupleOf(items=items):
            return any(map(may_have_none, items))
        case RecordOf(fields=parts):
            return any(may_have_none(part.shape) for part in parts)
        case SetOf(of=item) | ListOf(of=item):
            return may_have_none(item)
        case _:
            return False


def can_match(pair: KV[K, B]) -> bool:
    """Returns whether the key of a pair can match another one."""
    return not has_none(pair.key)


def has_key(pair: KV[K, B]) -> bool:
    """Returns whether a pair has a key, where a key has no parts that may be ``None``."""
    return pair.key is not None and pair.key is not Nothing


def time_of_pair(pair: KV[K, tuple[A, B, datetime]]) -> datetime:
    """Returns the event time of a pair."""
    return pair.value[2]


def without_time(pair: KV[K, tuple[A, B, datetime]]) -> KV[K, tuple[A, B]]:
    """Returns a pair without its event time."""
    return KV(pair.key, (pair.value[0], pair.value[1]))


def time_of_selected(pair: KV[K, tuple[A, datetime]]) -> datetime:
    """Returns the event time of a selected left value."""
    return pair.value[1]


def selected_without_time(pair: KV[K, tuple[A, datetime]]) -> KV[K, A]:
    """Returns a selected left value without its event time."""
    return KV(pair.key, pair.value[0])


def time_of_element(timed: tuple[A, datetime]) -> datetime:
    """Returns the event time of an element."""
    return timed[1]


def element_without_time(timed: tuple[A, datetime]) -> A:
    """Returns an element without its event time."""
    return timed[0]


@cache
def timing_steps(kind: JoinKind, scope: tuple[str, ...]) -> tuple[WithTimestamps, Map]:
    """Returns the steps that give each pair its own event time. They are the same objects for all chains of a join."""
    match kind:
        case JoinKind.EXCEPT:
            time, rest = Call(time_of_element), Call(element_without_time)
        case JoinKind.SEMI | JoinKind.ANTI:
            time, rest = Call(time_of_selected), Call(selected_without_time)
        case _:
            time, rest = Call(time_of_pair), Call(without_time)
    return WithTimestamps(time, kind.value, scope=scope), Map(rest, kind.value, scope=scope)


def by_itself(element: A) -> A:
    """Returns an element as its own key."""
    return element


def remaining(sides: KV[object, tuple[list[A], list[A]]]) -> list[A]:
    """Returns the equal elements on the left that are left over, when each on the right has taken one away."""
    return [element for place, element in enumerate(sides.value[0]) if place >= len(sides.value[1])]


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def remaining_at(
    sides: KV[object, tuple[list[tuple[A, int]], list[tuple[A, int]]]],
) -> list[tuple[A, datetime]]:
    """Returns the equal elements that are left over, each with its event time: the earliest have been taken away."""
    return [
        (timed[0], _EPOCH + timedelta(microseconds=timed[1]))
        for place, timed in enumerate(sides.value[0])
        if place >= len(sides.value[1])
    ]


@frozen
class PairSides:
    """The pairs of a full join, from the values of both sides: a key with a ``None`` in it matches nothing.

    Only here the key is known. With ``times`` each value comes with its event time in microseconds, and each pair has
    a third item, its own event time.
    """

    times: TimestampCombiner | None = None

    def __call__(self, sides: KV[object, tuple[list[object], list[object]]]) -> list[KV[object, object]]:
        """Returns the pairs of a key and window, each under its key."""
        key, (left, right) = sides.key, sides.value
        kind = JoinKind.FULL
        pairs = (
            chain(kind.pairs(left, ()), kind.pairs((), right)) if has_none(key) else kind.pairs(left, right)
        )
        return [KV(key, self._pair(*pair)) for pair in pairs if pair != (None, None)]

    def _pair(self, left: object, right: object) -> tuple[object, ...]:
        if self.times is None:
            return (left, right)
        sides = [cast("tuple[object, int] | None", side) for side in (left, right)]
        values = (None if side is None else side[0] for side in sides)
        return (*values, time_of(self.times, [side[1] for side in sides if side is not None]))

    def shape_of_items(self, element: Shape) -> Shape | None:
        """Returns the shape of a pair under its key."""
        if not isinstance(element, RecordOf):
            return None
        key, sides = (part.shape for part in element.fields)
        if not isinstance(sides, TupleOf):
            return None
        left, right = sides.items
        if not (isinstance(left, ListOf) and isinstance(right, ListOf)):
            return None
        return kv_of(key, self._pair_shape(left.of, right.of))

    def _pair_shape(self, left: Shape, right: Shape) -> TupleOf:
        if self.times is None:
            return JoinKind.FULL.shape(left, right)
        assert isinstance(left, TupleOf)
        assert isinstance(right, TupleOf)
        pair = JoinKind.FULL.shape(left.items[0], right.items[0])
        return TupleOf((*pair.items, TIMESTAMP))


def time_of(times: TimestampCombiner, of_values: Sequence[int]) -> datetime:
    """Returns the event time of a pair, from those of its values in microseconds."""
    chosen = min(of_values) if times is TimestampCombiner.EARLIEST else max(of_values)
    return EventTime(chosen).datetime


def step_apart(kind: JoinKind, times: TimestampCombiner | None) -> Call:
    """Returns the function that emits what a join has of the values of both sides, where these are apart."""
    if kind is JoinKind.EXCEPT:
        return Call(remaining if times is None else remaining_at)
    return Call(PairSides(times))


def keeps_pairs(step: Step) -> bool:
    """Returns whether a step emits the pairs of a join of which a later pane has some if an earlier one had any."""
    f = user_call(step.function).f
    return isinstance(f, PairSides) or (f is each_pair and step.name != JoinKind.ANTI.value)


def is_of_join(step: Step) -> bool:
    """Returns whether a step is one that a join has added, whose function is not the user's."""
    f = user_call(step.function).f
    return isinstance(f, PairSides) or f in (
        each_pair,
        can_match,
        has_key,
        by_itself,
        remaining,
        remaining_at,
    )


def each_pair(matches: KV[K, list[B]]) -> list[KV[K, B]]:
    """Returns the pairs of a key and window, each under its key."""
    return [KV(matches.key, pair) for pair in matches.value]
