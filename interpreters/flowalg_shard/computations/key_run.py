"""One instant of a key: the functions of a computation over its elements and timers (SEMANTICS section 17)."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field

from flowalg.computations.calls import MOST_FIRINGS, Effect, FailedTransition, KeyState, PendingTimer
from flowalg.computations.transition import Clocks, EventTimer, Observed, ProcessingTimer
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.runs.bad_records import BadRecord, bad_call
from flowalg_shard.computations.stage import ComputationStage

Element = tuple[EventTime, int, Observed[object, object]]
"""The event time and the weight of an element, and what the function receives."""


@define
class KeyRun:
    """The state of a key during an instant, and what it has emitted so far."""

    stage: ComputationStage
    key: object
    known: KeyState | None
    outputs: list[tuple[EventTime, object]] = field(factory=list)
    bad_records: list[BadRecord] = field(factory=list)

    def observe(self, elements: Iterable[Element], clocks: Clocks) -> None:
        """Observes elements as they arrive, at the clocks of the instant before its watermark."""
        calls = self.stage.calls
        for time, weight, observed in elements:
            try:
                effect = calls.observe_event(self.known, observed, time, weight, clocks)
            except FailedTransition as failure:
                self._fail(failure)
            else:
                self._apply(effect)

    def observe_in_order(self, elements: Iterable[Element], now: ProcessingTime) -> None:
        """Observes elements in order of event time, and fires the timers between them."""
        for element in elements:
            time, _, observed = element
            self.fire(time, None, now)
            self.observe([element], Clocks(now.datetime, observed.event_time))

    def fire(self, watermark: EventTime, time: ProcessingTime | None, now: ProcessingTime) -> None:
        """Fires the timers that are due at a watermark, and at a processing time if it is given."""
        firings = 0
        while self.known is not None and (pending := _next_due(self.known, watermark, time)) is not None:
            firings += 1
            if firings > MOST_FIRINGS:
                raise self.stage.calls.too_many_firings(self.key)
            left = {tag: other for tag, other in self.known.timers.items() if other is not pending}
            self.known = KeyState(self.known.state, self.known.hold, left)
            stepwise = self.stage.in_order and isinstance(pending.timer, EventTimer)
            reached = EventTime(pending.point) if stepwise else watermark
            try:
                effect = self.stage.calls.fire(self.known, self.key, pending, (now, reached))
            except FailedTransition as failure:
                self._fail(failure)
            else:
                self._apply(effect)

    def _apply(self, effect: Effect) -> None:
        self.known, outputs = effect
        if outputs:
            self.outputs += outputs

    def _fail(self, failure: FailedTransition) -> None:
        if not self.stage.dead_letters:
            raise failure.error from failure.__cause__
        self.bad_records.append(bad_call(self.stage.label, failure))


def _next_due(known: KeyState, watermark: EventTime, time: ProcessingTime | None) -> PendingTimer | None:
    """Returns the timer that fires next: those of event time first, by time and tag."""
    found: list[tuple[bool, int, str]] = []
    for tag, (timer, point, _) in known.timers.items():
        of_clock = type(timer) is ProcessingTimer
        limit = time if of_clock else watermark
        if limit is not None and point <= limit:
            found.append((of_clock, point, tag))
    return known.timers[min(found)[2]] if found else None


__all__ = ["Element", "KeyRun"]
