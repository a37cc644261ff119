"""What the clocks read in an instant, before a stage and after its holds (SEMANTICS sections 4 and 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import asdict, evolve, field, fields_dict, frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.runs.signals import AnySignal


@frozen
class Clocks:
    """What both clocks read after the elements of an instant have been observed, and the signals of the instant.

    ``idle`` says that all sources upstream are idle: a union then does not wait for this collection. ``horizon`` is the
    instant after the greatest event time of all elements of the sources upstream, so far (SEMANTICS section 17).
    """

    processing_time: ProcessingTime
    watermark: EventTime
    percentiles: Mapping[float, EventTime] = field(factory=dict)
    signals: frozenset[AnySignal] = frozenset()
    idle: bool = False
    horizon: EventTime = MIN_TIME

    def __getstate__(self) -> dict[str, object]:
        return asdict(self, recurse=False)

    def __setstate__(self, state: Mapping[str, object]) -> None:
        # Checkpoints of before have no horizon.
        for name in fields_dict(Clocks):
            object.__setattr__(self, name, state.get(name, MIN_TIME))

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
        return evolve(self, watermark=watermark, percentiles=percentiles)


def minimum(clocks: Sequence[Clocks], before: Clocks) -> Clocks:
    """The clocks of a union after an instant, given those before it (SEMANTICS section 9).

    Each watermark is the least of those of the parts that are neither idle nor at the end of their input. If there is
    none, it is that of the most advanced idle part; and ``MAX_TIME`` if all have ended. None moves back from
    ``before``.
    """
    first = clocks[0]
    running = [each for each in clocks if each.watermark < MAX_TIME]
    active = [each for each in running if not each.idle]
    choose, parts = (min, active) if active else (max, running or clocks)
    percentiles = {q for each in clocks for q in each.percentiles}
    return Clocks(
        first.processing_time,
        max(before.watermark, choose(each.watermark for each in parts)),
        {
            q: max(before.percentiles.get(q, MIN_TIME), choose(each.percentile(q) for each in parts))
            for q in sorted(percentiles)
        },
        frozenset[AnySignal]().union(*(each.signals for each in clocks)),
        bool(running) and not active,
        max(before.horizon, *(each.horizon for each in clocks)),
    )


BEGINNING: Final = Clocks(ProcessingTime(MIN_TIME), MIN_TIME)
"""What the clocks read before the first instant."""

__all__ = ["BEGINNING", "Clocks", "minimum"]
