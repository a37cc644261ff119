"""The interpreter that laws of runs are stated over, and the two modes of the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, TypeVar

import flowalg_reference
from attrs import evolve
from flowalg_reference import ReferenceRun

from flowalg import Instant, Mode, PCollection, Source, Timeline, WindowingStrategy
from flowalg_laws.kit.readings import Reading

A = TypeVar("A")
B = TypeVar("B")


class Interpreter(Protocol):
    """Runs a pipeline over one timeline for each source, according to the semantics."""

    def __call__(
        self, pipeline: PCollection[A], inputs: Mapping[Source[object], Timeline[object]], /
    ) -> ReferenceRun[A]:
        """Returns all panes in order, all drops, and the watermarks."""
        ...


def run_continuous(
    pipeline: PCollection[A], inputs: Mapping[Source[object], Timeline[object]], /
) -> ReferenceRun[A]:
    """Runs the reference interpreter in continuous mode, in which timers fire at their deadlines."""
    return flowalg_reference.run(pipeline, inputs, mode=Mode.CONTINUOUS)


def run_micro_batches(
    pipeline: PCollection[A], inputs: Mapping[Source[object], Timeline[object]], /
) -> ReferenceRun[A]:
    """Runs the reference interpreter in micro-batch mode, in which timers fire at the next instant."""
    return flowalg_reference.run(pipeline, inputs, mode=Mode.MICRO_BATCH)


def apply_windowing(collection: PCollection[B], strategy: WindowingStrategy) -> PCollection[B]:
    """Returns the collection in the windows of a strategy."""
    return collection.window(
        strategy.windows,
        trigger=strategy.trigger,
        accumulation=strategy.accumulation,
        allowed_lateness=strategy.allowed_lateness,
        timestamp_combiner=strategy.timestamp_combiner,
        on_time_behavior=strategy.on_time_behavior,
    )


def add_timer_instants(timeline: Timeline[Reading], run: ReferenceRun[A]) -> Timeline[Reading]:
    """Returns the timeline with an empty instant at each time at which timers fired in a run over it."""
    left = list(timeline)
    instants: list[Instant[Reading]] = []
    for reading in run.watermarks:
        if left and left[0].processing_time == reading.processing_time:
            instants.append(left.pop(0))
        else:
            quiet = evolve(instants[-1], elements=(), signals=frozenset())
            instants.append(evolve(quiet, processing_time=reading.processing_time))
    return Timeline(tuple(instants))


def elements_of(timeline: Timeline[Reading]) -> tuple[Reading, ...]:
    """Returns all elements of a timeline, in order of arrival."""
    return tuple(_elements(timeline))


def _elements(timeline: Timeline[Reading]) -> Iterator[Reading]:
    for instant in timeline:
        yield from instant.elements


__all__ = [
    "Interpreter",
    "add_timer_instants",
    "apply_windowing",
    "elements_of",
    "run_continuous",
    "run_micro_batches",
]
