"""Triggers and once-triggers of small depth, the simplest first."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    AfterDelay,
    AfterInactivity,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtWatermark,
    Never,
    OnceTrigger,
    Or,
    OrFinally,
    Repeat,
    SequenceOf,
    Trigger,
)
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.times import durations


def positive(value: int) -> bool:
    """A predicate for data-driven triggers."""
    return value > 0


def magnitude(value: int) -> int:
    """A measure for data-driven triggers."""
    return abs(value)


@cached
def once_leaves() -> SearchStrategy[OnceTrigger]:
    """Once-triggers without parts."""
    return st.one_of(
        st.just(AtWatermark()),
        st.integers(1, 4).map(AtCount),
        durations(1, 9).map(AtPeriod),
        durations(2, 9).map(lambda period: AtPeriod(period, timedelta(minutes=1))),
        durations(0, 9).map(AfterDelay),
        durations(1, 9).map(AfterInactivity),
        st.just(Never()),
        st.just(Always()),
        st.just(AtElement(positive)),
        st.integers(1, 9).map(lambda amount: AtMeasure(magnitude, amount)),
        st.sampled_from(("x", "y")).map(AtSignal),
        st.just(AtWatermark(0.5)),
    )


@cached
def once_triggers() -> SearchStrategy[OnceTrigger]:
    """All once-triggers."""

    def compound(inner: SearchStrategy[OnceTrigger]) -> SearchStrategy[OnceTrigger]:
        return st.one_of(st.builds(And, inner, inner), st.builds(Or, inner, inner))

    return st.recursive(once_leaves(), compound, max_leaves=4)


@cached
def triggers() -> SearchStrategy[Trigger]:
    """All triggers."""

    def compound(inner: SearchStrategy[Trigger]) -> SearchStrategy[Trigger]:
        return st.one_of(
            st.builds(Repeat, inner),
            st.builds(SequenceOf, inner, inner),
            st.builds(OrFinally, inner, once_triggers()),
        )

    start: SearchStrategy[Trigger] = once_triggers()
    return st.recursive(start, compound, max_leaves=4)


__all__ = ["magnitude", "once_leaves", "once_triggers", "positive", "triggers"]
