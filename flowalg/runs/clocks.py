"""What the clocks read in an instant, before a stage and after its holds (SEMANTICS sections 4 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final

from attrs import asdict, evolve, field, fields_dict, frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.runs.signals import AnySignal


@frozen
class Clocks:
    """What both clocks read after the elements of an instant have been observed, and the signals of the instant.

    ``horizon`` is the instant after the greatest event time of all elements of the sources upstream, so far (SEMANTICS
    section 17).
    """

    processing_time: ProcessingTime
    watermark: EventTime
    percentiles: Mapping[float, EventTime] = field(factory=dict)
    signals: frozenset[AnySignal] = frozenset()
    horizon: EventTime = MIN_TIME

    def __getstate__(self) -> dict[str, object]:
        return asdict(self, recurse=False)

    def __setstate__(self, state: Mapping[str, object]) -> None:
        # Checkpoints of before have no horizon.
        for name in fields_dict(Clocks):
            object.__setattr__(self, name, state.get(name, MIN_TIME))

    def percentile(self, q: float | None) -> EventTime:
        """Returns the q-percentile watermark: never behind the watermark, and equal to it where the percentile is
        unknown.
        """
        watermark = self.watermark if q is None else self.percentiles.get(q, self.watermark)
        return max(watermark, self.watermark)

    def with_hold(self, hold: EventTime, before: Clocks) -> Clocks:
        """Returns the output clocks of a node that holds elements: none is beyond ``hold``, none moves back from
        ``before``.

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
    """Returns the clocks of a union after an instant, given those before it (SEMANTICS section 9).

    Each watermark is the least of those of the parts. None moves back from ``before``: a source that followed others
    while it was idle may have a policy without idle sources when its query continues.
    """
    percentiles = {q for part in clocks for q in part.percentiles}
    return Clocks(
        clocks[0].processing_time,
        max(before.watermark, min(part.watermark for part in clocks)),
        {
            q: max(before.percentiles.get(q, MIN_TIME), min(part.percentile(q) for part in clocks))
            for q in sorted(percentiles)
        },
        frozenset[AnySignal]().union(*(part.signals for part in clocks)),
        max(before.horizon, *(part.horizon for part in clocks)),
    )


def raise_idle(
    clocks: Mapping[str, Clocks],
    before: Mapping[str, Clocks],
    idle: Set[str],
    together: Mapping[str, Set[str]],
) -> dict[str, Clocks]:
    """Returns the clocks of sources after an instant, by name: those of idle sources follow the others (SEMANTICS
    section 9).

    ``clocks`` are what the policies say, and ``before`` those that this function returned for the instant before.
    ``together`` has the sources that some node reads together with a source.
    """
    own = {
        name: _not_behind(source_clocks, before.get(name, source_clocks))
        for name, source_clocks in clocks.items()
    }
    running = {name for name, source_clocks in own.items() if source_clocks.watermark < MAX_TIME}
    raised = dict(own)
    for name in running & idle:
        candidates = running & {name, *together.get(name, ())}
        active = candidates - idle
        parts = [own[other] for other in sorted(active or candidates)]
        raised[name] = _following(own[name], parts, min if active else max)
    return raised


def _not_behind(clocks: Clocks, before: Clocks) -> Clocks:
    """Returns clocks whose watermarks are not behind those of before."""
    quantiles = sorted({*clocks.percentiles, *before.percentiles})
    return evolve(
        clocks,
        watermark=max(clocks.watermark, before.watermark),
        percentiles={q: max(clocks.percentile(q), before.percentile(q)) for q in quantiles},
    )


def _following(
    own: Clocks, parts: Sequence[Clocks], choose: Callable[[Iterable[EventTime]], EventTime]
) -> Clocks:
    """Returns the clocks of an idle source whose watermarks are chosen from those of others."""
    quantiles = sorted({q for part in parts for q in part.percentiles})
    followed = evolve(
        own,
        watermark=choose(part.watermark for part in parts),
        percentiles={q: choose(part.percentile(q) for part in parts) for q in quantiles},
    )
    return _not_behind(followed, own)


BEGINNING: Final = Clocks(ProcessingTime(MIN_TIME), MIN_TIME)
"""What the clocks read before the first instant."""
