"""``collect``: filters and maps at once, by a function that returns a ``Maybe``, in columns where it is lifted.

These tests catch a value that is lost or invented, and a function that needlessly runs in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flowalg_reference as reference
import pytest
from flowalg_laws.kit.readings import READINGS, Reading
from flowalg_laws.strategies.timelines import free_timelines
from flowalg_polars import PolarsBatch
from hypothesis import given
from returns.maybe import Maybe, Nothing, Some

from flowalg import PCollection, Timeline, ToList
from flowalg.data.shapes import shape_of
from flowalg.errors import ArgumentError, ElementError, RecordTypeError
from flowalg.pipeline.nodes import ElementWise
from tests.support.scores import NOON


def doubled(reading: Reading) -> Maybe[int]:
    """Returns the double of a value beyond three."""
    if reading.value > 3:
        return Some(reading.value * 2)
    return Nothing


def key_of_odd(reading: Reading) -> Maybe[str]:
    """Returns the key of an odd value."""
    return Maybe.from_optional(reading.key if reading.value % 2 else None)


def number_or_text(reading: Reading) -> Maybe[int | str]:
    """Returns a value or a key, or nothing."""
    return Some(reading.value) if reading.value > 3 else Some(reading.key) if reading.value > 1 else Nothing


def swapped(reading: Reading) -> Maybe[str]:
    """Returns the key in its other case, which only Python computes, of a value that is not zero."""
    return Some(reading.key.swapcase()) if reading.value else Nothing


FUNCTIONS: list[Callable[[Reading], Maybe[object]]] = [doubled, key_of_odd, number_or_text, swapped]


@pytest.mark.parametrize("f", FUNCTIONS)
@given(timeline=free_timelines())
def test_collect_has_the_values_that_there_are(
    f: Callable[[Reading], Maybe[object]], timeline: Timeline[Reading]
) -> None:
    """In the reference and on the local engine, the values are those of each ``Some``."""
    collected = READINGS.collect(f).combine_globally(ToList())
    by_hand = READINGS.flat_map(lambda reading: [f(reading).unwrap()] if f(reading) is not Nothing else [])
    whole = reference.run_batch(
        by_hand.combine_globally(ToList()),
        {READINGS: [record for now in timeline for record in now.elements]},
    )
    run = PolarsBatch().run(collected, {READINGS: timeline})
    assert run.final_values(by=lambda values: None) == whole.final_values(by=lambda values: None)


@pytest.mark.parametrize(("f", "kind"), [(doubled, int), (key_of_odd, str), (number_or_text, int | str)])
def test_a_function_of_columns_is_lifted(f: Callable[[Reading], Maybe[object]], kind: object) -> None:
    """``Some``, ``Nothing`` and ``Maybe.from_optional`` are columns; the type follows from the function."""
    collected = READINGS.collect(f)
    assert collected.shape == shape_of(kind)
    assert isinstance(collected.node, ElementWise)
    assert [analysis.opaque for analysis in collected.node.analyses] == [None, None, None]


def test_a_function_in_python_has_its_annotated_type() -> None:
    """A lambda that is not lifted has the type that is declared for it."""
    assert READINGS.collect(swapped).shape == shape_of(str)
    in_python: PCollection[str] = READINGS.collect(lambda reading: Some(reading.key.swapcase()), result=str)
    assert in_python.shape == shape_of(str)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda reading: reading.value, r"the result of collect\(.*\) must be Some\(...\) or Nothing; got 1"),
        (lambda reading: Some(None), r"the result of collect\(.*\) must not be Some\(None\); return Nothing"),
    ],
)
def test_another_result_is_an_error(f: Any, message: str) -> None:  # noqa: ANN401  # of a wrong type
    """It names the function, and what would be valid."""
    record = Reading("a", 1, NOON, NOON)
    with pytest.raises(ElementError, match=message):
        reference.run_batch(READINGS.collect(f), {READINGS: [record]})


def test_what_is_not_a_function_is_an_error() -> None:
    """So is a type that elements cannot have."""
    with pytest.raises(ArgumentError, match="the function must be callable"):
        READINGS.collect(3)  # type: ignore[arg-type]
    with pytest.raises(RecordTypeError, match="not an element type"):
        READINGS.collect(doubled, result=object)
