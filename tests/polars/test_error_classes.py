"""Errors of user-defined functions are what they are, on every engine: their class, their message, what they carry.

These tests catch an engine that makes another error of one, or a dead letter of what is no fault of a record.
"""

from __future__ import annotations

import pickle
from asyncio import CancelledError
from collections.abc import Callable

import pytest
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_polars.errors import raise_causes
from flowalg_reference import Reference
from polars.exceptions import PanicException

from flowalg import Computation, FlowalgError, PCollection, Sum, ToList, combiner
from flowalg.computations import Clocks, Observed, Transition
from flowalg.errors import ArgumentError, CheckpointError, ElementError, UnboundSourceError
from tests.support.elements import bounded
from tests.support.scores import NOON, SCORES, Score

ENGINES = pytest.mark.parametrize("engine", [Reference, PolarsStreaming, PolarsBatch])
BY_TEAM = SCORES.key_by(lambda s: s.team)
INPUT = {SCORES: bounded(Score("a", 3, NOON), Score("b", 5, NOON))}


def raising(error: BaseException) -> Callable[[Score], int]:
    """Returns a function that raises an error."""

    def points(score: Score) -> int:
        raise error

    return points


def computing(f: Callable[[Score], int]) -> Computation[str, Score, int, int]:
    """Returns a computation that calls a function."""

    def observe(state: int, seen: Observed[str, Score], clocks: Clocks) -> Transition[int, int]:
        return Transition(state, emit=[f(seen.value)])

    return Computation(initial=0, on_element=observe)


PIPELINES: dict[str, Callable[[Callable[[Score], int]], PCollection[object]]] = {
    "map": lambda f: SCORES.map(f).combine_globally(ToList()),
    "flat_map": lambda f: SCORES.flat_map(lambda s: [f(s)], result=int).combine_globally(ToList()),
    "filter": lambda f: SCORES.filter(lambda s: f(s) > 1).map(lambda s: s.team).combine_globally(ToList()),
    "key": lambda f: SCORES.key_by(f).map_values(lambda s: 1).combine_per_key(Sum()),
    "sum": lambda f: BY_TEAM.combine_per_key(Sum.of(f)),
    "combiner": lambda f: BY_TEAM.combine_per_key(
        combiner(zero=0, add=lambda a, s: a + f(s), merge=lambda a, b: a + b, result=int)
    ),
    "computation": lambda f: BY_TEAM.process(computing(f)),
}


@ENGINES
@pytest.mark.parametrize(
    "error",
    [
        ArgumentError("size", -1, "positive"),
        CheckpointError("none"),
        UnboundSourceError("none"),
        ElementError("e"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("name", sorted({*PIPELINES} - {"computation"}))
def test_an_error_of_flowalg_keeps_its_class(
    engine: Callable[[], Reference], name: str, error: FlowalgError
) -> None:
    """An error of flowalg that a function raises is raised as it is, whichever its class and its constructor."""
    with pytest.raises(type(error)) as caught:
        engine().run(PIPELINES[name](raising(error)), INPUT)
    assert type(caught.value) is type(error)
    assert str(error) in str(caught.value)
    assert "This error occurred" not in str(caught.value)
    assert getattr(caught.value, "argument", None) == getattr(error, "argument", None)


@ENGINES
@pytest.mark.parametrize("dead_letters", [False, True])
@pytest.mark.parametrize("name", PIPELINES)
def test_neither_memory_nor_an_exit_is_a_dead_letter(
    engine: Callable[..., Reference], dead_letters: bool, name: str
) -> None:
    """``MemoryError`` and ``SystemExit`` are no fault of a record: they end the run, with what they carry."""
    with pytest.raises(MemoryError, match=r"^too much$"):
        engine(dead_letters=dead_letters).run(PIPELINES[name](raising(MemoryError("too much"))), INPUT)
    with pytest.raises(SystemExit) as caught:
        engine(dead_letters=dead_letters).run(PIPELINES[name](raising(SystemExit(3))), INPUT)
    assert caught.value.code == 3


class Stop(BaseException):
    """An error of the user's own that is no ``Exception``, with a constructor of its own."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(f"{reason} ({code})")
        self.code = code


@ENGINES
@pytest.mark.parametrize("dead_letters", [False, True])
@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt("now"), GeneratorExit("now"), CancelledError("now"), Stop("now", 3)],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("name", PIPELINES)
def test_what_is_no_exception_passes_as_it_is(
    engine: Callable[..., Reference], dead_letters: bool, error: BaseException, name: str
) -> None:
    """Ctrl-C, a cancelled task and the like that a function raises are raised as they are, without additions."""
    with pytest.raises(type(error)) as caught:
        engine(dead_letters=dead_letters).run(PIPELINES[name](raising(error)), INPUT)
    assert str(caught.value) == str(error)
    assert vars(caught.value) == vars(error)


def test_a_panic_because_of_an_interrupt_is_the_interrupt() -> None:
    """Ctrl-C while Polars itself calls Python makes it panic, with the interrupt in the text."""
    text = (
        "called `Result::unwrap()` on an `Err` value: PyErr { type: <class 'KeyboardInterrupt'>, value: ..."
    )
    with pytest.raises(KeyboardInterrupt), raise_causes():
        raise PanicException(text)
    with pytest.raises(PanicException, match="out of memory"), raise_causes():
        raise PanicException("out of memory")


@pytest.mark.parametrize(
    "error", [ArgumentError("size", -1, "positive"), ElementError("e"), UnboundSourceError("none")]
)
def test_errors_can_be_pickled(error: FlowalgError) -> None:
    """An error that another process raises has its class, its message and its attributes here."""
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
