"""Triggers: when in processing time a window emits its contents (SEMANTICS section 6; Dataflow Model, section 2.3).

There are two levels, with a type for each. A **once-trigger** is a predicate of the clocks and of what its window has
observed since the trigger was set; it fires when it is ready, and then is finished. ``And`` and ``Or`` of
once-triggers are once-triggers: they form a bounded distributive lattice from ``Never`` to ``Always``. A **trigger**
may fire many times::

    Once    ::= AtWatermark | AtCount | AtPeriod | AfterDelay | AfterInactivity | AtMeasure | AtElement | AtSignal
              | AtValue | CustomTrigger | Never | Always | And(Once, ...) | Or(Once, ...)
    Trigger ::= Once | SequenceOf(Trigger, ...) | Repeat(Trigger) | OrFinally(Trigger, Once)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar, cast, overload

from attrs import field, frozen

from flowalg.combiners.core import Aggregate, AnyCombiner, require_combiner
from flowalg.data.closed import Closed
from flowalg.data.errors import ArgumentError, require_name
from flowalg.data.time import duration_of
from flowalg.data.views import HasView
from flowalg.triggers.data_driven import (
    CustomLeaf,
    Due,
    ElementLeaf,
    Measure,
    MeasureLeaf,
    Predicate,
    ValueLeaf,
)
from flowalg.triggers.leaf import Leaf
from flowalg.triggers.leaves import (
    AlwaysLeaf,
    CountLeaf,
    DelayLeaf,
    InactivityLeaf,
    NeverLeaf,
    PeriodLeaf,
    SignalLeaf,
    WatermarkLeaf,
)
from flowalg.triggers.views import Arrivals, EveryInstant, TriggerClocks

Summary = TypeVar("Summary")
Out = TypeVar("Out")


class _AnyTrigger(Closed, HasView):
    """The methods of every trigger."""

    __slots__ = ()

    _instead = "none: CustomTrigger(...) takes functions"

    def __rshift__(self, other: Trigger) -> SequenceOf:
        """Returns ``a >> b``: ``a``, and after it has finished ``b``."""
        before = self.triggers if isinstance(self, SequenceOf) else (cast("Trigger", self),)
        return SequenceOf(*before, other)

    def repeat(self) -> Repeat:
        """Returns ``Repeat`` of this trigger."""
        return Repeat(cast("Trigger", self))

    def __and__(self, other: NoReturn) -> And:
        """Raises ``ArgumentError``: only triggers that fire once can be combined."""
        raise _not_once("&", self)

    def __or__(self, other: NoReturn) -> Or:
        """Raises ``ArgumentError``: only triggers that fire once can be combined."""
        raise _not_once("|", self)

    def until(self, until: OnceTrigger) -> OrFinally:
        """Returns ``OrFinally`` of this trigger: when ``until`` is ready, it fires a last time and finishes."""
        return OrFinally(cast("Trigger", self), until)


def _not_once(operator: str, trigger: object) -> ArgumentError:
    valid = "a trigger that fires once, such as AtCount(3); repeat the combination instead: (a & b).repeat()"
    return ArgumentError(f"the left operand of {operator}", trigger, valid)


class _Once(_AnyTrigger):
    """The operators of the lattice of once-triggers."""

    __slots__ = ()

    def __and__(self, other: OnceTrigger) -> And:
        """Ready when both are ready."""
        return And(cast("OnceTrigger", self), other)

    def __or__(self, other: OnceTrigger) -> Or:
        """Ready when either is ready."""
        return Or(cast("OnceTrigger", self), other)


@frozen
class AtWatermark(WatermarkLeaf, _Once):
    """Ready when the watermark has passed the end of the window: ``W >= end``.

    Then all elements of the window are assumed to have been observed (Dataflow Model, section 2.3). A ``percentile``,
    strictly between 0 and 1, selects a percentile watermark, which disregards the slowest of the recent elements: at
    0.9 one in ten (MillWheel, section 7.2).

    Example:

    >>> describe(AtWatermark())
    'when the watermark passes'
    >>> describe(AtWatermark(percentile=0.9))
    'when the 0.9 watermark passes'
    """

    percentile: float | None = None

    def __attrs_post_init__(self) -> None:
        q = self.percentile
        if q is not None and not (isinstance(q, float) and 0 < q < 1):
            raise ArgumentError("AtWatermark.percentile", q, "a float between 0 and 1, or None")

    def with_early_firings(self, early: Trigger) -> SequenceOf:
        """Returns a trigger for early and on-time panes: repeats ``early`` until the watermark passes, then fires.

        Example:

        >>> describe(AtWatermark().with_early_firings(AtPeriod(MINUTE)))
        'every minute until the watermark passes'
        """
        return SequenceOf(OrFinally(Repeat(early), self))

    def with_late_firings(self, late: Trigger) -> SequenceOf:
        """Returns a trigger with on-time and late panes: fires when the watermark passes, and then repeats ``late``.

        Example:

        >>> describe(AtWatermark().with_late_firings(AtCount(1)))
        'when the watermark passes, then at every late element'
        """
        return SequenceOf(self, Repeat(late))


@frozen
class AtCount(CountLeaf, _Once):
    """Ready when at least ``count`` changes have been observed: elements, and retractions of elements.

    A correction is two changes. So ``AtCount(1)`` is ready whenever the window has changed.

    Example:

    >>> describe((AtCount(100) | AfterDelay(MINUTE)).repeat())
    'whenever 100 elements have arrived or a minute has passed since the first element'
    """

    count: int

    def __attrs_post_init__(self) -> None:
        _positive("AtCount.count", self.count)


@frozen
class AtMeasure(MeasureLeaf, _Once):
    """Ready when the sum of ``measure(value)`` over the changes observed, retractions too, is at least ``amount``.

    ``measure`` returns a non-negative int, such as a number of bytes; the sum therefore never decreases.

    Example:

    >>> describe(AtMeasure(len, 1000).repeat())
    'whenever the sum of builtins.len reaches 1000'
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
class AtElement(ElementLeaf, _Once):
    """Ready when any element or retraction observed satisfies ``predicate`` (punctuation, data-driven triggering).

    Example:

    >>> describe(AtElement(bool).repeat())
    'whenever an element satisfies builtins.bool'
    """

    predicate: Predicate

    def __attrs_post_init__(self) -> None:
        if not callable(self.predicate):
            raise ArgumentError("AtElement.predicate", self.predicate, "a function from a value to a bool")


