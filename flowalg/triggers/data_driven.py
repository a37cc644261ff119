"""The leaves that depend on the values of elements, and the calls of their user-defined functions.

Each call raises ``UserFunctionError`` if the function raises, and ``ElementError`` for an invalid result.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from attrs import evolve, frozen

from flowalg.combiners.core import AnyCombiner
from flowalg.combiners.named_errors import with_named_errors
from flowalg.combiners.subtraction import can_subtract, is_signed, subtract
from flowalg.data.errors import (
    ElementError,
    describe_function,
    format_value,
)
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, Micros, ProcessingTime, processing_time
from flowalg.data.values import MAX_INTEGER
from flowalg.elementwise.functions import user_function_error
from flowalg.triggers.leaf import ClockReadings, Leaf, Seen
from flowalg.triggers.views import Arrivals, EveryInstant, TriggerClocks

# A trigger observes the values of the grouping that it governs, whose type is not known here.
Predicate: TypeAlias = Callable[[Any], bool]
Measure: TypeAlias = Callable[[Any], int]
Due: TypeAlias = Callable[..., datetime | None] | EveryInstant


class MeasureLeaf(Leaf[int]):
    """The sum of a measure has reached an amount."""

    __slots__ = ()
    measure: Measure
    amount: int

    def keep(self, value: object, weight: int) -> int:
        """Returns the measure of a value, or of a retracted one."""
        amount = _call("AtMeasure", self.measure, value)
        if isinstance(amount, bool) or not isinstance(amount, int) or not 0 <= amount <= MAX_INTEGER:
            raise _invalid("AtMeasure", amount, value, "a non-negative int")
        return amount

    def merge_kept(self, left: int, right: int) -> int:
        return left + right

    def is_ready(self, seen: Seen[int], clocks: ClockReadings, end: EventTime) -> bool:
        return (seen.kept or 0) >= self.amount

    @property
    def condition(self) -> str:
        return f"the sum of {describe_function(self.measure)} reaches {self.amount}"

    def progress(self, seen: Seen[int], clocks: ClockReadings, end: EventTime) -> str:
        return f"{describe_function(self.measure)} adds up: {seen.kept or 0} of {self.amount}"


class ElementLeaf(Leaf[bool]):
    """An element has satisfied a predicate."""

    __slots__ = ()
    predicate: Predicate

    def keep(self, value: object, weight: int) -> bool:
        """Returns whether a value, or a retracted one, satisfies the predicate."""
        return _require_bool("AtElement", _call("AtElement", self.predicate, value), value)

    def merge_kept(self, left: bool, right: bool) -> bool:
        return left or right

    def is_ready(self, seen: Seen[bool], clocks: ClockReadings, end: EventTime) -> bool:
        return bool(seen.kept)

    @property
    def condition(self) -> str:
        return f"an element satisfies {describe_function(self.predicate)}"

    def progress(self, seen: Seen[bool], clocks: ClockReadings, end: EventTime) -> str:
        return f"{self.condition}: {'one has' if seen.kept else 'none has'}"


@frozen
class Accumulated:
    """The accumulator of some elements. ``size`` is the number of values minus that of retractions.

    ``held`` says that the predicate of an ``AtValue`` has held after some instant.
    """

    accumulator: object
    size: int
    held: bool = False


class ValueLeaf(Leaf[Accumulated]):
    """A predicate has held of the combined value after an instant."""

    __slots__ = ()
    combiner: AnyCombiner
    predicate: Predicate

    @property
    def _named(self) -> AnyCombiner:
        return with_named_errors(self.combiner)

    def keep(self, value: object, weight: int) -> Accumulated | None:
        """Returns the accumulator of a value; ``None`` for a retraction that the combiner cannot subtract."""
        named = self._named
        if weight > 0:
            return Accumulated(named.add(named.zero(), value), 1)
        if can_subtract(named):
            return Accumulated(subtract(named, named.zero(), value), -1)
        return None

    def merge_kept(self, left: Accumulated, right: Accumulated) -> Accumulated:
        merged = self._named.merge(left.accumulator, right.accumulator)
        return Accumulated(merged, left.size + right.size, left.held or right.held)

    def settle(self, kept: Accumulated) -> Accumulated:
        """Once the predicate has held after an instant, it holds."""
        return kept if kept.held or not self.holds(kept) else evolve(kept, held=True)

    def _has_value(self, kept: Accumulated) -> bool:
        """Returns whether retractions have left something to combine."""
        return kept.size > 0 or is_signed(self.combiner)

    def holds(self, kept: Accumulated) -> bool:
        """Returns whether the predicate holds of the combined value; false if retractions have left nothing to
        combine.
        """
        if not self._has_value(kept):
            return False
        value = self._named.extract(kept.accumulator)
        return _require_bool("AtValue.predicate", _call("AtValue.predicate", self.predicate, value), value)

    def is_ready(self, seen: Seen[Accumulated], clocks: ClockReadings, end: EventTime) -> bool:
        return seen.kept is not None and seen.kept.held

    @property
    def condition(self) -> str:
        return f"the {self.combiner.title} of the elements satisfies {describe_function(self.predicate)}"

    def progress(self, seen: Seen[Accumulated], clocks: ClockReadings, end: EventTime) -> str:
        return (
            f"{self.combiner.title} satisfies {describe_function(self.predicate)}: {self._shown(seen.kept)}"
        )

    def _shown(self, kept: Accumulated | None) -> str:
        if kept is None:
            return "nothing has arrived"
        if not self._has_value(kept):
            return "everything has been retracted"
        value = f"it is {format_value(self._named.extract(kept.accumulator))}"
        return f"it has, and {value}" if kept.held else value


class CustomLeaf(Leaf[Accumulated]):
    """A predicate holds of a summary of elements, once it is due."""

    __slots__ = ()
    zero: object
    add: Callable[..., object]
    merge: Callable[..., object]
    ready: Callable[..., bool]
    due: Due | None

    def keep(self, value: object, weight: int) -> Accumulated | None:
        """Returns the summary of a value; ``None`` for a retraction, which is not an element."""
        return Accumulated(_call("CustomTrigger.add", self.add, self.zero, value), 1) if weight > 0 else None

    def merge_kept(self, left: Accumulated, right: Accumulated) -> Accumulated:
        merged = _call("CustomTrigger.merge", self.merge, left.accumulator, right.accumulator)
        return Accumulated(merged, left.size + right.size)

    def due_time(
        self, kept: Accumulated, first: ProcessingTime, last: ProcessingTime
    ) -> ProcessingTime | None:
        """Returns the processing time before which it is not ready; ``None`` if only elements can make it ready.

        Raises ``ArgumentError`` unless ``due`` returns an aware datetime or ``None``.
        """
        if self.due is None or isinstance(self.due, EveryInstant):
            return ProcessingTime(MIN_TIME)
        point = _call("CustomTrigger.due", self.due, kept.accumulator, _arrivals(first, last))
        return None if point is None else processing_time(point, argument="the result of CustomTrigger.due")  # type: ignore[arg-type]  # checked there

    def holds(
        self,
        kept: Accumulated,
        first: ProcessingTime,
        last: ProcessingTime,
        now: ProcessingTime,
        watermark: EventTime,
        end: EventTime,
    ) -> bool:
        """Returns whether ``ready`` holds, if the trigger is due."""
        arguments: tuple[object, ...] = (kept.accumulator,)
        if self.due is not None:
            clocks = TriggerClocks(now.datetime, watermark.datetime, end.datetime, _arrivals(first, last))
            arguments = (kept.accumulator, clocks)
        return _require_bool(
            "CustomTrigger.ready", _call("CustomTrigger.ready", self.ready, *arguments), kept.accumulator
        )

    def deadline(self, seen: Seen[Accumulated]) -> ProcessingTime | None:
        if seen.kept is None or seen.first is None or seen.last is None:
            return None
        return self.due_time(seen.kept, seen.first, seen.last)

    def is_ready(self, seen: Seen[Accumulated], clocks: ClockReadings, end: EventTime) -> bool:
        due, now = self.deadline(seen), clocks.processing_time
        if due is None or now < due or seen.kept is None or seen.first is None or seen.last is None:
            return False
        return self.holds(seen.kept, seen.first, seen.last, now, clocks.watermark, end)

    @property
    def longest_wait(self) -> Micros | None:
        return MAX_TIME - MIN_TIME if callable(self.due) else None

    @property
    def follows_clock(self) -> bool:
        """Whether ``ready`` is given the clocks."""
        return self.due is not None

    @property
    def is_restless(self) -> bool:
        """Whether ``ready`` is given the clocks."""
        return self.due is not None

    @property
    def condition(self) -> str:
        return f"the summary satisfies {describe_function(self.ready)}"

    def progress(self, seen: Seen[Accumulated], clocks: ClockReadings, end: EventTime) -> str:
        return f"{describe_function(self.ready)} holds of the summary: {self._shown(seen, clocks)}"

    def _shown(self, seen: Seen[Accumulated], clocks: ClockReadings) -> str:
        if seen.kept is None:
            return "nothing has arrived"
        value, due = f"it is {format_value(seen.kept.accumulator)}", self.deadline(seen)
        if due is None:
            return f"{value}, and not due before the next element"
        now = clocks.processing_time
        return f"{value}, and due at {due}: it is {now}" if due > now else value


def _arrivals(first: ProcessingTime, last: ProcessingTime) -> Arrivals:
    return Arrivals(first.datetime, last.datetime)


def _call(part: str, f: Callable[..., object], *arguments: object) -> object:
    try:
        return f(*arguments)
    except Exception as cause:
        shown = arguments[0] if len(arguments) == 1 else arguments
        raise user_function_error(part, f, shown, cause) from cause


def _require_bool(part: str, result: object, value: object) -> bool:
    if not isinstance(result, bool):
        raise _invalid(part, result, value, "a bool")
    return result


def _invalid(part: str, result: object, value: object, valid: str) -> ElementError:
    return ElementError(f"{part} gave {format_value(result)} for {format_value(value)}; it must be {valid}")
