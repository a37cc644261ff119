"""The order of panes is restored from their metadata after an engine returns them in any order.

The panes of a batch do not depend on the order of its rows.
"""

from __future__ import annotations

from random import Random

import flowalg_reference as reference
import pytest
from attrs import evolve
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies import free_timelines, windowing_strategies
from flowalg_laws.strategies.pipelines import (
    Values,
    batches_of_readings,
    group_values,
    pipelines,
)
from flowalg_laws.strategies.times import point
from flowalg_polars import PolarsBatch
from flowalg_reference import ReferenceBatch
from hypothesis import assume, given
from hypothesis import strategies as st

from flowalg import KV, Interpreter, Max, Sum, Timeline
from flowalg.runs import Change
from flowalg.runs.output import sort_panes
from flowalg.windows import WindowingStrategy


@given(windowing_strategies(), free_timelines(), st.randoms(use_true_random=False))
def test_a_pane_precedes_its_retraction(
    strategy: WindowingStrategy, timeline: Timeline[Reading], chance: Random
) -> None:
    """Law: after panes are shuffled and sorted, each retraction is after the pane that it retracts."""
    panes = reference.run(
        apply_windowing(VALUES, strategy).combine_per_key(Max()), {READINGS: timeline}
    ).panes
    shuffled = list(panes)
    chance.shuffle(shuffled)
    current: dict[tuple[object, ...], int] = {}
    assert sorted(map(repr, sort_panes(shuffled))) == sorted(map(repr, panes))
    for pane in sort_panes(shuffled):
        place = (pane.element, pane.window)
        current[place] = current.get(place, 0) + (1 if pane.change is Change.VALUE else -1)
        assert current[place] >= 0, pane


@given(windowing_strategies(), free_timelines())
def test_values_keep_the_order_of_the_reference(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> None:
    """Without retractions the order is that of the reference: by instant, window and key.

    Instants with equal clocks are not distinguished.
    """
    assume(
        len({(instant.processing_time, instant.watermark) for instant in timeline}) == len(timeline.instants)
    )
    run = reference.run(apply_windowing(VALUES, strategy).combine_per_key(Sum()), {READINGS: timeline})
    values = [pane for pane in run.panes if pane.change is Change.VALUE]
    assert list(sort_panes(values[::-1])) == values


@pytest.mark.parametrize(
    "engine", [ReferenceBatch(), PolarsBatch()], ids=lambda engine: type(engine).__name__
)
@given(pipelines(PolarsBatch().capabilities), batches_of_readings(), st.randoms(use_true_random=False))
def test_the_panes_of_a_batch_do_not_depend_on_the_order_of_its_rows(
    engine: Interpreter, pipeline: Values, batches: tuple[tuple[Reading, ...], ...], chance: Random
) -> None:
    """A batch returns the same panes in the same order from shuffled rows, also where lists become elements again."""
    readings = [reading for batch in batches for reading in batch]
    rows = [*readings, *(evolve(reading, value=1 - reading.value) for reading in readings)]  # at equal times
    shuffled = [*rows]
    chance.shuffle(shuffled)
    for collection in (pipeline, group_values(VALUES)):
        run, again = (
            engine.run(collection, {READINGS: Timeline.batch(records, time=point(99))})
            for records in (rows, shuffled)
        )
        assert again.panes == run.panes


def test_values_without_an_order_do_not_change_the_order_of_keys() -> None:
    """Panes of complex numbers, which have no order, are still ordered by their keys."""
    readings = [Reading("a", value, point(0), point(0)) for value in (10, 2, 2)]
    complex_values = READINGS.map(lambda reading: KV(reading.value, 1j))
    run = reference.run_batch(complex_values.group_by_key(), {READINGS: readings})
    assert [pane.key for pane in run.panes] == [2, 10]
