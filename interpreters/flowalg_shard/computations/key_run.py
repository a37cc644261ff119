"""One instant of a key: the functions of a computation over its elements and timers (SEMANTICS section 17)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from attrs import define, field

from flowalg.computations.calls import MOST_FIRINGS, Effect, FailedTransition, KeyState, PendingTimer
from flowalg.computations.transition import Clocks, EventTimer, Observed, ProcessingTimer
from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime
from flowalg.runs.bad_records import BadRecord, bad_call
from flowalg_shard.computations.stage import ComputationStage

Element = tuple[EventTime, int, Observed[object, object]]
"""The event time and the weight of an element, and what the function receives."""


_BEGINNING: Final = -(2**63)


@define
class KeyRun:
    """The state of a key during an instant, and what it has emitted so far; ``now`` is the processing time.

    ``unfired`` is the number of timers that its firings at the end of the input have set.
    """

    stage: ComputationStage
    key: object
    key_state: KeyState | None
    now: datetime
    outputs: list[tuple[EventTime, object]] = field(factory=list)
    bad_records: list[BadRecord] = field(factory=list)
    unfired: int = 0

    def observe(self, elements: Iterable[Element], clocks: Clocks) -> None:
        """Observes elements at some clocks."""
        computation, calls = self.stage.computation, self.stage.calls
        for time, weight, observed in elements:
            f = computation.on_element if weight > 0 else computation.on_retraction
            assert f is not None, "a computation without on_retraction receives no retractions"
            key_state = calls.initial if self.key_state is None else self.key_state
            try:
                self._apply(calls.call(f, key_state, observed, time, clocks, self.key))
            except FailedTransition as failure:
                self._fail(failure)

    def observe_in_order(self, elements: Iterable[Element]) -> None:
        """Observes elements in order of event time, and fires the timers between them."""
        for element in elements:
            time, _, observed = element
            clocks = Clocks(self.now, observed.event_time)
            self.fire(time, None, clocks)
            self.observe((element,), clocks)

    def fire(self, watermark: EventTime, time: ProcessingTime | None, clocks: Clocks) -> None:
        """Fires the timers that are due at a watermark, and at a processing time if it is given."""
        firings, last_event, last_time = 0, _BEGINNING, _BEGINNING
        while (
            self.key_state is not None and (pending := _next_due(self.key_state, watermark, time)) is not None
        ):
            firings += 1
            timer, point, _ = pending
            is_of_event = type(timer) is EventTimer
            if is_of_event and point > last_event:
                firings, last_event = 0, point
            elif not is_of_event and point > last_time:
                firings, last_time = 0, point
            if firings >= MOST_FIRINGS:
                raise self.stage.calls.too_many_firings(self.key)
            read = Clocks(self.now, timer.at) if self.stage.in_order and is_of_event else clocks
            self._fire(self.key_state, pending, watermark, read)

    def fire_at_end(self, horizon: EventTime) -> None:
        """Fires each timer that is set at the end of the input, and discards the timers that these firings set."""
        if self.key_state is None or not self.key_state.timers:
            return
        clocks = Clocks(self.now, MAX_TIME.datetime, input_ended=True)
        in_turn = sorted(
            (type(timer) is ProcessingTimer, point, tag)
            for tag, (timer, point, _) in self.key_state.timers.items()
        )
        set_before = dict(self.key_state.timers)
        for _, _, tag in in_turn:
            if self.key_state is None:
                return
            pending = set_before[tag]
            if self.key_state.timers.get(tag) is pending:
                self._fire(self.key_state, pending, horizon, clocks)
        if self.key_state is not None and self.key_state.timers:
            self.unfired += len(self.key_state.timers)
            self.key_state = KeyState(self.key_state.state, self.key_state.hold)

    def _fire(self, key_state: KeyState, pending: PendingTimer, watermark: EventTime, clocks: Clocks) -> None:
        """Fires a timer, whose outputs are not behind a watermark."""
        on_timer = self.stage.computation.on_timer
        assert on_timer is not None, "a computation without on_timer sets no timers"
        left = {tag: other for tag, other in key_state.timers.items() if other is not pending}
        self.key_state = KeyState(key_state.state, key_state.hold, left)
        cause = pending.time_at(watermark)
        try:
            self._apply(
                self.stage.calls.call(on_timer, self.key_state, pending.timer, cause, clocks, self.key)
            )
        except FailedTransition as failure:
            self._fail(failure)

    def _apply(self, effect: Effect) -> None:
        self.key_state, outputs = effect
        if outputs:
            self.outputs += outputs

    def _fail(self, failure: FailedTransition) -> None:
        if not self.stage.dead_letters:
            raise failure.error from failure.__cause__
        self.bad_records.append(bad_call(self.stage.calls, failure))


def _next_due(key_state: KeyState, watermark: EventTime, time: ProcessingTime | None) -> PendingTimer | None:
    """Returns the timer that fires next: those of event time first, by time and tag."""
    if not key_state.timers:
        return None
    due: list[tuple[bool, int, str]] = []
    for tag, (timer, point, _) in key_state.timers.items():
        of_clock = type(timer) is ProcessingTimer
        limit = time if of_clock else watermark
        if limit is not None and point <= limit:
            due.append((of_clock, point, tag))
    return key_state.timers[min(due)[2]] if due else None
