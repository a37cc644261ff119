"""The instants of a whole pipeline: the timelines of all its sources as one sequence (SEMANTICS section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from itertools import groupby
from typing import TypeVar

from attrs import evolve, field, frozen

from flowalg.data.time import ProcessingTime
from flowalg.runs.clocks import BEGINNING, Clocks, raise_idle
from flowalg.runs.micro_batches import GeneratedBy
from flowalg.runs.signals import AnySignal
from flowalg.runs.timeline import Instant, Timeline

T = TypeVar("T")


@frozen(eq=False)
class PipelineInstant:
    """One instant of a whole pipeline.

    ``clocks`` has what the clocks read at each source, by its name; the processing time is the same at all of them, and
    the signals are those of the source. Those of idle sources follow the others. ``instants`` has the instants of those
    sources that have one now. ``idle_at`` has the time at which each source becomes idle that may, unless it has an
    instant before. ``generated_by`` has what the clocks observe of the records of each source whose records carry
    processing times. ``together`` has the sources that some node reads together with a source.
    """

    clocks: Mapping[str, Clocks]
    instants: Mapping[str, Instant[object]] = field(factory=dict)
    idle_at: Mapping[str, ProcessingTime] = field(factory=dict)
    generated_by: Mapping[str, GeneratedBy] = field(factory=dict)
    together: Mapping[str, Set[str]] = field(factory=dict)

    @property
    def processing_time(self) -> ProcessingTime:
        """When the instant is."""
        return next(iter(self.clocks.values())).processing_time

    @property
    def signals(self) -> frozenset[AnySignal]:
        """The signals given in the instant, at any source."""
        return frozenset[AnySignal]().union(
            *(source_clocks.signals for source_clocks in self.clocks.values())
        )

    def records(self, source: str) -> tuple[object, ...]:
        """Returns the records of a source, by its name."""
        return self.instants[source].elements if source in self.instants else ()

    def arrival_of(self, source: str, record: object) -> ProcessingTime:
        """When a record of a source arrives: at its own processing time if it carries one, else now."""
        generated_by = self.generated_by.get(source)
        return self.processing_time if generated_by is None else generated_by.observe(record).processing_time

    def empty_at(self, time: ProcessingTime) -> PipelineInstant:
        """Returns an instant at a later processing time, without records and signals."""
        now = _at(time, self.clocks, {})
        clocks = raise_idle(now, self.clocks, _idle(self.idle_at, time), self.together)
        return PipelineInstant(clocks, idle_at=self.idle_at, together=self.together)


def pipeline_instants(
    timelines: Mapping[str, Timeline[object]], together: Mapping[str, Set[str]] | None = None
) -> Iterator[PipelineInstant]:
    """The instants of all sources as one sequence; a source without an instant keeps its watermark.

    The first instants of several sources at one processing time are one instant; so are the second ones. A source whose
    policy has ``idle_after``, and that has not started by then, is idle. ``together`` has the sources that some node
    reads together with a source; without it, one pipeline reads all of them.
    """
    if together is None:
        together = {name: timelines.keys() - {name} for name in timelines}
    numbered = [
        (time, number, name, instant)
        for name, timeline in timelines.items()
        for time, same_time in groupby(timeline, key=lambda instant: instant.processing_time)
        for number, instant in enumerate(same_time)
    ]
    numbered.sort(key=lambda row: row[:3])
    generated_by = {
        name: timeline.generated_by for name, timeline in timelines.items() if timeline.generated_by
    }
    clocks = dict.fromkeys(timelines, BEGINNING)
    raised: Mapping[str, Clocks] = clocks
    idle_at = _idle_unless_started(timelines, numbered[0][0]) if numbered else {}
    for (time, _), group in groupby(numbered, key=lambda row: row[:2]):
        instants = {name: instant for _, _, name, instant in group}
        signals = {name: instant.signals for name, instant in instants.items()}
        for name, instant in instants.items():
            clocks[name] = Clocks(time, instant.watermark, instant.percentile_watermarks)
            idle_at.pop(name, None)
            if instant.idle_at is not None:
                idle_at[name] = instant.idle_at
        now = _at(time, clocks, signals)
        raised = raise_idle(now, raised, _idle(idle_at, time), together)
        yield PipelineInstant(raised, instants, dict(idle_at), generated_by, together)


def _idle(idle_at: Mapping[str, ProcessingTime], now: ProcessingTime) -> frozenset[str]:
    """Returns the sources that are idle at a processing time."""
    return frozenset(name for name, time in idle_at.items() if time <= now)


def _idle_unless_started(
    timelines: Mapping[str, Timeline[object]], start: ProcessingTime
) -> dict[str, ProcessingTime]:
    """When each source becomes idle that has not started, given the first instant of any source."""
    policies = {
        name: timeline.generated_by.policy for name, timeline in timelines.items() if timeline.generated_by
    }
    return {
        name: ProcessingTime(start + policy.idle_micros)
        for name, policy in policies.items()
        if policy.idle_micros is not None and not policy.partitions
    }


def _at(
    time: ProcessingTime,
    clocks: Mapping[str, Clocks],
    signals: Mapping[str, frozenset[AnySignal]],
) -> dict[str, Clocks]:
    """Returns the clocks of all sources at a processing time."""
    return {
        name: evolve(source_clocks, processing_time=time, signals=signals.get(name, frozenset()))
        for name, source_clocks in clocks.items()
    }


def empty_instants(
    before: PipelineInstant, until: ProcessingTime, next_deadline: Callable[[], ProcessingTime | None]
) -> Iterator[PipelineInstant]:
    """An empty instant at each deadline before a processing time, in order; ``next_deadline`` is asked after each."""
    while (deadline := next_deadline()) is not None and deadline < until:
        yield before.empty_at(deadline)


def once_per_instant(operator: Callable[[PipelineInstant], T]) -> Callable[[PipelineInstant], T]:
    """Returns the operator, run once in each instant however many others read its output."""
    last: list[tuple[PipelineInstant, T]] = []

    def remembering(now: PipelineInstant) -> T:
        if not last or last[0][0] is not now:
            last[:] = [(now, operator(now))]
        return last[0][1]

    return remembering
