"""Every law of the catalogue holds: over generated triggers, windows, modes, latenesses, timelines and engines.

A fault that the figures do not show breaks a law here, with a counterexample small enough to read.
"""

from __future__ import annotations

import pytest
from flowalg_laws import (
    CATALOGUE,
    CLOCK_LAWS,
    COLLECTION_LAWS,
    LOOP_LAWS,
    PANE_LAWS,
    SIZE_LAWS,
    TRIGGER_LAWS,
    WATERMARK_LAWS,
    WINDOW_LAWS,
    Law,
    check_law,
    check_trigger_law,
)

from flowalg import Trigger


def named(law: Law[..., object]) -> str:
    """A test's name."""
    return law.name


@pytest.mark.parametrize(
    "law",
    [*WINDOW_LAWS, *SIZE_LAWS, *LOOP_LAWS, *PANE_LAWS, *COLLECTION_LAWS, *WATERMARK_LAWS, *CLOCK_LAWS],
    ids=named,
)
def test_everything_else(law: Law[..., object]) -> None:
    """Both sides are equal. The laws of combiners are tried on each combiner, in tests of their own."""
    check_law(law)


@pytest.mark.parametrize("law", TRIGGER_LAWS, ids=named)
def test_triggers(law: Law[..., Trigger]) -> None:
    """Both sides give the same panes and drops, alone and inside other triggers."""
    check_trigger_law(law)


def test_each_law_has_a_name_of_its_own() -> None:
    """And says what it states, and where it is from."""
    laws = [law for family in CATALOGUE.values() for law in family]
    assert len({law.name for law in laws}) == len(laws)
    assert all(law.statement and law.source for law in laws)
