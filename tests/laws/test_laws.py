"""Every law of the catalogue holds over generated triggers, windows, modes, latenesses, timelines and engines.

A fault that the figures do not show breaks a law here, with a counterexample small enough to read.
"""

from __future__ import annotations

from functools import reduce

import pytest
from flowalg_laws import (
    ALONE_LAWS,
    CATALOGUE,
    CLOCK_LAWS,
    COLLECTION_LAWS,
    COMBINER_LAWS,
    LOOP_LAWS,
    PANE_LAWS,
    SERIALIZATION_LAWS,
    SIZE_LAWS,
    TRIGGER_LAWS,
    WATERMARK_LAWS,
    WINDOW_LAWS,
    Law,
    check_law,
    check_trigger_law,
    combiners,
)
from flowalg_laws.laws.combiners import SomeCombiner
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Aggregate, Trigger
from flowalg.combiners.core import require_combiner


def named(law: Law[..., object]) -> str:
    """The name of a law as the id of its test."""
    return law.name


@pytest.mark.parametrize("law", TRIGGER_LAWS, ids=named)
def test_triggers(law: Law[..., Trigger]) -> None:
    """Both sides of a law of triggers give the same panes and drops, alone and inside other triggers."""
    check_trigger_law(law)


@pytest.mark.parametrize("law", ALONE_LAWS, ids=named)
def test_whole_triggers(law: Law[..., Trigger]) -> None:
    """Both sides of a law of whole triggers give the same panes and drops."""
    check_trigger_law(law, alone=True)


@pytest.mark.parametrize(
    "law",
    [
        *WINDOW_LAWS,
        *SIZE_LAWS,
        *LOOP_LAWS,
        *PANE_LAWS,
        *COLLECTION_LAWS,
        *WATERMARK_LAWS,
        *CLOCK_LAWS,
        *SERIALIZATION_LAWS,
    ],
    ids=named,
)
def test_everything_else(law: Law[..., object]) -> None:
    """Both sides of every other law are equal; laws of combiners are tested on each combiner elsewhere."""
    check_law(law)


@pytest.mark.parametrize("law", COMBINER_LAWS, ids=named)
@given(combiners(), *[st.lists(st.integers(-9, 9), min_size=1, max_size=5)] * 3, st.integers(-9, 9))
def test_combiners(
    law: Law[[SomeCombiner, object, object, object, object], object],
    combiner: Aggregate[int, object],
    first: list[int],
    second: list[int],
    third: list[int],
    value: int,
) -> None:
    """Every law of combiners holds for any combiner of integers and any of its accumulators."""
    whole = require_combiner("it", combiner)
    a, b, c = (reduce(whole.add, bag, whole.zero()) for bag in (first, second, third))
    assert law.holds(whole, a, b, c, value), (law, combiner)


def test_each_law_has_a_name_of_its_own() -> None:
    """Each law has a unique name, a statement and a source."""
    laws = [law for family in CATALOGUE.values() for law in family]
    assert len({law.name for law in laws}) == len(laws)
    assert all(law.statement and law.source for law in laws)
