"""Laws and strategies: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from typing import assert_type

from flowalg_laws import (
    COMBINER_LAWS,
    WATERMARK_LAWS,
    Equality,
    Equation,
    History,
    Law,
    Reading,
    apply_windowing,
    check_combiner,
    check_computation,
    check_law,
    check_trigger,
    law,
    readings,
    triggers,
)
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import Computation, Mean, PCollection, Sum
from flowalg.combiners.core import AnyCombiner
from flowalg.computations import Transition
from flowalg.triggers import AtValue, Trigger
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import WindowingStrategy


def doubling(n: int) -> Equation[int]:
    """``n + n = 2 * n``.

    Source: arithmetic
    """
    return Equation(n + n, 2 * n)


def laws() -> None:
    """A law is a function that returns two sides."""
    assert_type(Equation(1, 2), Equation[int])
    assert_type(Equation(1, 2, equality=Equality.EXACT).equality, Equality)
    assert_type(law(doubling)(3), Equation[int] | None)


def catalogue(policy: WatermarkPolicy, history: History, combiner: AnyCombiner) -> None:
    """The catalogue of laws."""
    assert_type(
        [watermark_law(policy, history) for watermark_law in WATERMARK_LAWS], list[Equation[object] | None]
    )
    assert_type(
        [combiner_law(combiner, 1, 2, 3, "a") for combiner_law in COMBINER_LAWS],
        list[Equation[object] | None],
    )


def checks(law_of_ints: Law[[int], int], of_triggers: Law[[Trigger], Trigger]) -> None:
    """Checks of laws and of user-defined parts."""
    check_law(law_of_ints)
    check_law(law_of_ints, n=st.integers(0, 3))
    check_law(of_triggers)
    check_law(of_triggers, t=triggers())
    check_combiner(Sum(), st.integers())
    check_combiner(Mean(), st.floats(), equal=lambda first, second: abs(first - second) < 1e-9)
    check_computation(
        Computation(initial=0, on_element=lambda total, seen, clocks: Transition(total + seen.value)),
        st.integers(),
    )
    check_trigger(AtValue(Sum(), lambda total: total > 3).repeat(), st.integers())


def strategies(flights: PCollection[int], strategy: WindowingStrategy) -> None:
    """Strategies, and helpers for them; those that are built once keep the types of their arguments."""
    made = readings(keys="abc")
    assert_type(made, SearchStrategy[Reading])
    assert_type(apply_windowing(flights, strategy), PCollection[int])
