"""Laws and strategies: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from datetime import datetime
from typing import assert_type

from flowalg_laws import (
    COMBINER_LAWS,
    WATERMARK_LAWS,
    CombinerLaw,
    Equation,
    History,
    Reading,
    check_combiner,
    check_watermark_policy,
    histories,
    put_into,
    readings,
    timelines,
    triggers,
    watermark_policies,
    window_fns,
    windowing_strategies,
)
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    Combiner,
    Mean,
    PCollection,
    Perfect,
    Source,
    Sum,
    Timeline,
    Trigger,
    WatermarkPolicy,
    WindowFn,
    WindowingStrategy,
)


def laws(
    equation: Equation[int],
    law: CombinerLaw[str, int, float],
    combiner: Combiner[str, int, float],
    policy: WatermarkPolicy,
    history: History,
) -> None:
    """A law is a function that gives two sides."""
    assert_type(Equation(1, 2), Equation[int])
    assert_type(equation.left, int)
    assert_type(equation.right, int)
    assert_type(law(combiner, 1, 2, 3, "a"), Equation[float])
    assert_type([one(policy, history) for one in WATERMARK_LAWS], list[Equation[object]])
    assert_type([one(combiner, 1, 2, 3, "a") for one in COMBINER_LAWS], list[Equation[float]])


def checks() -> None:
    """What runs them."""
    check_combiner(Sum(), st.integers())
    check_combiner(Mean(), st.floats(), equal=lambda one, other: abs(one - other) < 1e-9)
    check_watermark_policy(Perfect())
    check_watermark_policy(Perfect(), histories(most=3))


def generated(source: Source[Reading], flights: PCollection[int], strategy: WindowingStrategy) -> None:
    """Strategies, and what serves them."""
    assert_type(readings(keys="abc"), SearchStrategy[Reading])
    assert_type(histories(), SearchStrategy[History])
    assert_type(timelines(source), SearchStrategy[Timeline[Reading]])
    assert_type(triggers(), SearchStrategy[Trigger])
    assert_type(watermark_policies(), SearchStrategy[WatermarkPolicy])
    assert_type(window_fns(), SearchStrategy[WindowFn])
    assert_type(windowing_strategies(), SearchStrategy[WindowingStrategy])
    assert_type(put_into(flights, strategy), PCollection[int])


def recorded(reading: Reading) -> None:
    """A small record to generate."""
    assert_type(reading.key, str)
    assert_type(reading.value, int)
    assert_type(reading.at, datetime)
    assert_type(reading.seen, datetime)
