"""Panes that come back from an engine in any order are put into theirs, as far as they tell it themselves."""

from __future__ import annotations

from random import Random

import flowalg_reference as reference
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies import free_timelines, windowing_strategies
from flowalg_spark.frames.ordering import sort_panes
from hypothesis import assume, given
from hypothesis import strategies as st

from flowalg import Change, Max, Sum, Timeline, WindowingStrategy


@given(windowing_strategies(), free_timelines(), st.randoms(use_true_random=False))
def test_retractions_come_before_what_takes_their_place(
    strategy: WindowingStrategy, timeline: Timeline[Reading], chance: Random
) -> None:
    """Law: however panes are shuffled, put in order none is taken back before it was there."""
    panes = reference.run(
        apply_windowing(VALUES, strategy).combine_per_key(Max()), {READINGS: timeline}
    ).panes
    shuffled = list(panes)
    chance.shuffle(shuffled)
    standing: dict[tuple[object, ...], int] = {}
    assert sorted(map(repr, sort_panes(shuffled))) == sorted(map(repr, panes))
    for pane in sort_panes(shuffled):
        place = (pane.element, pane.window)
        standing[place] = standing.get(place, 0) + (1 if pane.change is Change.VALUE else -1)
        assert standing[place] >= 0, pane


@given(windowing_strategies(), free_timelines())
def test_values_keep_the_order_of_the_reference(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> None:
    """Without retractions the order is exactly that of the reference: by instant, window and key.

    Instants of equal clocks cannot be told apart.
    """
    assume(len({(one.processing_time, one.watermark) for one in timeline}) == len(timeline.instants))
    run = reference.run(apply_windowing(VALUES, strategy).combine_per_key(Sum()), {READINGS: timeline})
    values = [pane for pane in run.panes if pane.change is Change.VALUE]
    assert list(sort_panes(values[::-1])) == values
