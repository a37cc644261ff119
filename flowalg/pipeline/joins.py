"""The kinds of joins, and the step that emits their pairs one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import Enum, unique
from functools import cache
from itertools import chain
from typing import TypeVar, cast

from attrs import frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.kv import KV
from flowalg.data.shapes import (
    TIMESTAMP,
    ListOf,
    OptionalOf,
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
    """The method of ``PCollection`` that made a join: which values are in a pair with ``None`` if nothing matches."""

    INNER = "inner_join"
    LEFT = "left_join"
    FULL = "full_join"

    @property
    def keeps_left(self) -> bool:
        """Whether left values without a match are kept."""
        return self is not JoinKind.INNER

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
    for side, shape, kept in (("right", right, kind.keeps_left), ("left", left, kind.keeps_right)):
        if kept and isinstance(shape, OptionalOf):
            valid = (
                f"values that are not None: {kind.value} pairs a value without a match with None, so that no match and "
                "a match with None would be the same pair; filter them, or put them into a record"
            )
            raise ArgumentError(f"the {side} collection of {kind.value}", str(shape), valid)


def has_none(value: object) -> bool:
    """Returns whether a key is ``None``, or has a ``None`` in it. Such a key matches nothing, as in SQL."""
    if value is None:
        return True
    if isinstance(value, KV):
        return has_none(value.key) or has_none(value.value)
    if isinstance(value, tuple | frozenset):
        return any(map(has_none, value))
    fields = getattr(type(value), "__attrs_attrs__", ())
    return any(has_none(getattr(value, field.name)) for field in fields)


def may_have_none(shape: Shape | None) -> bool:
    """Returns whether a value of a shape may be ``None``, or have a ``None`` in it; true if the shape is unknown."""
    match shape:
        case None | OptionalOf():
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
    return pair.key is not None


def time_of_pair(pair: KV[K, tuple[A, B, datetime]]) -> datetime:
    """Returns the event time of a pair."""
    return pair.value[2]


def without_time(pair: KV[K, tuple[A, B, datetime]]) -> KV[K, tuple[A, B]]:
    """Returns a pair without its event time."""
    return KV(pair.key, (pair.value[0], pair.value[1]))


@cache
def timing_steps(kind: JoinKind, scope: tuple[str, ...]) -> tuple[WithTimestamps, Map]:
    """Returns the steps that give each pair its own event time. They are the same objects for all chains of a join."""
    return (
        WithTimestamps(Call(time_of_pair), kind.value, scope=scope),
        Map(Call(without_time), kind.value, scope=scope),
    )


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


def emits_pairs(step: Step) -> bool:
    """Returns whether a step is that of a join, which emits the pairs of a pane one by one."""
    f = user_call(step.function).f
    return f is each_pair or isinstance(f, PairSides)


def is_of_join(step: Step) -> bool:
    """Returns whether a step is one that a join has added, whose function is not the user's."""
    return emits_pairs(step) or user_call(step.function).f in (can_match, has_key)


def each_pair(matches: KV[K, list[B]]) -> list[KV[K, B]]:
    """Returns the pairs of a key and window, each under its key."""
    return [KV(matches.key, pair) for pair in matches.value]