@frozen(init=False)
class AtValue(ValueLeaf, _Once):
    """Ready when ``predicate`` holds of the combined value of the elements observed: an estimate crosses its bound.

    The predicate is evaluated once in each instant that brings elements of the window, on all of them together. Once it
    has held, the trigger stays ready until it is reset. A retraction is subtracted if the combiner can subtract, and is
    not an element otherwise (SEMANTICS section 15). The combiner must not depend on the order of values.

    Example:

    >>> describe(AtValue(Sum(), lambda total: total > 100).repeat())
    'whenever the Sum of the elements satisfies <lambda> at ...'
    """

    combiner: AnyCombiner
    predicate: Predicate

    def __init__(self, combiner: Aggregate[Any, Out], predicate: Callable[[Out], bool]) -> None:
        checked = require_combiner("AtValue.combiner", combiner)
        if checked.is_ordered:
            valid = "a combiner that does not depend on the order of values, which no instant has"
            raise ArgumentError("AtValue.combiner", combiner, valid)
        if not callable(predicate):
            raise ArgumentError(
                "AtValue.predicate", predicate, "a function from the combined value to a bool"
            )
        object.__setattr__(self, "combiner", checked)
        object.__setattr__(self, "predicate", predicate)


@frozen(init=False)
class CustomTrigger(CustomLeaf, _Once):
    """A user-defined once-trigger: a summary of the elements observed, and a predicate of it.

    Summaries are a commutative monoid: ``zero`` is the summary of no elements, ``add`` adds one value, ``merge`` merges
    two. They must never be modified in place. ``flowalg_laws.check_trigger`` searches for a counterexample.

    Without ``due``, ``ready(summary)`` depends on the summary alone. With ``due``, ``ready(summary, clocks)`` may
    also depend on the clocks. ``due(summary, arrivals)`` returns the processing time, a timezone-aware datetime, before
    which the trigger is not ready; ``None`` means not before the next element. From then on it is evaluated in every
    instant; with ``EVERY_INSTANT`` always. A window that is not due costs nothing. Before the first element the trigger
    is not ready. Retractions are not elements.

    Example:

    >>> def extend(longest: int, value: str) -> int:
    ...     return max(longest, len(value))
    >>> describe(CustomTrigger(zero=0, add=extend, merge=max, ready=lambda longest: longest > 80))
    'when the summary satisfies <lambda> at ...'
    """

    zero: object
    add: Callable[..., object]
    merge: Callable[..., object]
    ready: Callable[..., bool]
    due: Due | None = None

    if TYPE_CHECKING:

        @overload
        def __init__(
            self,
            *,
            zero: Summary,
            add: Callable[[Summary, Any], Summary],
            merge: Callable[[Summary, Summary], Summary],
            ready: Callable[[Summary], bool],
            due: None = None,
        ) -> None: ...
        @overload
        def __init__(
            self,
            *,
            zero: Summary,
            add: Callable[[Summary, Any], Summary],
            merge: Callable[[Summary, Summary], Summary],
            ready: Callable[[Summary, TriggerClocks], bool],
            due: Callable[[Summary, Arrivals], datetime | None] | EveryInstant,
        ) -> None: ...

    def __init__(
        self,
        *,
        zero: object,
        add: Callable[..., object],
        merge: Callable[..., object],
        ready: Callable[..., bool],
        due: Callable[..., datetime | None] | EveryInstant | None = None,
    ) -> None:
        if isinstance(zero, list | dict | set | bytearray):
            valid = "immutable, such as a number, a tuple, a frozenset or a frozen record"
            raise ArgumentError("CustomTrigger.zero", zero, valid)
        for name, f in (("add", add), ("merge", merge), ("ready", ready)):
            if not callable(f):
                raise ArgumentError(f"CustomTrigger.{name}", f, "a function")
        if due is not None and not isinstance(due, EveryInstant) and not callable(due):
            raise ArgumentError(
                "CustomTrigger.due", due, "a function to a datetime or None, EVERY_INSTANT, or None"
            )
        for name, value in (("zero", zero), ("add", add), ("merge", merge), ("ready", ready), ("due", due)):
            object.__setattr__(self, name, value)


