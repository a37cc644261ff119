"""The computations that the library provides: ``deduplicate`` and ``every``. Engines may run them without Python."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from attrs import frozen

from flowalg.computations.computation import AnyComputation, Computation, Late
from flowalg.computations.transition import Clocks, EventTimer, Observed, Timer, Transition
from flowalg.data.errors import ArgumentError
from flowalg.data.shapes import ListOf, Shape
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, Micros, duration_of, event_time

FORGET: Final = "forget"
REST: Final = "rest"
"""The tags of their timers: of the end of an id, and of the end of the input."""


@frozen
class EmitFirst:
    """Emits the first element of a key, and ignores the others until the watermark is ``within`` past it.

    Elements of which the watermark is ``within`` past before they arrive are dropped (``dropped_before``).
    """

    within: timedelta

    def __call__(
        self, emitted: bool, observed: Observed[object, object], clocks: Clocks
    ) -> Transition[bool, object]:
        """Returns the transition of ``on_element``; the state is whether the key is known."""
        if emitted:
            return Transition(True)
        return Transition(True, emit=(observed.value,), set=(EventTimer(FORGET, self._end(observed)),))

    @property
    def micros(self) -> Micros:
        """How long an id is kept, in microseconds."""
        return duration_of("within", self.within, allow_zero=False)

    def _end(self, observed: Observed[object, object]) -> datetime:
        return EventTime(min(event_time(observed.event_time) + self.micros, MAX_TIME)).datetime


@frozen
class EmitEvery:
    """Emits a list of each ``size`` elements of a key, in the order in which it observes them."""

    size: int

    def __call__(
        self, kept: tuple[object, ...], observed: Observed[object, object], clocks: Clocks
    ) -> Transition[tuple[object, ...], list[object]]:
        """Returns the transition of ``on_element``; the state is the elements that have not been emitted."""
        values = (*kept, observed.value)
        if len(values) == self.size:
            return Transition(None, emit=(list(values),))
        return Transition(values, set=() if kept else (EventTimer(REST, MAX_TIME.datetime),))


def _forget(emitted: bool, timer: Timer, clocks: Clocks) -> Transition[bool, object]:
    return Transition(None)


def _emit_rest(
    kept: tuple[object, ...], timer: Timer, clocks: Clocks
) -> Transition[tuple[object, ...], list[object]]:
    return Transition(None, emit=(list(kept),))


def deduplication(within: timedelta) -> AnyComputation:
    """Returns the computation that emits the first element of each key (MillWheel, section 6.1.2)."""
    duration_of("within", within, allow_zero=False)
    return Computation(
        initial=False, on_element=EmitFirst(within), on_timer=_forget, name=f"deduplicate within {within}"
    )


def tuples(size: int) -> AnyComputation:
    """Returns the computation that emits each ``size`` elements of a key; the last ones when the input ends."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ArgumentError("n", size, "a positive int")
    return Computation(initial=(), on_element=EmitEvery(size), on_timer=_emit_rest, name=f"every {size}")


def output_shape(computation: AnyComputation, value: Shape | None) -> Shape | None:
    """Returns the shape of the outputs of a computation for values of a shape; ``None`` if it is unknown."""
    match computation.on_element:
        case EmitFirst():
            return value
        case EmitEvery():
            return None if value is None else ListOf(value)
        case _:
            return computation.output_shape


def built_in(computation: AnyComputation) -> EmitFirst | EmitEvery | None:
    """Returns the function of a computation that the library has made, which an engine may run without Python."""
    match computation.on_element:
        case EmitFirst(within=within) as first if computation == deduplication(within):
            return first
        case EmitEvery(size=size) as every if computation == tuples(size):
            return every
        case _:
            return None


def dropped_before(computation: AnyComputation, late: Late, watermark: EventTime) -> int:
    """Returns the event time before which an element is dropped as late, at the watermark before its instant.

    With ``Late.DROP`` it is the watermark. A deduplication drops the elements whose ids it may have forgotten: those of
    which the watermark is ``within`` past.
    """
    if late is Late.DROP:
        return watermark
    match computation.on_element:
        case EmitFirst() as first:  # at the end of time all ids are forgotten, the later ones too
            return watermark if watermark >= MAX_TIME else watermark - first.micros + 1
        case _:
            return MIN_TIME


def depends_on_horizon(computation: AnyComputation) -> bool:
    """Returns whether the outputs at the end of the input may depend on how far the watermark advances before
    it ends.
    """
    return computation.on_timer is not None and built_in(computation) is None


def state_shape(computation: AnyComputation, value: Shape) -> Shape | None:
    """Returns the shape of the states of a computation for values of a shape; ``None`` if it is unknown."""
    if isinstance(built_in(computation), EmitEvery):
        return ListOf(value)
    return computation.state_shape
