"""Which elements are late for a computation, and which of an instant cancel out (SEMANTICS section 17).

These tests catch a step that drops an element at the watermark, or takes back an equal value of another event time.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_laws.strategies.computations import ECHO, RUNNING_TOTAL
from flowalg_polars import PolarsStreaming
from flowalg_reference import Reference

from flowalg import FOREVER, Accumulation, AtCount, FixedWindows, Interpreter, Mode, Repeat, Sum, Timeline
from flowalg.computations import Late
from tests.support.scores import POINTS, SCORES, Score, minute

ENGINES: list[Interpreter] = [Reference(Mode.MICRO_BATCH), PolarsStreaming()]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_an_element_at_the_watermark_is_not_late(engine: Interpreter) -> None:
    """With ``Late.DROP`` the element at the watermark before its instant is observed, and the one before it dropped."""
    before = minute(3) - timedelta.resolution
    timeline = (
        Timeline[Score]()
        .at(minute(1), watermark=minute(3))
        .at(minute(2), Score("a", 1, minute(3)), Score("a", 2, before), watermark=minute(3))
    )
    run = engine.run(POINTS.process(ECHO, late=Late.DROP), {SCORES: timeline})
    assert [element.value for element in run.elements] == [10]
    assert [drop.key for drop in run.dropped] == ["a"]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_an_equal_value_of_another_event_time_is_not_taken_back(engine: Interpreter) -> None:
    """The retraction of one window and the equal new value of another are both observed."""
    sums = POINTS.window(
        FixedWindows(timedelta(minutes=1)),
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=FOREVER,
    ).combine_per_key(Sum())
    timeline = (
        Timeline[Score]()
        .at(minute(1), Score("a", 5, minute(0)))
        .at(minute(2), Score("a", 2, minute(0)), Score("a", 5, minute(1)))
    )
    run = engine.run(sums.process(RUNNING_TOTAL), {SCORES: timeline})
    assert sorted(element.value for element in run.elements) == [0, 5, 7, 12]
