"""Errors of functions of one element fail a run of every interpreter alike, and name the transform.

These tests catch an error of Python that reaches the user as it is, and a number that only some interpreters reject.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch

from flowalg import FOREVER, KV, GlobalWindows, Interpreter, Sum, Timeline
from flowalg.data.errors import ValueRangeError
from flowalg.errors import UserFunctionError
from tests.support.scores import NOON, POINTS, SCORES, Score

ENGINES: tuple[Interpreter, ...] = (Reference(), ReferenceBatch(), PolarsStreaming(), PolarsBatch())
TIMELINE = Timeline[Score]().at(NOON, Score("a", 4, NOON), Score("a", -4, NOON)).end(NOON)


def up_to(pair: KV[str, int]) -> Iterator[KV[str, int]]:
    """Yields something, and raises then for one of the two elements: Polars may call it for both at once."""
    yield pair
    if pair.value > 0:
        raise LookupError(f"no more than {pair.value}")


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_a_generator_that_raises_is_named(engine: Interpreter) -> None:
    """The error of a ``flat_map`` whose generator raises names it, with the error of the function as its cause."""
    message = r"^flat_map\(up_to at .*: up_to at .* raised LookupError: no more than 4; its argument was KV\("
    with pytest.raises(UserFunctionError, match=message) as caught:
        engine.run(POINTS.flat_map(up_to, result=KV[str, int]), {SCORES: TIMELINE})
    assert isinstance(caught.value.__cause__, LookupError)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_the_argument_of_a_combiner_has_64_bits(engine: Interpreter) -> None:
    """The function of ``Sum.of`` must return integers of 64 bits, also if their sum has."""
    keyed = SCORES.key_by(lambda score: score.team).window(GlobalWindows(), allowed_lateness=FOREVER)
    totals = keyed.combine_per_key(Sum.of(lambda score: score.points * 2**62))
    with pytest.raises(ValueRangeError, match=r"Sum.of\(<lambda> at .*overflows 64 bits"):
        engine.run(totals, {SCORES: TIMELINE})
