"""What the clocks read in an instant, and what they read behind something that waits (SEMANTICS sections 4 and 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import field, frozen

from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime


@frozen
class Clocks:
    """Both clocks after an instant's elements have been observed, and the signals given in it."""

    processing_time: ProcessingTime
    watermark: EventTime
    percentiles: Mapping[float, EventTime] = field(factory=dict)
    signals: frozenset[str] = frozenset()

    def percentile(self, q: float | None) -> EventTime:
        """The q-percentile watermark: never behind the watermark, and equal to it where nothing is known."""
        known = self.watermark if q is None else self.percentiles.get(q, self.watermark)
        return max(known, self.watermark)

    def held(self, until: EventTime, before: Clocks) -> Clocks:
        """The clocks behind a grouping that holds them: none is beyond ``until``, none moves back from ``before``.

        Law: with several shards, ``until`` is the least of all their holds; holding each shard's clocks and taking the
        least of the results afterwards could let the watermark run ahead.
        """
        watermark = max(before.watermark, min(self.watermark, until))
        percentiles = {
            q: max(before.percentiles.get(q, MIN_TIME), min(point, until))
            for q, point in self.percentiles.items()
        }
        return Clocks(self.processing_time, watermark, percentiles, self.signals)


def least(clocks: Sequence[Clocks]) -> Clocks:
    """The clocks behind a union: each the least of what they read at its parts (SEMANTICS section 9)."""
    first = clocks[0]
    named = {q for one in clocks for q in one.percentiles}
    return Clocks(
        first.processing_time,
        min(one.watermark for one in clocks),
        {q: min(one.percentile(q) for one in clocks) for q in sorted(named)},
        first.signals,
    )


BEGINNING: Final = Clocks(ProcessingTime(MIN_TIME), MIN_TIME)
"""What the clocks read before the first instant."""

__all__ = ["BEGINNING", "Clocks", "least"]
