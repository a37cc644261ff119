"""The contents of a window: one accumulator, or the values themselves where they may have to be retracted.

SEMANTICS section 8. A combiner that can subtract absorbs a retraction into its accumulator. For any other combiner, and
for one whose result depends on the order of its values, the contents keep a bag of values and combine them again for
each pane.
"""

from __future__ import annotations

from collections import Counter

from attrs import define, field, frozen

from flowalg.combiners.core import AnyCombiner
from flowalg.combiners.subtraction import is_signed, subtract
from flowalg.data.time import EventTime
from flowalg.data.values import same
from flowalg.windows.strategy import Accumulation


@frozen
class KeptValue:
    """A value in the contents; its weight is -1 if it is a retraction."""

    value: object
    event_time: EventTime
    weight: int


@define
class Contents:
    """The contents of one window. ``size`` is the number of values less the number of retractions.

    With ``keeps_values`` the values since the last discarding pane are kept: no value beside its retraction. Without it
    they are in the accumulator. ``times`` has the multiplicity of each event time.
    """

    combiner: AnyCombiner
    keeps_values: bool
    accumulator: object
    size: int = 0
    values: list[KeptValue] = field(factory=list)
    unmatched_retractions: int = 0
    times: Counter[EventTime] = field(factory=Counter)

    @classmethod
    def empty(cls, combiner: AnyCombiner, *, keeps_values: bool) -> Contents:
        """Returns the contents of a new window."""
        return cls(combiner, keeps_values, combiner.zero())

    def absorb(self, value: object, time: EventTime, weight: int) -> None:
        """Add a value (weight 1), or retract one (weight -1)."""
        self.size += weight
        self.times[time] += weight
        if self.keeps_values:
            self._keep(KeptValue(value, time, weight))
        elif weight > 0:
            self.accumulator = self.combiner.add(self.accumulator, value)
        else:
            self.accumulator = subtract(self.combiner, self.accumulator, value)

    def merge(self, other: Contents) -> None:
        """Add the contents of another window."""
        self.size += other.size
        self.times.update(other.times)
        self.accumulator = self.combiner.merge(self.accumulator, other.accumulator)
        for kept in other.values:
            self._keep(kept)

    def _keep(self, new: KeptValue) -> None:
        """Keep a value or a retraction, unless its opposite at the same event time is kept: then both go."""
        if new.weight < 0 or self.unmatched_retractions:
            for number, kept in enumerate(self.values):
                if kept.event_time == new.event_time and _cancel(kept, new):
                    del self.values[number]
                    self.unmatched_retractions -= kept.weight < 0
                    return
        self.values.append(new)
        self.unmatched_retractions += new.weight < 0

    @property
    def _remaining(self) -> list[KeptValue]:
        """The values and retractions that remain when equal ones of any event time cancel out, the earliest first."""
        if not self.unmatched_retractions:
            return self.values
        remaining: list[KeptValue] = []
        for new in sorted(self.values, key=lambda kept: kept.event_time):
            opposite = next((number for number, kept in enumerate(remaining) if _cancel(kept, new)), None)
            if opposite is None:
                remaining.append(new)
            else:
                del remaining[opposite]
        return remaining

    @property
    def is_empty(self) -> bool:
        """Whether all values were retracted, and no retraction waits for its value."""
        return not self._remaining if self.keeps_values else self.size == 0

    def has_value(self, mode: Accumulation) -> bool:
        """Returns whether a pane can be emitted: false when every value was retracted.

        Under ``DISCARDING`` the contents are the change since the last pane, which may be negative for a signed
        combiner.
        """
        if self.keeps_values:
            return any(kept.weight > 0 for kept in self._remaining)
        return self.size > 0 or (mode is Accumulation.DISCARDING and is_signed(self.combiner))

    def extract(self) -> object:
        """Returns the combined value."""
        return self.combiner.extract(self._combined())

    def _combined(self) -> object:
        """Returns the accumulator. Kept values are added by event time, then by value."""
        timed = [(kept.event_time, kept.value) for kept in self._remaining if kept.weight > 0]
        return self.combiner.add_timed(self.accumulator, timed)

    def after_discard(self) -> Contents:
        """Returns the contents after a discarding pane: what the combiner needs for later panes.

        Retractions that have matched no value stay too.
        """
        rest = Contents(self.combiner, self.keeps_values, self.combiner.discard(self._combined()))
        for kept in self._remaining:
            if kept.weight < 0:
                rest.absorb(kept.value, kept.event_time, kept.weight)
        return rest

    @property
    def earliest(self) -> EventTime | None:
        """The earliest event time in the contents."""
        return min((time for time, count in self.times.items() if count > 0), default=None)

    @property
    def latest(self) -> EventTime | None:
        """The latest event time in the contents."""
        return max((time for time, count in self.times.items() if count > 0), default=None)


def _cancel(kept: KeptValue, new: KeptValue) -> bool:
    """Returns whether one is a value, and the other one retracts an equal value."""
    return kept.weight == -new.weight and same(kept.value, new.value)
