"""The contents of a window: combined as they come, or held one by one where they may have to be taken back.

SEMANTICS section 8: a combiner that can subtract absorbs a retraction directly; one that cannot keeps the multiset of
its values and combines them anew. So does one whose result depends on the order of its values.
"""

from __future__ import annotations

from collections import Counter

from attrs import define, field, frozen

from flowalg.combiners.core import Combiner, Group
from flowalg.data.time import EventTime
from flowalg.windows.strategy import Accumulation

AnyCombiner = Combiner[object, object, object]


@frozen
class Held:
    """One value; of weight -1 if it is a retraction that has not met what it takes back."""

    value: object
    event_time: EventTime
    weight: int


@define
class Contents:
    """What a window holds. ``size`` counts its values, and retractions against it.

    With ``holds`` the values are kept one by one, in order of arrival; without, only their accumulator is.
    """

    combiner: AnyCombiner
    holds: bool
    accumulator: object
    size: int = 0
    held: list[Held] = field(factory=list)
    unmatched: int = 0
    times: Counter[EventTime] = field(factory=Counter)

    @classmethod
    def empty(cls, combiner: AnyCombiner, *, holds: bool) -> Contents:
        """No contents."""
        return cls(combiner, holds, combiner.zero())

    def absorb(self, value: object, time: EventTime, weight: int) -> None:
        """Take in one more value, or take one back."""
        self.size += weight
        self.times[time] += weight
        if self.holds:
            self._hold(Held(value, time, weight))
        elif weight > 0:
            self.accumulator = self.combiner.add(self.accumulator, value)
        else:
            assert isinstance(self.combiner, Group), "what cannot be subtracted is held one by one"
            self.accumulator = self.combiner.subtract(self.accumulator, value)

    def take(self, other: Contents) -> None:
        """Take in all that another window held."""
        self.size += other.size
        self.times.update(other.times)
        if self.holds:
            for one in other.held:
                self._hold(one)
        else:
            self.accumulator = self.combiner.merge(self.accumulator, other.accumulator)

    def _hold(self, new: Held) -> None:
        """Keep a value, unless it meets its opposite, equal to it, which goes with it.

        Of several equal values the one of the same event time goes, since that is what a retraction takes back.
        """
        if new.weight < 0 or self.unmatched:
            opposite = [one for one in self.held if one.weight == -new.weight and one.value == new.value]
            if opposite:
                met = next((one for one in opposite if one.event_time == new.event_time), opposite[0])
                self.held.remove(met)
                self.unmatched -= met.weight < 0
                return
        self.held.append(new)
        self.unmatched += new.weight < 0

    def has_value(self, mode: Accumulation) -> bool:
        """Whether there is anything to combine: not when all that came was taken back.

        What has changed since the last pane, which is what ``DISCARDING`` shows, may be less than nothing.
        """
        if self.holds:
            return any(one.weight > 0 for one in self.held)
        changes = (
            mode is Accumulation.DISCARDING and isinstance(self.combiner, Group) and self.combiner.signed
        )
        return self.size > 0 or changes

    def extract(self) -> object:
        """The combined value; values that are held are combined in order of event time, then of arrival."""
        if not self.holds:
            return self.combiner.extract(self.accumulator)
        accumulator = self.combiner.zero()
        for one in sorted(self.held, key=lambda one: one.event_time):
            if one.weight > 0:
                accumulator = self.combiner.add(accumulator, one.value)
        return self.combiner.extract(accumulator)

    def after_discarding(self) -> Contents:
        """What is left when the contents have been shown and are discarded: retractions that met nothing."""
        rest = Contents.empty(self.combiner, holds=self.holds)
        for one in self.held:
            if one.weight < 0:
                rest.absorb(one.value, one.event_time, one.weight)
        return rest

    @property
    def earliest(self) -> EventTime | None:
        """The earliest event time of what is held."""
        return min((time for time, count in self.times.items() if count > 0), default=None)

    @property
    def latest(self) -> EventTime | None:
        """The latest event time of what is held."""
        return max((time for time, count in self.times.items() if count > 0), default=None)


__all__ = ["AnyCombiner", "Contents", "Held"]
