"""Histories of one key, over which laws of user-defined computations are stated, and their runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from attrs import evolve, frozen
from flowalg_reference.computations import Computing
from flowalg_reference.outputs import NodeOutput

from flowalg import KV, EventTime, ProcessingTime
from flowalg.computations import Late
from flowalg.computations.computation import AnyComputation
from flowalg.pipeline.nodes import Hole, Process
from flowalg.runs.clocks import Clocks
from flowalg.runs.elements import Element


@frozen
class KeyInstant:
    """An instant of a key: its elements and those ``retracted``, with their event times, and both clocks after them."""

    processing_time: ProcessingTime
    elements: tuple[tuple[object, EventTime], ...]
    watermark: EventTime
    retracted: tuple[tuple[object, EventTime], ...] = ()


KeyHistory: TypeAlias = tuple[KeyInstant, ...]
"""The instants of a key, in order of processing time."""

Outputs: TypeAlias = tuple[tuple[tuple[EventTime, object], ...], ...]
"""The outputs of each instant, with their event times."""

KEY = "key"
"""The key of all histories."""


def with_retractions(history: KeyHistory) -> KeyHistory:
    """Returns a history in which all elements of an instant are retracted in the next one."""
    before = ((), *(instant.elements for instant in history))
    return tuple(
        evolve(instant, retracted=elements) for instant, elements in zip(history, before, strict=False)
    )


@frozen
class HistoryRun:
    """The run of a computation: the outputs of each instant, the state in the end, and the number of drops."""

    outputs: Outputs
    state: object
    drops: int


def run_history(
    computation: AnyComputation, history: Iterable[KeyInstant], *, in_order: bool = False
) -> HistoryRun:
    """Runs a computation over the instants of a key; raises what its functions raise."""
    late = Late.DROP if in_order else Late.OBSERVE
    computing = Computing.of(Process(Hole(None), computation, in_order, late))
    outputs = []
    for instant in history:
        weighted = ((instant.retracted, -1), (instant.elements, 1))
        elements = tuple(
            Element(KV(KEY, value), point, weight=weight)
            for of_weight, weight in weighted
            for value, point in of_weight
        )
        clocks = Clocks(instant.processing_time, instant.watermark)
        emitted = computing.advance(NodeOutput(elements, {0: clocks})).elements
        outputs.append(tuple((element.event_time, element.value) for element in emitted))
    return HistoryRun(tuple(outputs), computing.keys.get(KEY), len(computing.drops))
