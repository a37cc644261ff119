"""Runs a watermark policy over a complete history: the clock after each instant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from flowalg.data.time import EventTime, ProcessingTime
from flowalg.watermarks.clock import SourceClock
from flowalg.watermarks.policy import WatermarkPolicy
from flowalg.watermarks.summaries import Observation, Publication


@frozen
class SourceInstant:
    """The records that a source emits in one instant, and the watermarks that it publishes besides."""

    processing_time: ProcessingTime
    observations: tuple[Observation, ...] = ()
    publications: tuple[Publication, ...] = ()

    @property
    def publishes(self) -> bool:
        """Whether the source publishes a watermark in it."""
        return bool(self.publications) or any(
            observation.published is not None for observation in self.observations
        )


def replay_policy(policy: WatermarkPolicy, instants: Sequence[SourceInstant]) -> Iterator[SourceClock]:
    """Yields the clock after each instant.

    Unless the source publishes watermarks, its own knowledge is exact: after each instant it is the least event time of
    the later instants, and unknown after the last record.
    """
    clock = policy.start()
    publishes = any(instant.publishes for instant in instants)
    for instant, least in zip(instants, least_event_times_after(instants), strict=True):
        watermark = None if publishes else least
        summary = policy.summarize(
            instant.observations, publications=instant.publications, source_watermark=watermark
        )
        clock = policy.advance(clock, summary, instant.processing_time)
        yield clock


def least_event_times_after(instants: Sequence[SourceInstant]) -> list[EventTime | None]:
    """For each instant the least event time of the later ones."""
    least: EventTime | None = None
    backwards = []
    for instant in reversed(instants):
        backwards.append(least)
        events = [observation.event_time for observation in instant.observations]
        least = min(events if least is None else [*events, least], default=None)
    return backwards[::-1]
