"""Normal forms of triggers, and their descriptions."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_laws import Scenario, observe, scenarios, triggers
from flowalg_laws.checks.differences import Difference
from hypothesis import given
from hypothesis import strategies as st

from flowalg import AtCount, AtPeriod, AtWatermark, OrFinally, Repeat, SequenceOf, Sum
from flowalg.triggers import (
    AfterDelay,
    AfterInactivity,
    Always,
    And,
    AtSignal,
    AtValue,
    CustomTrigger,
    Never,
    Or,
    Trigger,
    describe,
    normalise,
)

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)

FEW = st.sampled_from(
    [AtCount(1), AtCount(2), AtPeriod(2 * MINUTE), AtPeriod(4 * MINUTE), AtPeriod(4 * MINUTE, MINUTE)]
)


def _nest(inner: st.SearchStrategy[Trigger]) -> st.SearchStrategy[Trigger]:
    sequences = st.lists(inner, min_size=2, max_size=4).map(lambda parts: SequenceOf(*parts))
    return st.one_of(sequences, inner.map(Repeat), st.builds(OrFinally, inner, FEW))


REDUNDANT: st.SearchStrategy[Trigger] = st.recursive(
    st.one_of(FEW, st.builds(And, FEW, FEW)), _nest, max_leaves=6
)
"""Triggers that nest a few different parts, so that many of them are redundant, or almost."""


@given(triggers() | REDUNDANT, scenarios())
def test_a_normal_form_is_equal_to_its_trigger(trigger: Trigger, scenario: Scenario) -> None:
    """Law: ``normalise(t) = t``; it is idempotent, and never larger."""
    form = normalise(trigger)
    assert normalise(form) == form
    assert len(repr(form)) <= len(repr(trigger))
    assert observe(trigger, scenario) == observe(form, scenario), str(Difference(trigger, form, scenario))


@pytest.mark.parametrize(
    "trigger",
    [
        SequenceOf(OrFinally(Repeat(AtCount(2)), AtWatermark()), AtCount(1)),
        SequenceOf(AtCount(1), AtCount(2), Repeat(SequenceOf(AtCount(3), AtCount(2)))),
        Repeat(SequenceOf(AtCount(1), AtCount(2), AtCount(1))),
        And(AtPeriod(2 * MINUTE), AtPeriod(4 * MINUTE, MINUTE)),
        Or(AtPeriod(3 * MINUTE), AtPeriod(4 * MINUTE)),
        And(Or(AtCount(2), AtWatermark()), Or(AtSignal("x"), AtWatermark())),
    ],
)
def test_a_trigger_without_redundant_parts_is_its_own_normal_form(trigger: Trigger) -> None:
    """A limited repetition finishes, a cycle is folded as a whole, and a period does not imply one with an offset."""
    assert normalise(trigger) == trigger


@pytest.mark.parametrize(
    ("trigger", "form"),
    [
        (
            Repeat(AtCount(2)).until(AtSignal("x")).until(AtWatermark()),
            OrFinally(Repeat(AtCount(2)), Or(AtSignal("x"), AtWatermark())),
        ),
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
def test_a_normal_form_has_no_redundant_parts(trigger: Trigger, form: Trigger) -> None:
    """A normal form leaves out the redundant parts of its trigger."""
    assert normalise(trigger) == normalise(form)
    assert len(repr(normalise(trigger))) <= len(repr(form))


@pytest.mark.parametrize(
    ("trigger", "description"),
    [
        (
            AtWatermark().with_early_firings(AtPeriod(MINUTE)).with_late_firings(AtCount(1)),
            "every minute until the watermark passes, then at every late element",
        ),
        (Repeat(AtWatermark()), "whenever the watermark passes"),
        (Repeat(AtCount(2)), "at every 2 elements"),
        (
            AtCount(3) & (AtSignal("go") | AfterDelay(90 * SECOND)),
            "when 3 elements have arrived and "
            "(the signal 'go' arrives or 90 seconds have passed since the first element)",
        ),
        (AtWatermark(0.9), "when the 0.9 watermark passes"),
        (AfterDelay(MINUTE).repeat(), "whenever a minute has passed since the first element"),
        (AfterDelay(60 * MINUTE), "when an hour has passed since the first element"),
        (AfterInactivity(MINUTE).repeat(), "whenever no element has arrived for a minute"),
        (
            AtValue(Sum(), bool).repeat(),
            "whenever the Sum of the elements satisfies builtins.bool",
        ),
        (
            CustomTrigger(zero=0, add=max, merge=max, ready=bool),
            "when the summary satisfies builtins.bool",
        ),
        (AfterDelay(0 * MINUTE), "when no time has passed since the first element"),
        (Always().repeat(), "at every evaluation"),
        (Always() >> Never(), "at once, then never"),
    ],
)
def test_a_trigger_is_described_in_plain_english(trigger: Trigger, description: str) -> None:
    """A trigger is described in one line of plain English."""
    assert describe(trigger) == description
