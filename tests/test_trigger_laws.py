"""The laws of triggers on generated timelines, windows and modes: observational equality on the reference.

A fault of the automaton that the figures do not show breaks a law here, with a timeline small enough to read.
"""

from __future__ import annotations

from collections.abc import Callable

import flowalg_reference as reference
import pytest
from attrs import evolve
from flowalg_laws.equation import Equation
from flowalg_laws.strategies import free_timelines, once_triggers, put_into, triggers, windowing_strategies
from flowalg_laws.triggers import NUMBER_LAWS, ONCE_LAWS, TRIGGER_LAWS
from flowalg_reference import Mode
from hypothesis import given, note, settings
from hypothesis import strategies as st

from flowalg import Sum, Trigger
from tests.test_reference import READINGS, VALUES

EXAMPLES = 40


def same_panes(data: st.DataObject, sides: Equation[Trigger]) -> None:
    """Both triggers give the same panes and drops over one drawn timeline, window strategy and mode."""
    timeline = data.draw(free_timelines(), label="timeline")
    mode = data.draw(st.sampled_from(Mode), label="engine")
    strategy = data.draw(windowing_strategies(trigger=st.just(sides.left)), label="windowing")
    left, right = (
        reference.run(
            put_into(VALUES, evolve(strategy, trigger=trigger)).combine_per_key(Sum()),
            {READINGS: timeline},
            mode=mode,
        )
        for trigger in (sides.left, sides.right)
    )
    note(f"left: {left.panes}\nright: {right.panes}")
    assert left.panes == right.panes
    assert left.dropped == right.dropped


@pytest.mark.parametrize("law", ONCE_LAWS)
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_once_triggers_are_a_lattice(law: Callable[..., Equation[Trigger]], data: st.DataObject) -> None:
    """Each law of the lattice, also under a ``Repeat``."""
    sides = law(*(data.draw(once_triggers()) for _ in range(3)))
    if data.draw(st.booleans(), label="repeated"):
        sides = Equation(sides.left.repeat(), sides.right.repeat())
    same_panes(data, sides)


@pytest.mark.parametrize("law", TRIGGER_LAWS)
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_triggers_compose(law: Callable[..., Equation[Trigger]], data: st.DataObject) -> None:
    """Each law of sequences, repetition and limits."""
    parts = [data.draw(triggers()) for _ in range(3)]
    limits = [data.draw(once_triggers()) for _ in range(2)]
    same_panes(data, law(*parts, *limits))


@pytest.mark.parametrize("law", NUMBER_LAWS)
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_numbers_meet_and_join(law: Callable[..., Equation[Trigger]], data: st.DataObject) -> None:
    """Each law of counts, delays and periods, repeated."""
    sides = law(data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4)))
    same_panes(data, Equation(sides.left.repeat(), sides.right.repeat()))
