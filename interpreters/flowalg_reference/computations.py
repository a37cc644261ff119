"""One instant at a computation, key by key (SEMANTICS section 17)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from attrs import define, evolve, field

from flowalg.computations.calls import (
    LAST_TIME,
    MOST_FIRINGS,
    Calls,
    Effect,
    FailedTransition,
    KeyState,
    PendingTimer,
    order_of_firing,
)
from flowalg.computations.computation import Late
from flowalg.computations.library import dropped_before
from flowalg.computations.transition import EventTimer, ProcessingTimer, Timer
from flowalg.data.kv import KV
from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime
from flowalg.data.values import same, sort_key
from flowalg.elementwise.functions import require_keyed
from flowalg.pipeline.nodes import Process
from flowalg.runs.bad_records import bad_call
from flowalg.runs.clocks import BEGINNING, Clocks, minimum
from flowalg.runs.elements import Element
from flowalg.runs.panes import DroppedElement, DropReason
from flowalg_reference.bad_records import BadRecords
from flowalg_reference.drops import drop
from flowalg_reference.grouping import check_key
from flowalg_reference.outputs import NodeOutput
from flowalg_reference.trace import Call, Receipt


@define
class Computing:
    """The state of a computation: what it keeps for each key, and its clocks.

    In order, ``waiting`` has the elements of each key that the watermark has not passed. ``record``, if given, receives
    each element that is received, and each call of a function of the computation. ``unfired`` is the number of timers
    that firings at the end of the input have set.
    """

    calls: Calls
    in_order: bool
    late: Late
    bad: BadRecords | None = None
    record: Callable[[Receipt | Call], None] | None = None
    clocks: Clocks = BEGINNING
    output: Clocks = BEGINNING
    keys: dict[object, KeyState] = field(factory=dict)
    waiting: dict[object, list[Element]] = field(factory=lambda: defaultdict(list))
    drops: list[DroppedElement] = field(factory=list)
    unfired: int = 0

    @classmethod
    def of(
        cls,
        node: Process,
        bad: BadRecords | None = None,
        record: Callable[[Receipt | Call], None] | None = None,
    ) -> Computing:
        """Returns the state of a node before the first instant."""
        return cls(
            Calls(node.computation, node.label, node.input.shape), node.in_order, node.late, bad, record
        )

    def advance(self, received: NodeOutput) -> NodeOutput:
        """Advance by one instant: from its elements and input clocks to its outputs and output clocks."""
        before, self.clocks = self.clocks, minimum([*received.upstreams.values()], self.clocks)
        for element in received.elements:
            self._receive(element, before.watermark)
        outputs = [
            output
            for key in sorted({*self.waiting, *self._due_keys()}, key=sort_key)
            for output in self._advance_key(key, before.watermark)
        ]
        holds = [
            key_state.hold
            for key_state in self.keys.values()
            if key_state.hold is not None and not self._has_ended
        ]
        self.output = self.clocks.with_hold(min(holds, default=MAX_TIME), self.output)
        return NodeOutput(tuple(outputs), {id(self): self.output})

    @property
    def _has_ended(self) -> bool:
        return self.clocks.watermark >= MAX_TIME

    def _due_keys(self) -> Iterator[object]:
        """The keys with a timer that is due; all timers are at the end of the input."""
        clocks = self.clocks
        return (
            key
            for key, key_state in self.keys.items()
            if (self._has_ended and key_state.timers)
            or self._next_due(key, clocks.watermark, clocks.processing_time) is not None
        )

    def _receive(self, element: Element, before: EventTime) -> None:
        key = check_key(require_keyed(element.value, self.calls.label).key, self.calls.label)
        if element.event_time < dropped_before(self.calls.computation, self.late, before):
            self._drop(element, before)
        else:
            self.waiting[key].append(element)
            if self.record is not None:
                self.record(Receipt(element, self.clocks.processing_time))

    def _advance_key(self, key: object, before: EventTime) -> Iterator[Element]:
        """Yields the outputs of a key: its elements by event time, and the timers that are due."""
        watermark, now = self.clocks.watermark, self.clocks.processing_time
        arrived = in_canonical_order(net(self.waiting.pop(key, [])))
        if self.in_order:
            self.waiting[key] = [element for element in arrived if element.event_time >= watermark]
            for element in (element for element in arrived if element.event_time < watermark):
                yield from self._fire(key, element.event_time, None)
                yield from self._observe(key, element, element.event_time, before)
        else:
            for element in arrived:
                yield from self._observe(key, element, before, before)
        if self._has_ended:
            horizon = EventTime(min(self.clocks.horizon, LAST_TIME))
            if before < MAX_TIME:
                horizon = max(before, horizon)
            yield from self._fire(key, horizon, now)
            yield from self._fire_last(key, horizon)
        else:
            yield from self._fire(key, watermark, now)
        if not self.waiting.get(key):
            self.waiting.pop(key, None)

    def _drop(self, element: Element, before: EventTime) -> None:
        now, label = self.clocks.processing_time, self.calls.label
        self.drops.append(drop(element, element.window, DropReason.LATE, now, before, label))

    def _observe(
        self, key: object, element: Element, watermark: EventTime, before: EventTime
    ) -> tuple[Element, ...]:
        """Returns the outputs of an element, observed at a watermark; ``before`` is that before the instant."""
        if self.in_order and element.weight < 0:  # it retracts an element that has not arrived in time
            self._drop(element, before)
            return ()
        value, point = require_keyed(element.value, self.calls.label).value, element.event_time
        clocks = self.clocks.processing_time, watermark
        key_state, late = self.keys.get(key), point < watermark
        observe = partial(
            self.calls.observe, key_state, key, value, point, weight=element.weight, late=late, clocks=clocks
        )
        return self._call(key, element, clocks, observe)

    def _fire(self, key: object, watermark: EventTime, now: ProcessingTime | None) -> Iterator[Element]:
        """The outputs of the timers that are due at a watermark, and at a processing time if it is given."""
        firings = 0
        latest: dict[type[Timer], int] = {}
        while (pending := self._next_due(key, watermark, now)) is not None:
            timer = pending.timer
            is_later = type(timer) not in latest or pending.point > latest[type(timer)]
            latest[type(timer)] = max(pending.point, latest.get(type(timer), pending.point))
            firings = 1 if is_later else firings + 1
            if firings > MOST_FIRINGS:
                raise self.calls.too_many_firings(key)
            fired = self._without_timer(key, timer)
            reached = timer.point if self.in_order and isinstance(timer, EventTimer) else watermark
            clocks = self.clocks.processing_time, reached
            yield from self._call(key, pending, clocks, partial(self.calls.fire, fired, key, pending, clocks))

    def _fire_last(self, key: object, horizon: EventTime) -> Iterator[Element]:
        """The outputs of the timers that are set when the input ends, each fired once; what they set is discarded."""
        clocks = self.clocks.processing_time, MAX_TIME
        key_state = self.keys.get(key)
        for pending in sorted(key_state.timers.values(), key=order_of_firing) if key_state else ():
            current = self.keys.get(key)
            if current is None or current.timers.get(pending.timer.tag) is not pending:
                continue  # an earlier firing has cleared it, or has set it again
            fired = self._without_timer(key, pending.timer)
            yield from self._call(
                key, pending, clocks, partial(self.calls.fire, fired, key, pending, clocks, horizon)
            )
        left = self.keys.get(key)
        if left is not None and left.timers:
            self.unfired += len(left.timers)
            self.keys[key] = evolve(left, timers={})

    def _without_timer(self, key: object, timer: Timer) -> KeyState:
        """Removes a timer of a key; returns what is kept for the key then."""
        key_state = self.keys[key]
        timers = {tag: other for tag, other in key_state.timers.items() if tag != timer.tag}
        self.keys[key] = evolve(key_state, timers=timers)
        return self.keys[key]

    def _next_due(self, key: object, watermark: EventTime, now: ProcessingTime | None) -> PendingTimer | None:
        """Returns the timer that fires next: those of event time first, by time and tag."""

        def is_due(timer: Timer) -> bool:
            if isinstance(timer, EventTimer):
                return timer.point <= watermark
            return now is not None and timer.point <= now

        key_state = self.keys.get(key)
        due = [pending for pending in key_state.timers.values() if is_due(pending.timer)] if key_state else []
        return min(due, key=order_of_firing, default=None)

    def _call(
        self,
        key: object,
        event: Element | PendingTimer,
        clocks: tuple[ProcessingTime, EventTime],
        f: Callable[[], Effect],
    ) -> tuple[Element, ...]:
        """Returns the outputs of a call. One that fails changes nothing: it is a bad record, or ends the run."""
        before = self.keys.get(key)
        effect: Effect | FailedTransition
        try:
            effect = f()
        except FailedTransition as failure:
            if self.bad is None:
                raise failure.error from failure.__cause__
            self.bad.records.append(bad_call(self.calls, failure))
            effect = failure
        if self.record is not None:
            state = self.calls.computation.initial if before is None else before.state
            self.record(Call(self.calls, key, event, clocks, state, effect))
        if isinstance(effect, FailedTransition):
            return ()
        if effect.after is None:
            self.keys.pop(key, None)
        else:
            self.keys[key] = effect.after
        return tuple(Element(KV(key, value), point, effect=effect) for point, value in effect.outputs)

    def next_deadline(self) -> ProcessingTime | None:
        """Returns the next processing time at which a timer of any key fires."""
        timers = (pending.timer for key_state in self.keys.values() for pending in key_state.timers.values())
        return min((timer.point for timer in timers if isinstance(timer, ProcessingTimer)), default=None)


def net(elements: list[Element]) -> list[Element]:
    """Returns elements without those that are retracted by others: an equal value at the same event time."""
    left = [element for element in elements if element.weight > 0]
    for retraction in (element for element in elements if element.weight < 0):
        opposite = next((other for other in left if _cancel(retraction, other)), None)
        if opposite is None:
            left.append(retraction)
        else:
            left.remove(opposite)
    return left


def _cancel(element: Element, other: Element) -> bool:
    return (
        element.weight == -other.weight
        and element.event_time == other.event_time
        and same(element.value, other.value)
    )


def in_canonical_order(elements: Iterable[Element]) -> list[Element]:
    """Returns elements by event time, retractions first, then by value: in no engine by arrival."""
    return sorted(elements, key=lambda element: (element.event_time, element.weight, sort_key(element.value)))
