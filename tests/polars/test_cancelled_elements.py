"""Values and retractions that cancel out before a computation, of values with and without an order in columns.

These tests catch a step that needs an element where all elements of an instant are gone.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_laws import READINGS, VALUES, Reading
from flowalg_laws.kit.readings import START
from flowalg_laws.strategies import timelines
from flowalg_polars import PolarsStreaming
from flowalg_polars.streaming.operators import Cluster
from flowalg_reference import Reference
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    Computation,
    GlobalWindows,
    Mode,
    PCollection,
    Repeat,
    Timeline,
    ToList,
)
from flowalg.computations import Clocks, Observed, Transition

VALUES_SO_FAR = VALUES.window(
    GlobalWindows(), trigger=Repeat(AtCount(1)), accumulation=Accumulation.RETRACTING
).combine_per_key(ToList[int]())


def count(seen_before: int, seen: Observed[str, object], clocks: Clocks) -> Transition[int, int]:
    """Emits the number of elements so far."""
    return Transition(seen_before + 1, emit=[seen_before + 1])


def count_back(seen_before: int, seen: Observed[str, object], clocks: Clocks) -> Transition[int, int]:
    """Emits the number of elements so far, and 100 for the retraction."""
    return Transition(seen_before + 1, emit=[seen_before + 101])


COUNTED = Computation(initial=0, on_element=count, on_retraction=count_back, name="counted")

PIPELINES: dict[str, PCollection[KV[str, int]]] = {
    "lists": VALUES_SO_FAR.map_values(lambda v: [len(v) // 2]).process(COUNTED),
    "sets": VALUES_SO_FAR.map_values(lambda v: frozenset(v), result=frozenset[int]).process(COUNTED),
    "nested lists": VALUES_SO_FAR.map_values(lambda v: (len(v) // 2, [1])).process(COUNTED),
    "integers": VALUES_SO_FAR.map_values(lambda v: len(v) // 2).process(COUNTED),
    "optional": VALUES_SO_FAR.map_values(lambda v: None if len(v) > 1 else 1).process(COUNTED),
}


@pytest.mark.parametrize("name", PIPELINES)
@settings(max_examples=8, deadline=None)
@given(
    data=timelines(READINGS), cluster=st.builds(Cluster, st.integers(1, 2), st.integers(1, 2), st.booleans())
)
def test_elements_that_cancel_out_leave_nothing(name: str, data: Timeline[Reading], cluster: Cluster) -> None:
    """A retraction and an equal value of one instant are no elements, also where nothing else is left."""
    pipeline = PIPELINES[name]
    wanted = Reference(Mode.MICRO_BATCH).run(pipeline, {READINGS: data})
    assert PolarsStreaming(cluster).run(pipeline, {READINGS: data}).elements == wanted.elements


@pytest.mark.parametrize("name", PIPELINES)
def test_an_instant_may_have_only_elements_that_cancel_out(name: str) -> None:
    """A value that replaces an equal one is not observed, and the stream goes on."""
    data = Timeline[Reading]()
    for number in range(4):
        at = START + number * timedelta(minutes=1)
        data = data.at(at, Reading("a", number, at, at))
    data = data.end(START + timedelta(hours=1))
    wanted = Reference(Mode.MICRO_BATCH).run(PIPELINES[name], {READINGS: data})
    assert PolarsStreaming().run(PIPELINES[name], {READINGS: data}).elements == wanted.elements
    assert wanted.elements
