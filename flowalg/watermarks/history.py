"""A policy over a history that is known as a whole: what the clock reads after each instant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.policy import WatermarkPolicy
from flowalg.watermarks.summaries import Observation


@frozen
class Moment:
    """What a source shows in one instant."""

    processing_time: ProcessingTime
    observations: tuple[Observation, ...] = ()


def clocks_of(policy: WatermarkPolicy, moments: Sequence[Moment]) -> Iterator[SourceClock]:
    """The clock after each moment.

    The source knows its records: no event is still to come before the least event time of later moments. Of what
    comes after the last record it knows nothing.
    """
    clock = policy.start()
    for moment, known in zip(moments, _least_to_come(moments), strict=True):
        clock = policy.advance(clock, policy.report(moment.observations, known=known), moment.processing_time)
        yield clock


def _least_to_come(moments: Sequence[Moment]) -> list[EventTime | None]:
    """For each moment the least event time after it."""
    least: EventTime | None = None
    backwards = []
    for moment in reversed(moments):
        backwards.append(least)
        events = [observation.event_time for observation in moment.observations]
        least = min(events if least is None else [*events, least], default=None)
    return backwards[::-1]


__all__ = ["Moment", "clocks_of"]
