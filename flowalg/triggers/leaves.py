"""The leaves that depend on the clocks, on the number of changes and on signals, and the bounds of the lattice."""

from __future__ import annotations

from datetime import timedelta

from flowalg.data.durations import duration_in_words, length_in_words
from flowalg.data.time import EventTime, Micros, ProcessingTime, duration_of
from flowalg.triggers.leaf import ClockReadings, Leaf, Seen


class WatermarkLeaf(Leaf[None]):
    """The watermark has passed the end of the window."""

    __slots__ = ()
    percentile: float | None

    def is_ready(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> bool:
        """Whether the watermark is at the end of the window or beyond."""
        return clocks.percentile(self.percentile) >= end

    @property
    def is_restless(self) -> bool:
        """A percentile watermark passes the end of a window at no known time."""
        return self.percentile is not None

    @property
    def _watermark(self) -> str:
        return "the watermark" if self.percentile is None else f"the {self.percentile:.4g} watermark"

    @property
    def condition(self) -> str:
        """``the watermark passes``."""
        return f"{self._watermark} passes"

    def whenever(self, late: str) -> str:
        """Each batch of late elements makes it ready again at once."""
        return "with every batch of late elements" if late else f"whenever {self.condition}"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        """Returns the end of the window and the watermark."""
        reads = clocks.percentile(self.percentile)
        return f"{self._watermark} passes the end of the window, {end}: it is at {reads}"


class CountLeaf(Leaf[None]):
    """Some changes have been observed."""

    __slots__ = ()
    count: int

    def is_ready(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> bool:
        """Whether enough changes have been observed."""
        return seen.count >= self.count

    def implies(self, other: object) -> bool:
        """A larger count implies a smaller one."""
        return isinstance(other, CountLeaf) and self.count >= other.count

    @property
    def condition(self) -> str:
        """``3 elements have arrived``."""
        return "an element has arrived" if self.count == 1 else f"{self.count} elements have arrived"

    def whenever(self, late: str) -> str:
        """``at every 3 elements``."""
        return f"at every {late}element" if self.count == 1 else f"at every {self.count} {late}elements"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        """Returns how many of the changes have been observed."""
        return f"elements: {seen.count} of {self.count}"


class PeriodLeaf(Leaf[None]):
    """A multiple of a period has come."""

    __slots__ = ()
    period: timedelta
    offset: timedelta

    @property
    def longest_wait(self) -> Micros:
        """The period."""
        return duration_of("AtPeriod.period", self.period, allow_zero=False)

    def deadline(self, seen: Seen[None]) -> ProcessingTime | None:
        """Returns the first multiple at or after the first arrival."""
        if seen.first is None:
            return None
        offset = duration_of("AtPeriod.offset", self.offset, allow_zero=True)
        return ProcessingTime(seen.first + (offset - seen.first) % self.longest_wait)

    def implies(self, other: object) -> bool:
        """A multiple of a period implies the period, without offsets."""
        if not isinstance(other, PeriodLeaf) or self.offset or other.offset:
            return self == other
        return not self.period % other.period

    @property
    def condition(self) -> str:
        """``the next minute begins``."""
        return f"the next {duration_in_words(self.period)} begins"

    def whenever(self, late: str) -> str:
        """``every minute``."""
        offset = f" from {duration_in_words(self.offset)} on" if self.offset else ""
        return f"every {duration_in_words(self.period)}{offset}"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        """Returns the deadline and the time."""
        return _due("first", seen.first, self.deadline(seen), clocks)


class DelayLeaf(Leaf[None]):
    """Some time has passed since the first change."""

    __slots__ = ()
    delay: timedelta

    @property
    def delay_micros(self) -> Micros:
        """The delay in microseconds."""
        return duration_of("AfterDelay.delay", self.delay, allow_zero=True)

    @property
    def longest_wait(self) -> Micros:
        """The delay."""
        return self.delay_micros

    def deadline(self, seen: Seen[None]) -> ProcessingTime | None:
        """Returns the first arrival plus the delay."""
        return None if seen.first is None else ProcessingTime(seen.first + self.delay_micros)

    def implies(self, other: object) -> bool:
        """A longer delay implies a shorter one."""
        return isinstance(other, DelayLeaf) and self.delay >= other.delay

    @property
    def condition(self) -> str:
        """``a minute has passed since the first element``."""
        if not self.delay:
            return "no time has passed since the first element"
        amount = length_in_words(self.delay)
        return f"{amount} {'have' if amount[0].isdigit() else 'has'} passed since the first element"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        """Returns the deadline and the time."""
        return _due("first", seen.first, self.deadline(seen), clocks)


class InactivityLeaf(Leaf[None]):
    """Some time has passed since the last change."""

    __slots__ = ()
    gap: timedelta

    @property
    def gap_micros(self) -> Micros:
        """The gap in microseconds."""
        return duration_of("AfterInactivity.gap", self.gap, allow_zero=False)

    @property
    def longest_wait(self) -> Micros:
        """The gap."""
        return self.gap_micros

    def deadline(self, seen: Seen[None]) -> ProcessingTime | None:
        """Returns the last arrival plus the gap."""
        return None if seen.last is None else ProcessingTime(seen.last + self.gap_micros)

    def implies(self, other: object) -> bool:
        """A longer gap implies a shorter one."""
        return isinstance(other, InactivityLeaf) and self.gap >= other.gap

    @property
    def condition(self) -> str:
        """``no element has arrived for a minute``."""
        return f"no element has arrived for {length_in_words(self.gap)}"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        """Returns the deadline and the time."""
        return _due("last", seen.last, self.deadline(seen), clocks)


class SignalLeaf(Leaf[None]):
    """A signal has been received."""

    __slots__ = ()
    name: str

    def is_ready(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> bool:
        """Whether the signal has been received."""
        return self.name in seen.signals

    @property
    def condition(self) -> str:
        """``the signal 'flush' arrives``."""
        return f"the signal {self.name!r} arrives"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        """Returns whether the signal has been received."""
        return f"the signal {self.name!r}: {'given' if self.name in seen.signals else 'not given'}"


class NeverLeaf(Leaf[None]):
    """Never."""

    __slots__ = ()

    def is_ready(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> bool:
        """Never."""
        return False

    @property
    def condition(self) -> str:
        """``never``."""
        return "never"

    @property
    def when(self) -> str:
        """``never``."""
        return "never"

    def whenever(self, late: str) -> str:
        """``never``."""
        return "never"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        """Returns that there is none."""
        return "never"


class AlwaysLeaf(Leaf[None]):
    """Always."""

    __slots__ = ()

    def is_ready(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> bool:
        """Always."""
        return True

    @property
    def condition(self) -> str:
        """``at once``."""
        return "at once"

    @property
    def when(self) -> str:
        """``at once``."""
        return "at once"

    def whenever(self, late: str) -> str:
        """``at every evaluation``."""
        return "at every evaluation with late elements" if late else "at every evaluation"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        """Returns that there is nothing to wait for."""
        return "always"


def _due(
    which: str, arrival: ProcessingTime | None, deadline: ProcessingTime | None, clocks: ClockReadings
) -> str:
    """Returns the progress of a leaf that waits for a time after the first or the last arrival."""
    if arrival is None:
        return f"the time since the {which} element: none has arrived"
    now = clocks.processing_time
    return f"due at {deadline} (the {which} element arrived at {arrival}): it is {now}"
