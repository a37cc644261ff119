"""Replay: the clocks of a streaming run as timelines, on which the reference interpreter repeats the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeVar

from attrs import evolve, frozen

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MIN_TIME, EventTime, ProcessingTime
from flowalg.pipeline.source import Source
from flowalg.runs.signals import AnySignal
from flowalg.runs.timeline import Instant, Timeline

A = TypeVar("A")


@frozen
class SourceBatch:
    """A source in a micro-batch: the number of its elements, and its clock after the micro-batch, as in ``Instant``."""

    elements: int
    watermark: EventTime
    percentile_watermarks: Mapping[float, EventTime]
    signals: frozenset[AnySignal]
    reached: Mapping[str, EventTime]
    idle: bool = False
    awaited: frozenset[str] = frozenset()


_BEFORE: Final = SourceBatch(0, EventTime(MIN_TIME), {}, frozenset(), {})


@frozen
class ReplayBatch:
    """One micro-batch: its number, its processing time, and its sources by name."""

    number: int
    processing_time: ProcessingTime
    sources: Mapping[str, SourceBatch]


@frozen
class ReplayLog:
    """The micro-batches of a streaming run, in order: clocks and counts, but not the elements."""

    batches: tuple[ReplayBatch, ...]

    def timeline(self, source: Source[A], records: Iterable[A]) -> Timeline[A]:
        """Returns the timeline of a source in the run: an instant for each micro-batch.

        ``records`` are the elements of the source in the order of their micro-batches; those that the run has not
        received yet are ignored. Ingress times are those of the micro-batches. Raises ``ArgumentError`` for a source
        that is not in the log, and for fewer records than the run received.
        """
        names = sorted({name for batch in self.batches for name in batch.sources})
        if not isinstance(source, Source) or source.name not in names:
            raise ArgumentError("source", source, f"one of the sources of the run: {', '.join(names)}")
        return Timeline(tuple(self._instants(source.name, iter(records))))

    def _instants(self, name: str, records: Iterator[A]) -> Iterator[Instant[A]]:
        state = _BEFORE
        count = 0
        for batch in self.batches:
            state = batch.sources.get(name) or evolve(state, elements=0, signals=frozenset())
            elements = tuple(islice(records, state.elements))
            count += len(elements)
            if len(elements) < state.elements:
                received = sum(
                    batch.sources[name].elements for batch in self.batches if name in batch.sources
                )
                raise ArgumentError(
                    "records", count, f"all {received} elements that {name!r} had in the run, in their order"
                )
            yield Instant(
                batch.processing_time,
                elements,
                state.watermark,
                state.percentile_watermarks,
                state.signals,
                state.reached,
                batch.processing_time if state.idle else None,
                state.awaited,
            )
