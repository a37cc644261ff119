"""The laws of triggers on generated timelines, windows and modes: observational equality on the reference.

A fault of the automaton that the figures do not show breaks a law here, with a timeline small enough to read.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import flowalg_reference as reference
import pytest
from attrs import evolve
from flowalg_laws.equation import Equation
from flowalg_laws.strategies import free_timelines, once_triggers, put_into, triggers, windowing_strategies
from flowalg_laws.triggers import NUMBER_LAWS, ONCE_LAWS, TRIGGER_LAWS
from flowalg_reference import Mode
from hypothesis import given, note
from hypothesis import strategies as st

from flowalg import (
    AfterDelay,
    Always,
    And,
    AtCount,
    AtPeriod,
    AtSignal,
    AtWatermark,
    Never,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Sum,
    Trigger,
    in_words,
    normalise,
)
from tests.test_reference import READINGS, VALUES

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)


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
@given(st.data())
def test_once_triggers_are_a_lattice(law: Callable[..., Equation[Trigger]], data: st.DataObject) -> None:
    """Each law of the lattice, also under a ``Repeat``."""
    sides = law(*(data.draw(once_triggers()) for _ in range(3)))
    if data.draw(st.booleans(), label="repeated"):
        sides = Equation(sides.left.repeat(), sides.right.repeat())
    same_panes(data, sides)


@pytest.mark.parametrize("law", TRIGGER_LAWS)
@given(st.data())
def test_triggers_compose(law: Callable[..., Equation[Trigger]], data: st.DataObject) -> None:
    """Each law of sequences, repetition and limits."""
    parts = [data.draw(triggers()) for _ in range(3)]
    limits = [data.draw(once_triggers()) for _ in range(2)]
    same_panes(data, law(*parts, *limits))


@pytest.mark.parametrize("law", NUMBER_LAWS)
@given(st.data())
def test_numbers_meet_and_join(law: Callable[..., Equation[Trigger]], data: st.DataObject) -> None:
    """Each law of counts, delays and periods, repeated."""
    sides = law(data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4)))
    same_panes(data, Equation(sides.left.repeat(), sides.right.repeat()))


@given(st.data())
def test_a_normal_form_is_equal_to_its_trigger(data: st.DataObject) -> None:
    """Law: ``normalise(t) = t``; it is idempotent, and never larger."""
    trigger = data.draw(triggers(), label="trigger")
    form = normalise(trigger)
    note(f"{trigger} becomes {form}")
    assert normalise(form) == form
    assert len(repr(form)) <= len(repr(trigger))
    same_panes(data, Equation(trigger, form))


@pytest.mark.parametrize(
    ("trigger", "form"),
    [
        (Or(AtCount(3), AtCount(2), Never()), AtCount(2)),
        (And(AtCount(3), Or(AtCount(3), AtWatermark())), AtCount(3)),
        (And(AtWatermark(), Always(), AtWatermark()), AtWatermark()),
        (AtPeriod(MINUTE) | AtPeriod(2 * MINUTE), AtPeriod(MINUTE)),
        (Repeat(SequenceOf(AtCount(1), AtCount(1))).repeat(), Repeat(AtCount(1))),
        (AtCount(1) >> AtCount(1).repeat() >> AtWatermark(), Repeat(AtCount(1))),
        (
            Repeat(AtCount(1)).until(Never()).until(AtWatermark()),
            OrFinally(Repeat(AtCount(1)), AtWatermark()),
        ),
        (AtCount(2).until(AtWatermark()), And(AtCount(2), AtCount(1)) | AtWatermark()),
    ],
)
def test_normal_forms(trigger: Trigger, form: Trigger) -> None:
    """What the rules make of triggers that say one thing twice."""
    assert normalise(trigger) == normalise(form)
    assert len(repr(normalise(trigger))) <= len(repr(form))


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (
            AtWatermark().with_early_firings(AtPeriod(MINUTE)).with_late_firings(AtCount(1)),
            "every minute until the watermark passes, then at every late element",
        ),
        (Repeat(AtWatermark()), "whenever the watermark passes"),
        (Repeat(AtCount(2)), "at every 2 elements"),
        (
            AtCount(3) & (AtSignal("go") | AfterDelay(90 * SECOND)),
            "when 3 elements have come and "
            "(the signal 'go' is given or 90 seconds have passed since the first element)",
        ),
        (AtWatermark(0.9), "when the 0.9 watermark passes"),
    ],
)
def test_triggers_are_told_in_words(trigger: Trigger, words: str) -> None:
    """One line, as a person would say it."""
    assert in_words(trigger) == words
