"""Computations: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_type

from attrs import frozen

from flowalg import KV, Computation, PCollection
from flowalg.computations import (
    Clocks,
    EventTimer,
    Late,
    Observed,
    ProcessingTimer,
    Processor,
    Timer,
    Transition,
    WaitingElement,
)
from flowalg.transforms import FromInput, Inputs, process_inputs
from flowalg.transforms.inputs import NoInputs
from tests.packaging.typing.records import Flight

MINUTE = timedelta(minutes=1)


@frozen
class Model:
    """A state."""

    flights: int
    seats: int


def lambdas(flights: PCollection[KV[str, Flight]]) -> None:
    """Lambdas need no annotations: their types are those of the collection and of the state."""
    assert_type(
        flights.process(
            Computation(
                initial=Model(0, 0),
                on_element=lambda model, seen, clocks: Transition(
                    Model(model.flights + 1, model.seats + seen.value.seats),
                    emit=[model.seats],
                    set=[EventTimer("silence", seen.event_time + MINUTE)],
                ),
            )
        ),
        PCollection[KV[str, int]],
    )
    assert_type(
        flights.process(
            Computation(
                initial=Model(0, 0),
                on_element=lambda model, seen, clocks: Transition(
                    model, set=[ProcessingTimer("silence", clocks.processing_time + MINUTE)], clear=["old"]
                ),
                on_timer=lambda model, timer, clocks: Transition(
                    None, emit=[f"{timer.tag}: {model.flights} by {clocks.watermark}"]
                ),
            ),
            late=Late.DROP,
        ),
        PCollection[KV[str, str]],
    )
    assert_type(
        flights.process(
            Computation(
                initial=0,
                on_element=lambda number, seen, clocks: Transition(
                    number + len(seen.key),
                    emit_at=[(seen.event_time, seen.value.delay)],
                    hold=seen.event_time,
                ),
                on_retraction=lambda number, seen, clocks: Transition(number - seen.value.seats),
            ),
            in_order=True,
        ),
        PCollection[KV[str, float]],
    )


def observe(total: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, float]:
    """A function of a computation."""
    return Transition(total + seen.value, emit=[total / 2])


def fire(total: int, timer: Timer, clocks: Clocks) -> Transition[int, float]:
    """A function of a computation."""
    return Transition(None)


def named_functions(values: PCollection[KV[str, int]], other: Processor[str, int, float]) -> None:
    """Annotated functions determine all types of a computation."""
    halves = Computation(
        initial=0, on_element=observe, on_timer=fire, commutative=True, name="halves", result=float
    )
    assert_type(halves, Computation[str, int, int, float])
    hidden: Processor[str, int, float] = halves
    assert_type(values.process(hidden), PCollection[KV[str, float]])
    assert_type(values.process(other), PCollection[KV[str, float]])


def limit(total: int, seen: Observed[str, str], clocks: Clocks) -> Transition[int, str]:
    """A function of another input."""
    return Transition(total, emit=[seen.value])


def of_named_inputs(values: PCollection[KV[str, int]], names: PCollection[KV[str, str]]) -> None:
    """A computation over several inputs has the key of all and the outputs of each."""
    begun = process_inputs(initial=0).on("values", values, observe)
    assert_type(begun, Inputs[str, int, float])
    assert_type(begun.on("names", names, limit), Inputs[str, int, float | str])
    assert_type(begun.process(in_order=True), PCollection[KV[str, float]])
    assert_type(begun.on("names", names, limit).process(), PCollection[KV[str, float | str]])
    by_lambda = begun.on("again", values, lambda n, seen, clocks: Transition(n, emit=[seen.value]))
    assert_type(by_lambda, Inputs[str, int, float | int])
    assert_type(process_inputs(0), NoInputs[int])
    assert_type(process_inputs(0).on("values", values, observe), Inputs[str, int, float])
    assert_type(FromInput("values", 3).value, int)


def another_input(inputs: Inputs[str, int, float], names: PCollection[KV[str, str]]) -> None:
    """Another input may have other outputs."""
    assert_type(inputs.on("names", names, limit), Inputs[str, int, float | str])


def of_the_library(values: PCollection[KV[str, int]]) -> None:
    """Deduplication and tuple windows keep the type of the elements."""
    assert_type(values.deduplicate(by=lambda pair: pair.value % 2, within=MINUTE), PCollection[KV[str, int]])
    assert_type(values.every(3), PCollection[KV[str, list[int]]])
    assert_type(values.every(3, in_order=True), PCollection[KV[str, list[int]]])


def values(at: datetime) -> None:
    """The values of a computation."""
    assert_type(WaitingElement("JFK", at), WaitingElement[str])
    assert_type(Transition(3, emit=["three"]), Transition[int, str])
