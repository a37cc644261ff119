"""When event times were first reached: a bounded record of (processing time, greatest event time so far)."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from flowalg.data.time import EventTime, Micros, ProcessingTime

LEAST_STEPS: Final = 128
"""The least number of steps into which a delay of more than that many microseconds is divided."""


def step_width(delay: Micros) -> Micros:
    """Returns the width of a step of processing time: a power of ten of microseconds, so that round times are exact."""
    return int(10 ** (len(str(max(1, delay // LEAST_STEPS))) - 1))


@frozen
class ReachedTimes:
    """The event times that a partition had reached at each step of processing time, within a delay of its last record.

    A step is at most one part in 128 of the delay, and a record counts from the end of its step, so an event time is
    considered reached late by less than a step, never early. ``steps`` are pairs of a processing time and an event
    time, both increasing: only records beyond all earlier ones matter. Of the steps that lie at least the delay before
    ``latest``, the greatest processing time, only the last is kept, which bounds the record to 1,283 steps.

    Law: ``merge`` is associative, commutative and idempotent.
    """

    delay: Micros
    latest: ProcessingTime
    steps: tuple[tuple[ProcessingTime, EventTime], ...]

    @classmethod
    def of(cls, event: EventTime, arrival: ProcessingTime, delay: Micros) -> ReachedTimes:
        """Returns the record of a single element."""
        width = step_width(delay)
        return cls(delay, arrival, ((ProcessingTime(-(-arrival // width) * width), event),))

    def merge(self, other: ReachedTimes) -> ReachedTimes:
        """Returns the record of the elements of both."""
        latest = max(self.latest, other.latest)
        steps: list[tuple[ProcessingTime, EventTime]] = []
        for time, event in sorted((*self.steps, *other.steps), key=lambda step: (step[0], -step[1])):
            if steps and event <= steps[-1][1]:
                continue
            if steps and time + self.delay <= latest:
                steps.pop()
            steps.append((time, event))
        return ReachedTimes(self.delay, latest, tuple(steps))

    def by(self, now: ProcessingTime) -> EventTime | None:
        """Returns the greatest event time that was reached at least the delay before ``now``; ``None`` if none was."""
        passed = [event for time, event in self.steps if time + self.delay <= now]
        return passed[-1] if passed else None
