"""Keys with floats are an error of every step that compares keys, on every engine; a mapping may have them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch

from flowalg import KV, FixedWindows, Interpreter, Timeline
from flowalg.errors import ElementError, UnsupportedError
from tests.support.keyed_steps import FLOAT_KEYS
from tests.support.scores import NOON, SCORES, Score, minute

ALL: tuple[Interpreter, ...] = (Reference(), ReferenceBatch(), PolarsStreaming(), PolarsBatch())
TIMELINE = (
    Timeline[Score]().at(minute(1), Score("a", 1, NOON), Score("b", 2, NOON), watermark=NOON).end(minute(2))
)


@pytest.mark.parametrize("step", FLOAT_KEYS)
@pytest.mark.parametrize("interpreter", ALL, ids=lambda interpreter: type(interpreter).__name__)
def test_float_keys_are_rejected_by_every_keyed_step(interpreter: Interpreter, step: str) -> None:
    """The message begins with the label of the step, and says why."""
    label = step.partition(" ")[0]
    with pytest.raises(
        (ElementError, UnsupportedError), match=rf"^{label}.* floats.* cannot be compared exactly"
    ):
        interpreter.run(FLOAT_KEYS[step], {SCORES: TIMELINE})


@pytest.mark.parametrize("interpreter", ALL, ids=lambda interpreter: type(interpreter).__name__)
def test_a_mapping_may_have_float_keys(interpreter: Interpreter) -> None:
    """``as_map`` compares no keys of groups: elements look floats up as in a dict, where NaN is not found."""
    windowed = SCORES.window(FixedWindows(timedelta(minutes=1)), allowed_lateness=timedelta(0))
    halves = windowed.map(lambda s: KV(s.points / 2.0 if s.points == 1 else float("nan"), s.points)).as_map()
    read = windowed.map_with(
        halves, lambda s, mapping: mapping.get(s.points / 2.0 if s.points == 1 else float("nan"), -1)
    )
    elements = interpreter.run(read, {SCORES: TIMELINE}).elements
    assert sorted(element.element for element in elements) == [-1, 1]
