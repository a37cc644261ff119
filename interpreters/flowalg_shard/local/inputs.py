"""The inputs of a local run as instants. The clocks of micro-batches are computed from reports in band."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from attrs import evolve, field, frozen

from flowalg.data.errors import ElementError
from flowalg.data.shapes import Shape
from flowalg.data.time import MAX_TIME, EventTime, event_time
from flowalg.data.values import conform
from flowalg.pipeline.nodes import SourceNode
from flowalg.pipeline.source import Source
from flowalg.runs.micro_batches import RecordTimes, in_batches
from flowalg.runs.timeline import Instant, Timeline
from flowalg.watermarks import ClockSummary, SourceClock, WatermarkPolicy
from flowalg_shard.clocks.clocks import BEGINNING, Clocks
from flowalg_shard.local.elements import Element, NodeOutput, PipelineInstant


@frozen
class MicroBatches:
    """The micro-batches of a source; a policy derives the watermark from their records during the run.

    ``signals`` are those given with each micro-batch, by its number. With ``ends`` the input ends after the last one.
    """

    batches: Sequence[Sequence[object]]
    processing_time: Callable[[object], datetime]
    watermark: WatermarkPolicy
    partition: Callable[[object], str] | None = None
    signals: Mapping[int, frozenset[str]] = field(factory=dict)
    ends: bool = True

    def instants(self, source: Source[object], partitions: int) -> Iterator[Instant[object]]:
        """One instant for each micro-batch.

        The records of a batch are spread over the input partitions. Each partition reports what it observes, and the
        merged reports advance the clock.
        """
        policy = self.watermark
        batches = list(in_batches(RecordTimes(source, self.processing_time, self.partition), self.batches))
        least_to_come = _least_to_come(
            [[one.event_time for one in each.instant.observations] for each in batches]
        )
        clock = policy.start()
        for number, (batch, known) in enumerate(zip(batches, least_to_come, strict=True)):
            seen = batch.instant.observations
            parts = [
                policy.summarize(seen[part::partitions], source_watermark=known) for part in range(partitions)
            ]
            clock = policy.advance(clock, _merge(parts), batch.instant.processing_time)
            yield self._instant(clock, batch.records, number)
        if self.ends and batches:
            parts = [ClockSummary(ended=part == 0) for part in range(partitions)]
            clock = policy.advance(clock, _merge(parts), clock.processing_time)
            yield self._instant(clock, (), len(batches))

    def _instant(self, clock: SourceClock, records: tuple[object, ...], number: int) -> Instant[object]:
        signals = self.signals.get(number, frozenset())
        return Instant(clock.processing_time, records, clock.watermark, clock.percentiles, signals)


def _merge(reports: Sequence[ClockSummary]) -> ClockSummary:
    whole = ClockSummary()
    for report in reports:
        whole = whole.merge(report)
    return whole


def _least_to_come(batches: Sequence[Sequence[EventTime]]) -> list[EventTime | None]:
    """For each batch the least event time after it, which a recorded source knows."""
    found: list[EventTime | None] = []
    least: EventTime | None = None
    for points in reversed(batches):
        found.append(least)
        least = min(points if least is None else [*points, least], default=None)
    return found[::-1]


def instants_of(
    inputs: Mapping[str, Timeline[object] | MicroBatches],
    sources: Mapping[str, Source[object]],
    partitions: int,
) -> Iterator[PipelineInstant]:
    """The instants of all sources as one sequence; a source without one keeps its watermark (SEMANTICS section 4).

    The first instants of several sources at one processing time are one instant; so are the second ones.
    """
    numbered = [
        (time, number, name, instant)
        for name, given in inputs.items()
        for time, stage_report_of in groupby(
            _instants(given, sources[name], partitions), key=lambda one: one.processing_time
        )
        for number, instant in enumerate(stage_report_of)
    ]
    numbered.sort(key=lambda one: one[:3])
    reads = dict.fromkeys(inputs, BEGINNING)
    for (time, _), group in groupby(numbered, key=lambda one: one[:2]):
        elements: dict[str, tuple[Element, ...]] = dict.fromkeys(inputs, ())
        signals: frozenset[str] = frozenset()
        for _, _, name, instant in group:
            reads[name] = Clocks(time, instant.watermark, instant.percentile_watermarks)
            elements[name] = entering(sources[name], instant)
            signals |= instant.signals
        clocks = {name: evolve(one, processing_time=time, signals=signals) for name, one in reads.items()}
        yield PipelineInstant(
            time, {name: NodeOutput.of_source(elements[name], clocks[name]) for name in inputs}
        )


def _instants(
    given: Timeline[object] | MicroBatches, source: Source[object], partitions: int
) -> Iterator[Instant[object]]:
    if isinstance(given, MicroBatches):
        yield from given.instants(source, partitions)
    else:
        yield from given


def entering(source: Source[object], instant: Instant[object]) -> tuple[Element, ...]:
    """The elements of an instant, checked against the source's record class, in the global window."""
    where = f"an element of source {source.name!r}"
    found = []
    for raw in instant.elements:
        value = conform(raw, _shape(source), where)
        when = event_time(source.event_time_of(value), argument=f"the event time of {where}")
        if when >= MAX_TIME:
            raise ElementError(
                f"the event time of {where} is the end of time; it must be before, on {value!r}"
            )
        found.append(Element(value, when))
    return tuple(found)


def _shape(source: Source[object]) -> Shape:
    assert isinstance(source.node, SourceNode)
    return source.node.shape


__all__ = ["MicroBatches", "entering", "instants_of"]
