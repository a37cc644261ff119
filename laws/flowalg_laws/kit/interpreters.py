"""What the laws of runs ask of an interpreter: to run a pipeline over timelines and say what came of it."""

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
    """Anything that runs a pipeline as the semantics say, over one timeline for each source."""

    def __call__(
        self, pipeline: PCollection[A], inputs: Mapping[Source[object], Timeline[object]], /
    ) -> ReferenceRun[A]:
        """All panes in order, all drops, and the watermarks."""
        ...


def continuous(
    pipeline: PCollection[A], inputs: Mapping[Source[object], Timeline[object]], /
) -> ReferenceRun[A]:
    """The reference interpreter, woken at every deadline."""
    return flowalg_reference.run(pipeline, inputs, mode=Mode.CONTINUOUS)


def micro_batch(
    pipeline: PCollection[A], inputs: Mapping[Source[object], Timeline[object]], /
) -> ReferenceRun[A]:
    """The reference interpreter, woken by instants only."""
    return flowalg_reference.run(pipeline, inputs, mode=Mode.MICRO_BATCH)


def put_into(collection: PCollection[B], strategy: WindowingStrategy) -> PCollection[B]:
    """A collection in the windows of a strategy."""
    return collection.window(
        strategy.windows,
        trigger=strategy.trigger,
        accumulation=strategy.accumulation,
        allowed_lateness=strategy.allowed_lateness,
        timestamp_combiner=strategy.timestamp_combiner,
        on_time_behavior=strategy.on_time_behavior,
    )


def refined(timeline: Timeline[Reading], run: ReferenceRun[A]) -> Timeline[Reading]:
    """A timeline with an empty instant more wherever a run over it was woken between its instants."""
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
    """Everything that a timeline brings, in order of arrival."""
    return tuple(_elements(timeline))


def _elements(timeline: Timeline[Reading]) -> Iterator[Reading]:
    for instant in timeline:
        yield from instant.elements


__all__ = ["Interpreter", "continuous", "elements_of", "micro_batch", "put_into", "refined"]
