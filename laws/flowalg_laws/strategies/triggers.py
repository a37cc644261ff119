"""Triggers and once-triggers of small depth, the simplest first."""

from __future__ import annotations

from datetime import datetime, timedelta

from attrs import frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import AtCount, AtPeriod, AtWatermark, Count, Max, Mean, OrFinally, Repeat, SequenceOf, Sum
from flowalg.triggers import (
    EVERY_INSTANT,
    AfterDelay,
    AfterInactivity,
    Always,
    And,
    Arrivals,
    AtElement,
    AtMeasure,
    AtSignal,
    AtValue,
    CustomTrigger,
    Never,
    OnceTrigger,
    Or,
    Trigger,
    TriggerClocks,
)
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.times import durations


def positive(value: int) -> bool:
    """Returns a predicate for data-driven triggers."""
    return value > 0


def magnitude(value: int) -> int:
    """Returns a measure for data-driven triggers."""
    return abs(value)


@frozen
class Exceeds:
    """A predicate of combined values, which can become false again: a bound that is exceeded."""

    bound: float

    def __call__(self, value: float) -> bool:
        """Returns whether a value exceeds the bound."""
        return value > self.bound


@frozen
class Within:
    """A predicate of a sum that more elements can make false: it is in a small range."""

    low: int

    def __call__(self, value: int) -> bool:
        """Returns whether a value is at the bound or one above it."""
        return self.low <= value <= self.low + 1


def add(total: int, value: int) -> int:
    """Adds a value, for user-defined triggers."""
    return total + value


def merge(left: int, right: int) -> int:
    """Merges two sums, for user-defined triggers."""
    return left + right


def due_after(total: int, arrivals: Arrivals) -> datetime | None:
    """Returns a time that depends on the summary and on the arrivals."""
    return None if total % 3 == 2 else arrivals.first + timedelta(minutes=abs(total) % 4)


def is_even_or_complete(total: int, clocks: TriggerClocks) -> bool:
    """Returns a predicate of the summary and of both clocks."""
    return total % 2 == 0 or clocks.watermark >= clocks.window_end


DUE = CustomTrigger(zero=0, add=add, merge=merge, ready=is_even_or_complete, due=due_after)
"""A user-defined trigger that says when it is due."""

RESTLESS = CustomTrigger(zero=0, add=add, merge=merge, ready=is_even_or_complete, due=EVERY_INSTANT)
"""A user-defined trigger that is evaluated in every instant."""


@cached
def accumulating_triggers() -> SearchStrategy[OnceTrigger]:
    """Triggers on the aggregate, and user-defined ones."""
    combiners = st.sampled_from((Sum(), Mean(), Max(), Count()))
    return st.one_of(
        st.builds(AtValue, combiners, st.integers(0, 6).map(Exceeds)),
        st.builds(AtValue, st.sampled_from((Sum(), Max())), st.integers(0, 4).map(Within)),
        st.integers(0, 4).map(lambda low: CustomTrigger(zero=0, add=add, merge=merge, ready=Within(low))),
        st.sampled_from((DUE, RESTLESS)),
    )


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
        accumulating_triggers(),
    )


@cached
def once_triggers() -> SearchStrategy[OnceTrigger]:
    """Returns all once-triggers."""

    def compound(inner: SearchStrategy[OnceTrigger]) -> SearchStrategy[OnceTrigger]:
        return st.one_of(st.builds(And, inner, inner), st.builds(Or, inner, inner))

    return st.recursive(once_leaves(), compound, max_leaves=4)


@cached
def triggers() -> SearchStrategy[Trigger]:
    """Returns all triggers."""

    def compound(inner: SearchStrategy[Trigger]) -> SearchStrategy[Trigger]:
        return st.one_of(
            st.builds(Repeat, inner),
            st.builds(SequenceOf, inner, inner),
            st.builds(OrFinally, inner, once_triggers()),
        )

    start: SearchStrategy[Trigger] = once_triggers()
    return st.recursive(start, compound, max_leaves=4)
