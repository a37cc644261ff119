"""Combiners that can subtract, over a function, at once and with a function of the result, where values are corrected.

These tests catch a combiner that keeps a retraction of a value that a discarding pane has shown, and so never shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TypeVar

import pytest
from flowalg_laws.kit.readings import READINGS, START, VALUES, Reading
from flowalg_polars import Cluster, PolarsStreaming
from flowalg_reference import Reference, run_batch
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    Accumulation,
    Aggregate,
    AtCount,
    Count,
    FixedWindows,
    GlobalWindows,
    Interpreter,
    Mean,
    Mode,
    PCollection,
    Repeat,
    Sessions,
    Sum,
    Timeline,
)
from flowalg.combiners import together
from flowalg.combiners.core import require_combiner
from flowalg.combiners.subtraction import can_subtract, is_signed, keeps_values
from flowalg.runs import Change
from flowalg.triggers import AtValue
from flowalg.windows import TimestampCombiner

A = TypeVar("A", float, Decimal)
MINUTE = timedelta(minutes=1)
ENGINES = (Reference(Mode.MICRO_BATCH), PolarsStreaming(), PolarsStreaming(Cluster(2, 2, restarts=True)))
CORRECTED = (
    VALUES.window(
        FixedWindows(MINUTE),
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=FOREVER,
    )
    .combine_per_key(Sum())
    .filter(lambda pair: pair.value > 0)
)
"""Positive sums of a minute, each of which retracts the one before."""


def thrice(value: int) -> int:
    """Returns three times the value."""
    return 3 * value


def tenth(value: int) -> float:
    """Returns a float that binary digits do not hold."""
    return value / 10


def half(value: int) -> float:
    """Returns a float that binary digits hold."""
    return value / 2


def quarter(value: int) -> Decimal:
    """Returns a decimal."""
    return Decimal(value) / 4


def first_of(total: A, count: int) -> A:
    """Returns the first of two results."""
    return total


def ratio(total: float, count: int) -> float:
    """Returns a quotient, which is not defined for a count of zero."""
    return total / count


def discarded(
    combiner: Aggregate[int, object], times: TimestampCombiner = TimestampCombiner.END_OF_WINDOW
) -> PCollection[object]:
    """Returns the results of a combiner over the corrected sums, as changes."""
    windowed = CORRECTED.window(
        GlobalWindows(),
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.DISCARDING,
        timestamp_combiner=times,
    )
    return windowed.combine_per_key(combiner).map(lambda pair: pair.value)


def timeline_of(batches: Sequence[Sequence[tuple[int, int]]]) -> Timeline[Reading]:
    """Returns a timeline of one key, with the values and the minutes of its instants."""
    timeline = Timeline[Reading]()
    for number, batch in enumerate(batches):
        now = START + number * MINUTE
        timeline = timeline.at(now, *(Reading("a", value, START + at * MINUTE, now) for value, at in batch))
    return timeline.end(START + len(batches) * MINUTE)


BATCHES = st.lists(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2)), min_size=1, max_size=3), min_size=1, max_size=5
)
SUMS: Sequence[Aggregate[int, tuple[int, int]]] = (
    together(Sum(), Count()),
    together(Sum.of(thrice), Count()),
    together(Count(), Sum.of(abs)),
)


@pytest.mark.parametrize("engine", ENGINES, ids=str)
@given(BATCHES, st.sampled_from(SUMS), st.sampled_from(TimestampCombiner))
def test_changes_of_sums_add_up(
    engine: Interpreter,
    batches: Sequence[Sequence[tuple[int, int]]],
    combiner: Aggregate[int, tuple[int, int]],
    times: TimestampCombiner,
) -> None:
    """The discarding panes of several sums and counts, of functions of the values, add up to those of the batch."""
    pipeline, timeline = discarded(combiner, times), timeline_of(batches)
    panes = engine.run(pipeline, {READINGS: timeline}).panes
    whole = run_batch(pipeline, {READINGS: timeline.elements}).panes
    assert added_up([pane.element for pane in panes]) == added_up([pane.element for pane in whole])


def added_up(pairs: Sequence[object]) -> tuple[int, int]:
    """Returns the sums of the first and of the second items."""
    tuples = [pair for pair in pairs if isinstance(pair, tuple)]
    assert len(tuples) == len(pairs)
    return sum(first for first, _ in tuples), sum(second for _, second in tuples)


@pytest.mark.parametrize("engine", ENGINES, ids=str)
@pytest.mark.parametrize(
    ("combiner", "expected"),
    [
        (Sum.of(half), [1.0, 2.0, -1.0]),
        (Sum.of(quarter), [Decimal("0.5"), Decimal(1), Decimal("-0.5")]),
        (together(Sum.of(half), Count(), into=first_of), [1.0, 2.0, -1.0]),
        (together(Sum.of(quarter), Count(), into=first_of), [Decimal("0.5"), Decimal(1), Decimal("-0.5")]),
    ],
)
def test_a_change_has_the_type_of_the_sum(
    engine: Interpreter, combiner: Aggregate[int, object], expected: list[object]
) -> None:
    """A value that replaces another leaves a change of the type of the values, although it counts none."""
    run = engine.run(discarded(combiner), {READINGS: timeline_of([[(2, 0)], [(4, 0)], [(-2, 0)]])})
    elements = [pane.element for pane in run.panes]
    assert (elements, list(map(type, elements))) == (expected, list(map(type, expected)))


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_sums_of_floats_of_a_function_leave_no_residue(engine: Interpreter) -> None:
    """A float that a function has returned, and that is retracted, leaves nothing in the sum."""
    windowed = CORRECTED.window(
        Sessions(5 * MINUTE),
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.ACCUMULATING,
        allowed_lateness=FOREVER,
    )
    sums = windowed.combine_per_key(Sum.of(tenth), Count())
    timeline = timeline_of([[(1, 0), (2, 1), (3, 2)], [(2, 0)], [(-3, 0), (-2, 1)], [(-2, 2)]])
    panes = engine.run(sums, {READINGS: timeline}).panes
    assert [pane.value for pane in panes][-1] == (0.1, 1)


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_a_trigger_asks_no_function_for_the_result_of_nothing(engine: Interpreter) -> None:
    """A correction in one instant leaves a quotient with nothing to divide by: ``AtValue`` does not ask for it."""
    above = AtValue(together(Sum(), Count(), into=ratio), lambda quotient: quotient > 0)
    counts = CORRECTED.window(GlobalWindows(), trigger=Repeat(above)).combine_per_key(Count())
    timeline = timeline_of([[(1, 0)], [(2, 0)], [(5, 1)]])
    run = engine.run(counts, {READINGS: timeline})
    assert [pane.value for pane in run.panes if pane.change is Change.VALUE][-1] == 2


def test_groups_are_closed_under_functions_and_products() -> None:
    """Functions before and after a group, and products of groups, can subtract. A product has the sign of its parts."""
    signed = require_combiner("it", together(Sum.of(thrice), together(Count(), Sum())))
    unsigned = require_combiner("it", together(Sum(), Mean()))
    asked = require_combiner("it", together(Sum(), Count(), into=ratio))
    assert [can_subtract(combiner) for combiner in (signed, unsigned, asked)] == [True] * 3
    assert [is_signed(combiner) for combiner in (signed, unsigned, asked)] == [True, False, False]
    assert not any(keeps_values(combiner, retractions=True) for combiner in (signed, unsigned, asked))
