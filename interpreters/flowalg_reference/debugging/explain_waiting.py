"""What a key of a computation is waiting for: its timers, the elements that wait for the watermark, and its hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, unique

from attrs import frozen

from flowalg.computations.calls import Effect, FailedTransition, order_of_firing
from flowalg.computations.transition import EventTimer, ProcessingTimer
from flowalg.data.errors import format_value
from flowalg.data.time import EventTime, ProcessingTime, event_time
from flowalg.data.views import HasView
from flowalg.pipeline.nodes import Process
from flowalg.runs.panes import DroppedElement
from flowalg_reference.computations import Computing
from flowalg_reference.debugging.events import ArrivedElement, SetTimer, arrived_element, set_timer
from flowalg_reference.debugging.history import History
from flowalg_reference.debugging.recording import Recording
from flowalg_reference.debugging.watermark_hold import WatermarkHold, watermark_hold
from flowalg_reference.trace import Call


@unique
class KeyStatus(Enum):
    """What a key of a computation is doing."""

    NO_ELEMENTS = "no element of the key has arrived"
    DROPPED = "all its elements were dropped"
    FAILED = "all its transitions have failed"
    FREED = "it is freed, and waits for an element"
    NO_TIMERS = "it has no timer, and waits for an element"
    WAITING = "it is waiting"


@frozen
class KeyExplanation(HasView):
    """What a key of a computation is waiting for, at a processing time.

    ``state`` is its state; ``None`` if it has none. ``timers`` are its pending timers in the order in which they fire,
    and ``waiting`` the elements that wait for the watermark, in their order. ``key_hold`` is where it holds the
    watermark of its outputs, and ``hold`` is what holds its input watermark, if a timer or an element waits for that.
    ``outputs`` is the number of its outputs so far, and ``last_output`` the processing time of the last one. ``drops``
    are its dropped elements, and ``failures`` the errors of its failed transitions.
    """

    computation: str
    key: object
    processing_time: ProcessingTime
    watermark: EventTime
    status: KeyStatus
    state: object
    timers: tuple[SetTimer, ...]
    waiting: tuple[ArrivedElement, ...]
    key_hold: EventTime | None
    outputs: int
    last_output: ProcessingTime | None
    drops: tuple[DroppedElement, ...]
    failures: tuple[str, ...]
    hold: WatermarkHold | None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    @property
    def next_watermark(self) -> EventTime | None:
        """The watermark at which the first timer fires, or which has passed the first waiting element."""
        timers = (timer.timer.point for timer in self.timers if isinstance(timer.timer, EventTimer))
        passed = (EventTime(event_time(element.observed.event_time) + 1) for element in self.waiting)
        return min([*map(EventTime, timers), *passed], default=None)

    @property
    def next_time(self) -> ProcessingTime | None:
        """The processing time at which the first timer fires."""
        timers = (timer.timer.point for timer in self.timers if isinstance(timer.timer, ProcessingTimer))
        return min(timers, default=None)

    def _lines(self) -> Iterator[str]:
        clocks = f"at {self.processing_time}, with the watermark at {self.watermark}"
        yield f"{self.computation}: {self.key!r}, {clocks}:"
        state = "" if self.state is None else f", in the state {format_value(self.state)}"
        yield f"{self.status.value}{state}{':' if self.timers or self.waiting else '.'}"
        for timer in self.timers:
            tag, point = timer.timer.tag, timer.timer.point
            yield f"  the timer {tag!r} fires when {timer.clock} reaches {point}; {timer.origin}"
        for element in self.waiting:
            yield f"  {element} waits until the watermark has passed it; arrived at {element.arrival}"
        if self.key_hold is not None:
            yield f"It holds the watermark of its outputs at {self.key_hold}."
        if self.last_output is not None:
            yield f"Outputs so far: {self.outputs}, the last at {self.last_output}."
        if self.drops:
            reasons = ", ".join(sorted({drop.reason.value for drop in self.drops}))
            last = self.drops[-1].processing_time
            yield f"Dropped elements: {len(self.drops)} ({reasons}), the last at {last}."
        if self.failures:
            yield f"Failed transitions: {len(self.failures)}, the last: {self.failures[-1]}"
        if self.hold is not None:
            yield f"The watermark is held by {self.hold}."


def explain_waiting(
    history: History, recording: Recording, nodes: Sequence[Process], key: object
) -> KeyExplanation:
    """Explains what a key is waiting for at the end of a recording with an instant, in one of some computations."""
    operators = recording.operators
    node = next((node for node in nodes if _knows(operators.computations[id(node)], key)), nodes[0])
    computing = operators.computations[id(node)]
    calls = [call for call in recording.calls if call.calls is computing.calls and call.key == key]
    drops = tuple(drop for drop in computing.drops if drop.key == key)
    key_state, clocks = computing.keys.get(key), computing.clocks
    pending = sorted(key_state.timers.values(), key=order_of_firing) if key_state else ()
    waiting = computing.waiting.get(key, ())
    emitting = [call for call in calls if isinstance(call.effect, Effect) and call.effect.outputs]
    awaits_watermark = waiting or any(isinstance(timer.timer, EventTimer) for timer in pending)
    return KeyExplanation(
        node.label,
        key,
        clocks.processing_time,
        clocks.watermark,
        _status(computing, key, calls, drops),
        None if key_state is None else key_state.state,
        tuple(set_timer(recording, timer) for timer in pending),
        tuple(arrived_element(recording, element) for element in waiting),
        None if key_state is None else key_state.hold,
        sum(len(call.effect.outputs) for call in emitting if isinstance(call.effect, Effect)),
        emitting[-1].clocks[0] if emitting else None,
        drops,
        tuple(str(call.effect) for call in calls if isinstance(call.effect, FailedTransition)),
        watermark_hold(node.inputs, history, operators, clocks.processing_time) if awaits_watermark else None,
    )


def _knows(computing: Computing, key: object) -> bool:
    return key in computing.keys or key in computing.waiting


def _status(
    computing: Computing, key: object, calls: Sequence[Call], drops: Sequence[DroppedElement]
) -> KeyStatus:
    key_state = computing.keys.get(key)
    if computing.waiting.get(key) or (key_state and key_state.timers):
        return KeyStatus.WAITING
    if key_state:
        return KeyStatus.NO_TIMERS
    if not calls:
        return KeyStatus.DROPPED if drops else KeyStatus.NO_ELEMENTS
    failed = all(isinstance(call.effect, FailedTransition) for call in calls)
    return KeyStatus.FAILED if failed else KeyStatus.FREED