@frozen
class AtPeriod(PeriodLeaf, _Once):
    """Ready at the first multiple of ``period`` at or after the first element observed, in processing time.

    Multiples count from the Unix epoch plus ``offset``, so all windows fire together: "every minute, on the minute"
    (Dataflow Model, Figure 7). A multiple without new elements is skipped.

    Example:

    >>> describe(AtPeriod(MINUTE).repeat())
    'every minute'
    """

    period: timedelta
    offset: timedelta = timedelta(0)

    def __attrs_post_init__(self) -> None:
        period = duration_of("AtPeriod.period", self.period, allow_zero=False)
        if duration_of("AtPeriod.offset", self.offset, allow_zero=True) >= period:
            raise ArgumentError("AtPeriod.offset", self.offset, f"shorter than the period, {self.period}")


@frozen
class AfterDelay(DelayLeaf, _Once):
    """Ready when ``delay`` has passed since the first element observed, in processing time; zero means immediately.

    Example:

    >>> describe(AfterDelay(MINUTE).repeat())
    'whenever a minute has passed since the first element'
    """

    delay: timedelta

    def __attrs_post_init__(self) -> None:
        duration_of("AfterDelay.delay", self.delay, allow_zero=True)


@frozen
class AfterInactivity(InactivityLeaf, _Once):
    """Ready when ``gap`` has passed since the last element observed, in processing time.

    An element that arrives exactly at the deadline moves it. The only built-in trigger that is not monotone: another
    element can make it unready again (SEMANTICS section 15).

    Example:

    >>> describe(AfterInactivity(MINUTE).repeat())
    'whenever no element has arrived for a minute'
    """

    gap: timedelta

    def __attrs_post_init__(self) -> None:
        duration_of("AfterInactivity.gap", self.gap, allow_zero=False)


@frozen
class AtSignal(SignalLeaf, _Once):
    """Ready when a signal with this name has been sent to the pipeline.

    Example:

    >>> describe(AtSignal("flush").repeat())
    "whenever the signal 'flush' arrives"
    """

    name: str

    def __attrs_post_init__(self) -> None:
        require_name("AtSignal.name", self.name)


@frozen
class Never(NeverLeaf, _Once):
    """Never ready: the bottom of the lattice. The contents are emitted when the window expires."""


@frozen
class Always(AlwaysLeaf, _Once):
    """Always ready: the top of the lattice."""


@frozen(init=False)
class And(_Once):
    """Ready when all parts are ready: their meet. The empty meet would be ``Always``, so it needs at least one part."""

    triggers: tuple[OnceTrigger, ...]

    def __init__(self, *triggers: OnceTrigger) -> None:
        object.__setattr__(self, "triggers", _all_once("And", triggers))


