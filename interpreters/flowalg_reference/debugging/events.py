"""The events of a computation as debugging reports them: elements with their arrival, and timers with their origin."""

from __future__ import annotations

from attrs import frozen

from flowalg.computations.calls import PendingTimer
from flowalg.computations.transition import Observed, ProcessingTimer, Timer
from flowalg.data.errors import format_value
from flowalg.data.time import ProcessingTime, event_time
from flowalg.elementwise.functions import require_keyed
from flowalg.runs.elements import Element
from flowalg_reference.debugging.recording import Recording
from flowalg_reference.trace import Call


@frozen
class ArrivedElement:
    """An element of a computation as it observes it, and the processing time at which it arrived.

    ``retraction`` says that it retracts an earlier element.
    """

    observed: Observed[object, object]
    arrival: ProcessingTime
    retraction: bool = False

    def __str__(self) -> str:
        kind = f"{'late ' if self.observed.late else ''}{'retraction of' if self.retraction else 'element'}"
        return f"the {kind} {format_value(self.observed.value)} at {event_time(self.observed.event_time)}"


@frozen
class SetTimer:
    """A timer with the event whose transition set it: an element, or another timer, at a processing time."""

    timer: Timer
    set_by: ArrivedElement | Timer
    set_at: ProcessingTime

    @property
    def clock(self) -> str:
        """The clock that it waits for, as text."""
        return "processing time" if isinstance(self.timer, ProcessingTimer) else "the watermark"

    @property
    def origin(self) -> str:
        """When and by what it was set, as text."""
        by = self.set_by
        cause = by if isinstance(by, ArrivedElement) else f"the timer {by.tag!r} of {by.point}"
        return f"set at {self.set_at} by {cause}"


def event_of(recording: Recording, call: Call) -> ArrivedElement | SetTimer:
    """Returns the element that a call observes, or the timer that fires in it."""
    if isinstance(call.event, PendingTimer):
        return set_timer(recording, call.event)
    return arrived_element(recording, call.event, call)


def arrived_element(recording: Recording, element: Element, call: Call | None = None) -> ArrivedElement:
    """Returns an element that a computation has received, as a call observes it; without a call it is not late."""
    pair = require_keyed(element.value, "a computation")
    late = call is not None and element.event_time < call.clocks[1]
    observed = Observed(pair.key, pair.value, element.event_time.datetime, late)
    return ArrivedElement(observed, recording.receipts[id(element)].time, element.weight < 0)


def set_timer(recording: Recording, pending: PendingTimer) -> SetTimer:
    """Returns a timer with the event whose transition set it."""
    setter = recording.setters[id(pending)]
    cause = setter.event
    by = cause.timer if isinstance(cause, PendingTimer) else arrived_element(recording, cause, setter)
    return SetTimer(pending.timer, by, setter.clocks[0])
