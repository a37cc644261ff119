"""Strategies for the variables of laws, by the types in their annotations."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache, partial, reduce
from typing import get_type_hints

from flowalg_reference import Reference
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import KV, FixedWindows, Interpreter, PTransform, Sum, Timeline, flatten
from flowalg.computations import Late
from flowalg.data.errors import ArgumentError
from flowalg.transforms import CombinePerKey, Filter, Input, MapValues, WindowInto
from flowalg.triggers import OnceTrigger, Trigger
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import WindowFn, WindowingStrategy
from flowalg_laws.kit.history import History
from flowalg_laws.kit.interpreters import CONTINUOUS, MICRO_BATCH
from flowalg_laws.kit.key_histories import KeyHistory
from flowalg_laws.kit.law import Law
from flowalg_laws.kit.readings import DenseTimeline, EndedTimeline, Reading
from flowalg_laws.laws.composition import Transform
from flowalg_laws.laws.computations import AComputation, EventTimeComputation
from flowalg_laws.laws.transforms import Endo, Pair, Spread, Test
from flowalg_laws.laws.triggers import Small
from flowalg_laws.laws.windows import Points
from flowalg_laws.strategies import (
    computations,
    dense_timelines,
    durations,
    event_time_computations,
    event_times,
    free_timelines,
    histories,
    key_histories,
    keys,
    once_triggers,
    triggers,
    watermark_policies,
    window_fns,
    windowing_strategies,
)


def double(pair: Pair) -> Pair:
    """Doubles the value."""
    return KV(pair.key, 2 * pair.value)


def swap_key(pair: Pair) -> Pair:
    """Changes the key."""
    return KV("a" if pair.key == "b" else "b", pair.value)


def negate(pair: Pair) -> Pair:
    """Returns a value that is never positive."""
    return KV(pair.key, -abs(pair.value))


def is_even(pair: Pair) -> bool:
    """Returns whether the value is even."""
    return pair.value % 2 == 0


def is_first(pair: Pair) -> bool:
    """Returns whether the key is the first one."""
    return pair.key == "a"


def duplicate(pair: Pair) -> list[Pair]:
    """Returns two elements."""
    return [pair, KV(pair.key, pair.value + 1)]


def keep_positive(pair: Pair) -> list[Pair]:
    """Returns one element or none."""
    return [pair] if pair.value > 0 else []


@cache
def transforms() -> tuple[Transform, ...]:
    """Transforms of pairs: element-wise, identity, with a flatten, with a grouping, and named."""
    larger: Transform = MapValues(KV[str, int], lambda n: n + 1).named("larger")
    even: Transform = Filter(is_even)
    both: Transform = PTransform.of(
        KV[str, int], lambda values: flatten(values, values.map(double)), name="both"
    )
    sums: Transform = (
        Input(KV[str, int]) >> WindowInto(FixedWindows(timedelta(minutes=2))) >> CombinePerKey(Sum())
    )
    return larger, Input(KV[str, int]) >> even, both, Input(KV[str, int]), sums, (larger >> both).named("all")


def compositions() -> SearchStrategy[Transform]:
    """Generates compositions of one to three of these."""
    parts = st.lists(st.sampled_from(transforms()), min_size=1, max_size=3)
    return parts.map(partial(reduce, PTransform.__rshift__))


@cache
def strategies_by_type() -> Mapping[object, SearchStrategy[object]]:
    """Returns the strategy for each type."""
    endos: list[Endo] = [double, swap_key, negate]
    tests: list[Test] = [is_even, is_first]
    spreads: list[Spread] = [duplicate, keep_positive]
    references = st.sampled_from([CONTINUOUS, MICRO_BATCH])
    return {
        Interpreter: references,
        Reference: references,
        OnceTrigger: once_triggers(),
        Trigger: triggers(),
        Small: st.integers(1, 6),
        AComputation: computations(),
        EventTimeComputation: event_time_computations(),
        Late: st.sampled_from(Late),
        DenseTimeline: dense_timelines(),
        EndedTimeline: free_timelines(ends=True),
        WindowFn: window_fns(),
        WindowingStrategy: windowing_strategies(),
        Timeline[Reading]: free_timelines(),
        WatermarkPolicy: watermark_policies(),
        History: histories(),
        KeyHistory: key_histories(st.integers(-5, 5)),
        Points: st.lists(event_times(), max_size=6).map(tuple),
        timedelta: durations(),
        str: keys(),
        Endo: st.sampled_from(endos),
        Test: st.sampled_from(tests),
        Spread: st.sampled_from(spreads),
        Transform: compositions(),
    }


def variables_of(
    law: Law[..., object], strategies: Mapping[str, SearchStrategy[object]]
) -> dict[str, SearchStrategy[object]]:
    """Returns a strategy for each variable of a law: the given one, or that of its type.

    Raises ``ArgumentError`` for a variable without strategy, and for a given strategy without variable.
    """
    hints = {name: hint for name, hint in get_type_hints(law.sides).items() if name != "return"}
    for name in strategies:
        if name not in hints:
            raise ArgumentError(f"the variables of {law.name}", name, f"one of {', '.join(hints) or 'none'}")
    variables: dict[str, SearchStrategy[object]] = {}
    for name, hint in hints.items():
        strategy = strategies.get(name, strategies_by_type().get(hint))
        if strategy is None:
            raise ArgumentError(
                f"the variable {name} of {law.name}",
                hint,
                f"of a type with a strategy; pass check_law({law.name}, {name}=...)",
            )
        variables[name] = strategy
    return variables
