"""Calling the functions of a computation: checked transitions with times as ints, the same for every engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Final, NamedTuple

from attrs import field, frozen

from flowalg.computations.computation import AnyComputation
from flowalg.computations.transition import (
    Clocks,
    EventTimer,
    Observed,
    ProcessingTimer,
    Timer,
    Transition,
)
from flowalg.data.errors import (
    ElementError,
    FlowalgError,
    UserFunctionError,
    describe_function,
    describe_raised,
    format_value,
)
from flowalg.data.shapes import Shape
from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime, event_time
from flowalg.data.values import canonicalize, conform

MOST_FIRINGS: Final = 10_000
"""The number of timers of a key that may fire at one time without an element between them."""

LAST_TIME: Final = EventTime(MAX_TIME - 1)
"""The last event time that an element can have."""


class PendingTimer(NamedTuple):
    """A timer that is set, and when it fires. ``cause`` is the event time of what has set it."""

    timer: Timer
    point: int
    cause: EventTime

    def time_at(self, watermark: EventTime) -> EventTime:
        """Returns the event time of its outputs: its own, or for a timer of processing time that of its cause.

        If the watermark has passed the cause, it is the watermark, so that the outputs are not late. At the end of the
        input the watermark is the horizon.
        """
        timer = self.timer
        of_outputs = max(self.cause, watermark) if isinstance(timer, ProcessingTimer) else self.point
        return EventTime(min(of_outputs, LAST_TIME))


def order_of_firing(pending: PendingTimer) -> tuple[bool, int, str]:
    """Returns the position of a timer among those that are due: those of event time first, by time and tag."""
    timer = pending.timer
    return isinstance(timer, ProcessingTimer), pending.point, timer.tag


@frozen
class KeyState:
    """What is kept for a key: the state of its computation, the hold, and the timers by tag."""

    state: object
    hold: EventTime | None = None
    timers: Mapping[str, PendingTimer] = field(factory=dict)


class Effect(NamedTuple):
    """A checked transition: what is kept for the key, ``None`` if it was freed, and the outputs with their times."""

    after: KeyState | None
    outputs: tuple[tuple[EventTime, object], ...]


@frozen
class ElementCall:
    """The arguments of a function that observes an element, as messages and bad records show them."""

    key: object
    element: object
    event_time: str
    state: object

    def __str__(self) -> str:
        element = f"{format_value(self.element)} at {self.event_time}"
        return f"the element {element} of the key {format_value(self.key)} in the state {format_value(self.state)}"


@frozen
class TimerCall:
    """The arguments of ``on_timer``, as messages and bad records show them."""

    key: object
    timer: Timer
    state: object

    def __str__(self) -> str:
        return f"{self.timer} of the key {format_value(self.key)} in the state {format_value(self.state)}"


class FailedTransition(FlowalgError):
    """A function of a computation has raised, or has returned an invalid transition."""

    def __init__(self, call: ElementCall | TimerCall, error: FlowalgError) -> None:
        super().__init__(str(error))
        self.call = call
        self.error = error


@frozen
class Calls:
    """The functions of a computation, with the label of its transform.

    ``pair`` is the shape of its elements, if it is known, with which messages show their values.
    """

    computation: AnyComputation
    label: str
    pair: Shape | None = None

    def observe(
        self,
        before: KeyState | None,
        key: object,
        value: object,
        point: EventTime,
        *,
        weight: int,
        late: bool,
        clocks: tuple[ProcessingTime, EventTime],
    ) -> Effect:
        """Returns the effect of an element, or of a retraction; raises ``FailedTransition``."""
        f = self.computation.on_element if weight > 0 else self.computation.on_retraction
        assert f is not None, "a computation without on_retraction receives no retractions"
        observed, state = Observed(key, value, point.datetime, late), before or self.initial
        return self.call(f, state, observed, point, _read(clocks), key)

    def fire(
        self,
        before: KeyState,
        key: object,
        pending: PendingTimer,
        clocks: tuple[ProcessingTime, EventTime],
        horizon: EventTime | None = None,
    ) -> Effect:
        """Returns the effect of a timer; raises ``FailedTransition``. ``before`` no longer has the timer.

        If the input has ended, ``horizon`` is the greatest watermark before the end of time.
        """
        f = self.computation.on_timer
        assert f is not None, "a computation without on_timer sets no timers"
        ended = horizon is not None
        cause = pending.time_at(clocks[1] if horizon is None else horizon)
        return self.call(f, before, pending.timer, cause, _read(clocks, input_ended=ended), key)

    @cached_property
    def initial(self) -> KeyState:
        """What is known of a key before its first element."""
        return KeyState(self.computation.initial)

    def call(
        self,
        f: Callable[..., object],
        before: KeyState,
        event: Observed[object, object] | Timer,
        cause: EventTime,
        clocks: Clocks,
        key: object,
    ) -> Effect:
        """Returns the effect of a function for an element or a timer, whose event time is ``cause``.

        Raises ``FailedTransition``.
        """
        try:
            return self._checked(f(before.state, event, clocks), before, cause)
        except FlowalgError as error:
            call = _describe_call(key, event, before.state)
            message = f"{self.label}: {describe_function(f)}: {error}; it received {call}"
            raise FailedTransition(call, ElementError(message)) from error
        except MemoryError:
            raise
        except Exception as error:
            call = _describe_call(key, event, before.state)
            raised = f"{self.label}: {describe_function(f)} raised {describe_raised(error)}"
            raise FailedTransition(call, UserFunctionError(f"{raised}; it received {call}")) from error

    def too_many_firings(self, key: object) -> ElementError:
        """Returns the error for timers that set each other without end."""
        return ElementError(
            f"{self.label}: more than {MOST_FIRINGS:,} timers of the key {format_value(key)} fired at one time; "
            "on_timer must free the key, or set timers at later times, or stop setting timers that are due at once"
        )

    def unstorable(self, key: object, state: str, error: Exception) -> ElementError:
        """Returns the error for a state that cannot be stored."""
        return ElementError(
            f"{self.label}: the state {state} of the key {format_value(key)} cannot be stored: {describe_raised(error)}"
        )

    def _checked(self, returned: object, before: KeyState, cause: EventTime) -> Effect:
        if not isinstance(returned, Transition):
            raise ElementError(f"the result must be a Transition; got {format_value(returned)}")
        if returned.set and self.computation.on_timer is None:
            raise ElementError(
                f"the computation has no on_timer, so it must not set {format_value(returned.set)}"
            )
        earliest = cause if before.hold is None else min(cause, before.hold)
        outputs: tuple[tuple[EventTime, object], ...] = ()
        if returned.emit or returned.emit_at:
            outputs = self._outputs(returned, cause, earliest)
        if returned.state is None:
            return Effect(None, outputs)
        timers = before.timers
        if returned.set or returned.clear:
            timers = dict(timers)
            for tag in returned.clear:
                timers.pop(tag, None)
            for timer in returned.set:
                point = timer.micros
                if point < earliest and isinstance(timer, EventTimer):
                    raise _too_early(f"the timer {timer.tag!r}", point, earliest)
                timers[timer.tag] = PendingTimer(timer, point, cause)
        hold = None
        if returned.hold is not None:
            hold = event_time(returned.hold)
            if hold < earliest:
                raise _too_early("the hold", hold, earliest)
        return Effect(KeyState(returned.state, hold, timers), outputs)

    def _outputs(
        self, returned: Transition[object, object], cause: EventTime, earliest: EventTime
    ) -> tuple[tuple[EventTime, object], ...]:
        """Returns the outputs of a transition in their normal form."""
        outputs = [(cause, self._output(value)) for value in returned.emit]
        for at, value in returned.emit_at:
            point = _output_time(at)
            if point < earliest:
                raise _too_early("an output", point, earliest)
            outputs.append((point, self._output(value)))
        return tuple(outputs)

    def _output(self, value: object) -> object:
        shape, where = self.computation.output_shape, self._place_of_outputs
        return canonicalize(value, where) if shape is None else conform(value, shape, where)

    @cached_property
    def _place_of_outputs(self) -> str:
        return f"an output of {self.label}"


def _read(clocks: tuple[ProcessingTime, EventTime], *, input_ended: bool = False) -> Clocks:
    return Clocks(clocks[0].datetime, clocks[1].datetime, input_ended)


def _describe_call(
    key: object, event: Observed[object, object] | Timer, state: object
) -> ElementCall | TimerCall:
    if isinstance(event, Observed):
        return ElementCall(key, event.value, str(event_time(event.event_time)), state)
    return TimerCall(key, event, state)


def _too_early(name: str, point: int, earliest: int) -> ElementError:
    return ElementError(
        f"{name} is at {EventTime(point)}; it must not be before {EventTime(earliest)}, the event time of its cause, "
        "unless the transition before has set a hold"
    )


def _output_time(point: datetime) -> EventTime:
    if event_time(point) > LAST_TIME:
        raise ElementError(
            f"an output is at {EventTime(MAX_TIME)!r}; its event time must be before the end of time"
        )
    return event_time(point)
