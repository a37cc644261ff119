"""Contexts of triggers: laws of triggers must also hold inside other triggers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import OrFinally, Repeat, SequenceOf
from flowalg.triggers import And, OnceTrigger, Or, Trigger
from flowalg_laws.strategies import once_triggers, triggers

Context: TypeAlias = Callable[[Trigger], Trigger]
OnceContext: TypeAlias = Callable[[OnceTrigger], Trigger]


def alone(trigger: Trigger) -> Trigger:
    """Returns the trigger without a context."""
    return trigger


@cache
def contexts() -> SearchStrategy[Context]:
    """No context, or one combinator that takes any trigger."""

    def before(other: Trigger) -> Context:
        return lambda trigger: SequenceOf(trigger, other)

    def after(other: Trigger) -> Context:
        return lambda trigger: SequenceOf(other, trigger)

    def limit(until: OnceTrigger) -> Context:
        return lambda trigger: OrFinally(trigger, until)

    plain: list[Context] = [alone, alone, Repeat]
    return st.one_of(
        st.sampled_from(plain), triggers().map(before), triggers().map(after), once_triggers().map(limit)
    )


@cache
def once_contexts() -> SearchStrategy[OnceContext]:
    """No context, or one combinator that takes only once-triggers."""

    def both(other: OnceTrigger) -> OnceContext:
        return lambda trigger: And(trigger, other)

    def either(other: OnceTrigger) -> OnceContext:
        return lambda trigger: Or(other, trigger)

    def as_limit(other: Trigger) -> OnceContext:
        return lambda trigger: OrFinally(other, trigger)

    plain: list[OnceContext] = [alone]
    return st.one_of(
        st.sampled_from(plain),
        once_triggers().map(both),
        once_triggers().map(either),
        triggers().map(as_limit),
    )
