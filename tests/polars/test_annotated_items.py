"""The items of a ``flat_map`` whose function is annotated with an iterable other than a list."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

import pytest
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import ReferenceBatch

from flowalg import PCollection, Source, Sum, Timeline
from flowalg.data import INGRESS_TIME
from flowalg.data.time import EPOCH
from flowalg.errors import UnsupportedError

NUMBERS = Source("numbers", int, event_time=INGRESS_TIME)


def iterator(n: int) -> Iterator[int]:
    """Yields the numbers below another."""
    yield from range(n)


def generator(n: int) -> Generator[tuple[int, str], None, None]:
    """Yields pairs."""
    yield n, str(n)


def iterable(n: int) -> Iterable[str]:
    """Returns a mapping, whose items are its keys."""
    return {str(n): n}


def sequence(n: int) -> Sequence[int]:
    """Returns a range."""
    return range(n)


def tuple_of_any_length(n: int) -> tuple[int, ...]:
    """Returns a tuple."""
    return tuple(range(n))


def set_of_one(n: int) -> set[int]:
    """Returns a set."""
    return {n}


@pytest.mark.parametrize("f", [iterator, generator, iterable, sequence, tuple_of_any_length, set_of_one])
def test_the_items_have_the_annotated_type(f: Callable[[int], Iterable[object]]) -> None:
    """A generator needs no ``result`` on the local engine, in a batch and in a stream."""
    pipeline = NUMBERS.flat_map(f)
    timelines = {NUMBERS: Timeline.batch([3, 0, 2], time=EPOCH)}
    expected = [element.element for element in ReferenceBatch().run(pipeline, timelines).elements]
    for engine in (PolarsBatch(), PolarsStreaming()):
        assert [element.element for element in engine.run(pipeline, timelines).elements] == expected


def untyped(n: int) -> Iterator[object]:
    """Yields a number."""
    yield n


def test_items_of_no_element_type_need_a_result() -> None:
    """An annotation without an element type says nothing."""
    timelines = {NUMBERS: Timeline.batch([3], time=EPOCH)}
    with pytest.raises(UnsupportedError, match="needs the type of its result"):
        PolarsBatch().run(NUMBERS.flat_map(untyped), timelines)


NAMESPACE: dict[str, Callable[[int], int]] = {}
exec("def half(n): return n // 2", NAMESPACE)


@pytest.mark.parametrize(
    ("pipeline", "reason"),
    [
        (NUMBERS.map(NAMESPACE["half"]), "source that is not available"),
        (
            NUMBERS.combine_globally(Sum.of(NAMESPACE["half"])),
            "source that is not available, at half at <string>:1",
        ),
        (NUMBERS.map(lambda n: divmod(n, 2)[0]), "a call of divmod"),
    ],
    ids=["without source", "argument without source", "not lifted"],
)
def test_an_unknown_result_says_why(pipeline: PCollection[object], reason: str) -> None:
    """The error of a function whose result has no known type has the reason why the function is not lifted."""
    timelines = {NUMBERS: Timeline.batch([3], time=EPOCH)}
    for engine in (PolarsBatch(), PolarsStreaming()):
        with pytest.raises(UnsupportedError) as raised:
            engine.run(pipeline, timelines)
        assert str(raised.value).endswith(f"since the function runs in Python: {reason}")
