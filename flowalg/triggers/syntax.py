"""Triggers: when in processing time a window's contents come out (SEMANTICS section 6; Dataflow Model, 2.3).

Two levels, which are types. A **once-trigger** is a monotone predicate of what its window has seen since it was set,
and of the clocks; it fires when ready, and then is finished. ``And`` and ``Or`` of once-triggers are once-triggers:
a bounded distributive lattice from ``Never`` to ``Always``. A **trigger** may fire many times.

    Once    ::= AtWatermark | AtCount | AtPeriod | AfterDelay | AtMeasure | AtElement | AtSignal | Never | Always
              | And(Once, ...) | Or(Once, ...)
    Trigger ::= Once | SequenceOf(Trigger, ...) | Repeat(Trigger) | OrFinally(Trigger, Once)
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeAlias, cast

from attrs import field, frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import Micros, ProcessingTime, duration_of

# The values that a trigger sees are those of the grouping that it will govern, whose type is not known here.
Predicate: TypeAlias = Callable[[Any], bool]
Measure: TypeAlias = Callable[[Any], int]


class _AnyTrigger:
    """What every trigger can be made into."""

    __slots__ = ()

    def __rshift__(self, other: Trigger) -> SequenceOf:
        """``a >> b``: first ``a``, and once it has finished ``b``."""
        before = self.triggers if isinstance(self, SequenceOf) else (cast("Trigger", self),)
        return SequenceOf(*before, other)

    def repeat(self) -> Repeat:
        """``Repeat`` of this."""
        return Repeat(cast("Trigger", self))

    def until(self, until: OnceTrigger) -> OrFinally:
        """``OrFinally`` of this: until ``until`` is ready, which fires a last time."""
        return OrFinally(cast("Trigger", self), until)


class _Once(_AnyTrigger):
    """The lattice of once-triggers."""

    __slots__ = ()

    def __and__(self, other: OnceTrigger) -> And:
        """Ready when both are."""
        return And(cast("OnceTrigger", self), other)

    def __or__(self, other: OnceTrigger) -> Or:
        """Ready when either is."""
        return Or(cast("OnceTrigger", self), other)


@frozen
class AtWatermark(_Once):
    """Ready when the watermark has passed the end of the window: ``W >= end``.

    Every element of the window is then believed to have been observed (Dataflow Model, section 2.3). With a
    ``percentile``, strictly between 0 and 1, it is the watermark that the slowest of recent elements are allowed to be
    behind: at 0.9 one in ten (MillWheel, section 7.2).
    """

    percentile: float | None = None

    def __attrs_post_init__(self) -> None:
        q = self.percentile
        if q is not None and not (isinstance(q, float) and 0 < q < 1):
            raise ArgumentError("AtWatermark.percentile", q, "a float between 0 and 1, or None")

    def with_early_firings(self, early: Trigger) -> SequenceOf:
        """``early`` repeated until the watermark passes, and then a last time: early and on-time panes."""
        return SequenceOf(OrFinally(Repeat(early), self))

    def with_late_firings(self, late: Trigger) -> SequenceOf:
        """When the watermark passes, and after that whenever ``late`` fires: on-time and late panes."""
        return SequenceOf(self, Repeat(late))


@frozen
class AtCount(_Once):
    """Ready when at least ``count`` elements have been observed; retractions do not count."""

    count: int

    def __attrs_post_init__(self) -> None:
        _positive("AtCount.count", self.count)


@frozen
class AtMeasure(_Once):
    """Ready when the sum of ``measure(value)`` over the elements observed is at least ``amount``.

    ``measure`` gives a non-negative int, such as a number of bytes, so that the sum never shrinks.
    """

    measure: Measure
    amount: int

    def __attrs_post_init__(self) -> None:
        if not callable(self.measure):
            raise ArgumentError(
                "AtMeasure.measure", self.measure, "a function from a value to a non-negative int"
            )
        _positive("AtMeasure.amount", self.amount)


@frozen
class AtElement(_Once):
    """Ready when one of the elements observed satisfies ``predicate`` (punctuation; data-driven triggering)."""

    predicate: Predicate

    def __attrs_post_init__(self) -> None:
        if not callable(self.predicate):
            raise ArgumentError("AtElement.predicate", self.predicate, "a function from a value to a bool")


@frozen
class AtPeriod(_Once):
    """Ready at the first multiple of ``period`` at or after the first element observed, in processing time.

    Multiples count from the Unix epoch plus ``offset``, so that all windows come out together: "every minute, on the
    minute" (Dataflow Model, Figure 7). A boundary with nothing new is skipped.
    """

    period: timedelta
    offset: timedelta = timedelta(0)

    def __attrs_post_init__(self) -> None:
        period = duration_of("AtPeriod.period", self.period, allow_zero=False)
        if duration_of("AtPeriod.offset", self.offset, allow_zero=True) >= period:
            raise ArgumentError("AtPeriod.offset", self.offset, f"shorter than the period, {self.period}")

    def deadline(self, first: ProcessingTime) -> ProcessingTime:
        """The boundary at or after a processing time."""
        period = duration_of("AtPeriod.period", self.period, allow_zero=False)
        offset = duration_of("AtPeriod.offset", self.offset, allow_zero=True)
        return ProcessingTime(first + (offset - first) % period)


@frozen
class AfterDelay(_Once):
    """Ready some time after the first element observed, in processing time; zero is at once."""

    delay: timedelta

    def __attrs_post_init__(self) -> None:
        duration_of("AfterDelay.delay", self.delay, allow_zero=True)

    @property
    def delay_micros(self) -> Micros:
        """The delay in microseconds."""
        return duration_of("AfterDelay.delay", self.delay, allow_zero=True)

    def deadline(self, first: ProcessingTime) -> ProcessingTime:
        """The delay after a processing time."""
        return ProcessingTime(first + self.delay_micros)


@frozen
class AtSignal(_Once):
    """Ready when a signal of that name has been given to the pipeline."""

    name: str

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError("AtSignal.name", self.name, "a non-empty str")


@frozen
class Never(_Once):
    """Never ready: the bottom of the lattice. What is left is emitted when the window expires."""


@frozen
class Always(_Once):
    """Always ready: the top of the lattice."""


@frozen(init=False)
class And(_Once):
    """Ready when all of them are: their meet. Of none it would be ``Always``, so it takes at least one."""

    triggers: tuple[OnceTrigger, ...]

    def __init__(self, *triggers: OnceTrigger) -> None:
        object.__setattr__(self, "triggers", _all_once("And", triggers))


@frozen(init=False)
class Or(_Once):
    """Ready when any of them is: their join. Of none it would be ``Never``, so it takes at least one."""

    triggers: tuple[OnceTrigger, ...]

    def __init__(self, *triggers: OnceTrigger) -> None:
        object.__setattr__(self, "triggers", _all_once("Or", triggers))


@frozen(init=False)
class SequenceOf(_AnyTrigger):
    """Runs each until it finishes, then the next, which starts afresh; finishes after the last.

    Law: associative; a sequence of one is that one; nothing comes after a ``Repeat``.
    """

    triggers: tuple[Trigger, ...]

    def __init__(self, *triggers: Trigger) -> None:
        if not triggers:
            raise ArgumentError("SequenceOf.triggers", triggers, "one or more triggers")
        for trigger in triggers:
            require_trigger("SequenceOf.triggers", trigger)
        object.__setattr__(self, "triggers", triggers)

    def with_late_firings(self, late: Trigger) -> SequenceOf:
        """The sequence, and after it ``late`` again and again."""
        return SequenceOf(*self.triggers, Repeat(late))


@frozen
class Repeat(_AnyTrigger):
    """Fires whenever ``trigger`` does, and resets it when it finishes. Never finishes itself.

    Law: ``Repeat(t) = SequenceOf(t, Repeat(t))``, ``Repeat(Repeat(t)) = Repeat(t)``.
    """

    trigger: Trigger

    def __attrs_post_init__(self) -> None:
        require_trigger("Repeat.trigger", self.trigger)


@frozen
class OrFinally(_AnyTrigger):
    """``main``, until ``until`` is ready: then it fires a last time and finishes; also when ``main`` finishes.

    ``until`` observes everything from the start, across the firings of ``main``.
    """

    main: Trigger
    until_: OnceTrigger = field(alias="until")

    def __attrs_post_init__(self) -> None:
        require_trigger("OrFinally.main", self.main)
        _require_once("OrFinally.until", self.until_)


OnceTrigger: TypeAlias = (
    AtWatermark
    | AtCount
    | AtMeasure
    | AtElement
    | AtPeriod
    | AfterDelay
    | AtSignal
    | Never
    | Always
    | And
    | Or
)
"""Triggers that fire once and are then finished."""

Trigger: TypeAlias = OnceTrigger | SequenceOf | Repeat | OrFinally
"""Every trigger."""


def RepeatUntil(trigger: Trigger, until: OnceTrigger) -> OrFinally:  # the papers' name
    """``OrFinally(Repeat(trigger), until)``."""
    return OrFinally(Repeat(trigger), until)


def require_trigger(argument: str, value: object) -> None:
    """Raises ``ArgumentError`` unless the value is a trigger."""
    if not isinstance(value, Trigger):
        raise ArgumentError(argument, value, "a trigger, such as Repeat(AtWatermark())")


def _require_once(argument: str, value: object) -> None:
    if not isinstance(value, OnceTrigger):
        raise ArgumentError(
            argument, value, "a once-trigger, such as AtWatermark(), AtCount(3), or And/Or of such"
        )


def _all_once(name: str, triggers: tuple[OnceTrigger, ...]) -> tuple[OnceTrigger, ...]:
    if not triggers:
        raise ArgumentError(f"{name}.triggers", triggers, "one or more once-triggers")
    for trigger in triggers:
        _require_once(f"{name}.triggers", trigger)
    return triggers


def _positive(argument: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ArgumentError(argument, value, "a positive int")


DEFAULT_TRIGGER: Final = Repeat(AtWatermark())
"""A pane when the watermark passes the end of the window, and one for whatever comes later."""


__all__ = [
    "DEFAULT_TRIGGER",
    "AfterDelay",
    "Always",
    "And",
    "AtCount",
    "AtElement",
    "AtMeasure",
    "AtPeriod",
    "AtSignal",
    "AtWatermark",
    "Measure",
    "Never",
    "OnceTrigger",
    "Or",
    "OrFinally",
    "Predicate",
    "Repeat",
    "RepeatUntil",
    "SequenceOf",
    "Trigger",
    "require_trigger",
]
