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
        return f"{self._watermark} passes"

    def whenever(self, late: str) -> str:
        return "with every batch of late elements" if late else f"whenever {self.condition}"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        reads = clocks.percentile(self.percentile)
        return f"{self._watermark} passes the end of the window, {end}: it is at {reads}"


class CountLeaf(Leaf[None]):
    """Some changes have been observed."""

    __slots__ = ()
    count: int

    def is_ready(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> bool:
        return seen.count >= self.count

    def implies(self, other: object) -> bool:
        """A larger count implies a smaller one."""
        return isinstance(other, CountLeaf) and self.count >= other.count

    @property
    def condition(self) -> str:
        return "an element has arrived" if self.count == 1 else f"{self.count} elements have arrived"

    def whenever(self, late: str) -> str:
        return f"at every {late}element" if self.count == 1 else f"at every {self.count} {late}elements"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        return f"elements: {seen.count} of {self.count}"


class PeriodLeaf(Leaf[None]):
    """A multiple of a period has come."""

    __slots__ = ()
    period: timedelta
    offset: timedelta

    @property
    def longest_wait(self) -> Micros:
        return duration_of("AtPeriod.period", self.period, allow_zero=False)

    def deadline(self, seen: Seen[None]) -> ProcessingTime | None:
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
        return f"the next {duration_in_words(self.period)} begins"

    def whenever(self, late: str) -> str:
        offset = f" from {duration_in_words(self.offset)} on" if self.offset else ""
        return f"every {duration_in_words(self.period)}{offset}"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
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
        return self.delay_micros

    def deadline(self, seen: Seen[None]) -> ProcessingTime | None:
        return None if seen.first is None else ProcessingTime(seen.first + self.delay_micros)

    def implies(self, other: object) -> bool:
        """A longer delay implies a shorter one."""
        return isinstance(other, DelayLeaf) and self.delay >= other.delay

    @property
    def condition(self) -> str:
        if not self.delay:
            return "no time has passed since the first element"
        amount = length_in_words(self.delay)
        return f"{amount} {'have' if amount[0].isdigit() else 'has'} passed since the first element"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
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
        return self.gap_micros

    def deadline(self, seen: Seen[None]) -> ProcessingTime | None:
        return None if seen.last is None else ProcessingTime(seen.last + self.gap_micros)

    def implies(self, other: object) -> bool:
        """A longer gap implies a shorter one."""
        return isinstance(other, InactivityLeaf) and self.gap >= other.gap

    @property
    def condition(self) -> str:
        return f"no element has arrived for {length_in_words(self.gap)}"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        return _due("last", seen.last, self.deadline(seen), clocks)


class SignalLeaf(Leaf[None]):
    """A signal has been received."""

    __slots__ = ()
    name: str

    def is_ready(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> bool:
        return self.name in seen.signals

    @property
    def condition(self) -> str:
        return f"the signal {self.name!r} arrives"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        return f"the signal {self.name!r}: {'given' if self.name in seen.signals else 'not given'}"


class NeverLeaf(Leaf[None]):
    """Never."""

    __slots__ = ()

    def is_ready(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> bool:
        return False

    @property
    def condition(self) -> str:
        return "never"

    @property
    def when(self) -> str:
        return "never"

    def whenever(self, late: str) -> str:
        return "never"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        return "never"


class AlwaysLeaf(Leaf[None]):
    """Always."""

    __slots__ = ()

    def is_ready(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> bool:
        return True

    @property
    def condition(self) -> str:
        return "at once"

    @property
    def when(self) -> str:
        return "at once"

    def whenever(self, late: str) -> str:
        return "at every evaluation with late elements" if late else "at every evaluation"

    def progress(self, seen: Seen[None], clocks: ClockReadings, end: EventTime) -> str:
        return "always"


def _due(
    which: str, arrival: ProcessingTime | None, deadline: ProcessingTime | None, clocks: ClockReadings
) -> str:
    """Returns the progress of a leaf that waits for a time after the first or the last arrival."""
    if arrival is None:
        return f"the time since the {which} element: none has arrived"
    now = clocks.processing_time
    return f"due at {deadline} (the {which} element arrived at {arrival}): it is {now}"
