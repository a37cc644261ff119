"""What the clocks read in an instant, before a stage and after its holds (SEMANTICS sections 4 and 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import field, frozen

from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime


@frozen
class Clocks:
    """What both clocks read after the elements of an instant have been observed, and the signals of the instant."""

    processing_time: ProcessingTime
    watermark: EventTime
    percentiles: Mapping[float, EventTime] = field(factory=dict)
    signals: frozenset[str] = frozenset()

    def percentile(self, q: float | None) -> EventTime:
        """The q-percentile watermark: never behind the watermark, and equal to it where the percentile is unknown."""
        known = self.watermark if q is None else self.percentiles.get(q, self.watermark)
        return max(known, self.watermark)

    def with_hold(self, hold: EventTime, before: Clocks) -> Clocks:
        """The output clocks of a node that holds elements: none is beyond ``hold``, none moves back from ``before``.

        Percentile watermarks may lead the watermark here too: each waits for the held elements, not for the watermark.

        Law: with several shards ``hold`` is the least of their holds. To hold the clocks of each shard apart and to
        take the least of the results afterwards could let the watermark run ahead.
        """
        watermark = max(before.watermark, min(self.watermark, hold))
        percentiles = {
            q: max(before.percentiles.get(q, MIN_TIME), min(point, hold))
            for q, point in self.percentiles.items()
        }
        return Clocks(self.processing_time, watermark, percentiles, self.signals)


def minimum(clocks: Sequence[Clocks]) -> Clocks:
    """The clocks of a union: each the least of those of its parts (SEMANTICS section 9)."""
    first = clocks[0]
    named = {q for each in clocks for q in each.percentiles}
    return Clocks(
        first.processing_time,
        min(each.watermark for each in clocks),
        {q: min(each.percentile(q) for each in clocks) for q in sorted(named)},
        first.signals,
    )


BEGINNING: Final = Clocks(ProcessingTime(MIN_TIME), MIN_TIME)
"""What the clocks read before the first instant."""

__all__ = ["BEGINNING", "Clocks", "minimum"]