@frozen(init=False)
class Or(_Once):
    """Ready when any part is ready: their join. The empty join would be ``Never``, so it needs at least one part."""

    triggers: tuple[OnceTrigger, ...]

    def __init__(self, *triggers: OnceTrigger) -> None:
        object.__setattr__(self, "triggers", _all_once("Or", triggers))


@frozen(init=False)
class SequenceOf(_AnyTrigger):
    """Runs each trigger until it finishes, then sets the next; finishes after the last.

    Laws: associative; a sequence of one trigger equals that trigger; triggers after a ``Repeat`` never run.

    Example:

    >>> describe(AtCount(5) >> AtWatermark())
    'when 5 elements have arrived, then when the watermark passes'
    """

    triggers: tuple[Trigger, ...]

    def __init__(self, *triggers: Trigger) -> None:
        if not triggers:
            raise ArgumentError("SequenceOf.triggers", triggers, "one or more triggers")
        for trigger in triggers:
            require_trigger("SequenceOf.triggers", trigger)
        object.__setattr__(self, "triggers", triggers)

    def with_late_firings(self, late: Trigger) -> SequenceOf:
        """Returns the sequence followed by repetitions of ``late``."""
        return SequenceOf(*self.triggers, Repeat(late))


@frozen
class Repeat(_AnyTrigger):
    """Fires when ``trigger`` fires, and resets it when it finishes. Never finishes.

    Laws: ``Repeat(t) = SequenceOf(t, Repeat(t))``, ``Repeat(Repeat(t)) = Repeat(t)``.
    """

    trigger: Trigger

    def __attrs_post_init__(self) -> None:
        require_trigger("Repeat.trigger", self.trigger)


@frozen
class OrFinally(_AnyTrigger):
    """Runs ``main`` until ``until`` is ready, then fires a last time and finishes. It also finishes with ``main``.

    ``until`` observes all elements since the start, across the firings of ``main``.

    Example:

    >>> describe(AtCount(5).repeat().until(AtWatermark()))
    'at every 5 elements until the watermark passes'
    """

    main: Trigger
    until_: OnceTrigger = field(alias="until")

    def __attrs_post_init__(self) -> None:
        require_trigger("OrFinally.main", self.main)
        _require_once("OrFinally.until", self.until_)


DataDrivenTrigger: TypeAlias = AtMeasure | AtElement | AtValue | CustomTrigger
"""Once-triggers that depend on the values of elements."""

AccumulatingTrigger: TypeAlias = AtValue | CustomTrigger
"""Once-triggers that accumulate the values of elements."""

LeafTrigger: TypeAlias = (
    AtWatermark
    | AtCount
    | AtMeasure
    | AtElement
    | AtPeriod
    | AfterDelay
    | AfterInactivity
    | AtValue
    | CustomTrigger
    | AtSignal
    | Never
    | Always
)
"""The once-triggers without parts."""

OnceTrigger: TypeAlias = LeafTrigger | And | Or
"""The triggers that fire at most once."""

Trigger: TypeAlias = OnceTrigger | SequenceOf | Repeat | OrFinally
"""All triggers."""


def RepeatUntil(trigger: Trigger, until: OnceTrigger) -> OrFinally:  # the name in the Dataflow Model
    """Returns ``OrFinally(Repeat(trigger), until)``."""
    return OrFinally(Repeat(trigger), until)


def parts_of(trigger: Trigger) -> tuple[Trigger, ...]:
    """Returns the triggers that a trigger is composed of; a leaf has none."""
    match trigger:
        case And(triggers=parts) | Or(triggers=parts):
            return parts
        case SequenceOf(triggers=members):
            return members
        case Repeat(trigger=inner):
            return (inner,)
        case OrFinally(main=main, until_=until):
            return main, until
        case _:
            return ()


def leaves(trigger: Trigger) -> Iterator[LeafTrigger]:
    """Yields the once-triggers at the leaves of a trigger."""
    for part in parts_of(trigger):
        yield from leaves(part)
    if isinstance(trigger, Leaf):
        yield trigger


def require_trigger(argument: str, value: object) -> None:
    """Raises ``ArgumentError`` unless the value is a trigger."""
    if not isinstance(value, Trigger):
        raise ArgumentError(argument, value, "a trigger, such as Repeat(AtWatermark())")


def _require_once(argument: str, value: object) -> None:
    if not isinstance(value, OnceTrigger):
        raise ArgumentError(
            argument,
            value,
            "a once-trigger, such as AtWatermark(), AtCount(3), or an And/Or of once-triggers",
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
"""Emits a pane when the watermark passes the end of the window, and a pane for each batch of late elements."""
