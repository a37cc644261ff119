"""A computation as a plain loop over the elements of each key: the right side of laws of computations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from attrs import define, field

from flowalg import EventTime, Timeline
from flowalg.computations import Clocks, EventTimer, Observed, Timer, Transition
from flowalg.computations.computation import AnyComputation
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg_laws.kit.readings import Reading

Emitted: TypeAlias = tuple[int, int, str, int]
"""The processing time, the event time, the key and the value of an output."""

END: Final = MAX_TIME.datetime
_LAST: Final = EventTime(MAX_TIME - 1).datetime


@define
class KeyLoop:
    """A computation over the elements of one key, in lists. It searches all timers again after each transition."""

    key: str
    computation: AnyComputation
    state: object = None
    timers: dict[str, tuple[Timer, datetime]] = field(factory=dict)
    emitted: list[tuple[datetime, int]] = field(factory=list)

    def observe(self, reading: Reading, now: datetime, watermark: datetime) -> None:
        """Observes an element."""
        seen = Observed(self.key, reading.value, reading.at, reading.at < watermark)
        state = self.computation.initial if self.state is None else self.state
        self.move(self.computation.on_element(state, seen, Clocks(now, watermark)), reading.at)

    def fire(self, now: datetime, watermark: datetime, *, stepwise: bool) -> None:
        """Fires all timers that are due: those of event time first, each by time and tag."""
        while due := sorted(
            (not isinstance(timer, EventTimer), min(timer.at, END), timer.tag)
            for timer, _ in self.timers.values()
            if min(timer.at, END) <= (watermark if isinstance(timer, EventTimer) else now)
        ):
            timer, cause = self.timers.pop(due[0][2])
            is_event = isinstance(timer, EventTimer)
            at = min(timer.at, END) if is_event else max(cause, watermark)
            reached = at if is_event and stepwise else watermark
            assert self.computation.on_timer is not None, "it sets timers"
            transition = self.computation.on_timer(self.state, timer, Clocks(now, reached))
            self.move(transition, min(at, _LAST))

    def end(self, now: datetime, horizon: datetime) -> None:
        """Fires each timer once that is set when the input ends, and forgets what these firings set."""
        last = sorted(
            (not isinstance(timer, EventTimer), timer.at, tag) for tag, (timer, _) in self.timers.items()
        )
        pending, self.timers = self.timers, {}
        for is_of_clock, at, tag in last:
            if tag not in pending:
                continue
            timer, cause = pending.pop(tag)
            assert self.computation.on_timer is not None, "it sets timers"
            transition = self.computation.on_timer(self.state, timer, Clocks(now, END, input_ended=True))
            self.move(transition, min(max(cause, horizon) if is_of_clock else at, _LAST))
            for gone in (*transition.clear, *self.timers):
                pending.pop(gone, None)
            if self.state is None:
                pending = {}
        self.timers = {}

    def move(self, transition: Transition[object, int], cause: datetime) -> None:
        """Applies a transition."""
        self.emitted += [(cause, value) for value in transition.emit]
        self.emitted += transition.emit_at
        self.state = transition.state
        for tag in transition.clear:
            self.timers.pop(tag, None)
        self.timers.update({timer.tag: (timer, cause) for timer in transition.set})
        if self.state is None:
            self.timers = {}


def plain_loop(
    computation: AnyComputation, timeline: Timeline[Reading], *, in_order: bool = False, drops: bool = False
) -> Iterator[Emitted]:
    """Yields the outputs of a computation, key by key; in order or with ``drops`` it drops late elements."""
    for key in sorted({reading.key for reading in timeline.elements}):
        loop = KeyLoop(key, computation)
        before, waiting, horizon = MIN_TIME, list[Reading](), MIN_TIME.datetime
        for instant in timeline:
            horizon = max([horizon, *(reading.at + timedelta.resolution for reading in instant.elements)])
            now, watermark = instant.processing_time.datetime, instant.watermark.datetime
            arrived = [reading for reading in instant.elements if reading.key == key]
            if in_order or drops:
                arrived = [reading for reading in arrived if reading.at >= before.datetime]
            waiting = sorted([*waiting, *arrived], key=lambda reading: (reading.at, reading.value))
            for reading in list(waiting):
                if not in_order:
                    loop.observe(reading, now, before.datetime)
                elif reading.at < watermark:
                    loop.fire(MIN_TIME.datetime, reading.at, stepwise=True)
                    loop.observe(reading, now, reading.at)
            waiting = [reading for reading in waiting if in_order and reading.at >= watermark]
            if watermark < END:
                loop.fire(now, watermark, stepwise=in_order)
            else:
                reached = max(horizon, before.datetime) if before < MAX_TIME else horizon
                loop.fire(now, reached, stepwise=in_order)
                loop.end(now, reached)
            for at, value in loop.emitted:
                yield instant.processing_time, _micros(at), key, value
            loop.emitted.clear()
            before = instant.watermark


def _micros(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=at.tzinfo)) // timedelta(microseconds=1)
