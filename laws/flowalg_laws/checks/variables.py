"""What the variables of laws range over: a hypothesis strategy for each type that laws are annotated with."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import get_type_hints

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    KV,
    OnceTrigger,
    PTransform,
    Timeline,
    Trigger,
    WatermarkPolicy,
    WindowFn,
    WindowingStrategy,
    flatten,
)
from flowalg.data.errors import ArgumentError
from flowalg_laws.kit.history import History
from flowalg_laws.kit.interpreters import Interpreter, continuous, micro_batch
from flowalg_laws.kit.law import Law
from flowalg_laws.kit.readings import Crowd, Reading
from flowalg_laws.laws.composition import Transform
from flowalg_laws.laws.transforms import Endo, Pair, Spread, Test
from flowalg_laws.laws.triggers import Small
from flowalg_laws.laws.windows import Points
from flowalg_laws.strategies import (
    crowds,
    durations,
    event_times,
    free_timelines,
    histories,
    keys,
    once_triggers,
    triggers,
    watermark_policies,
    window_fns,
    windowing_strategies,
)


def doubled(pair: Pair) -> Pair:
    """Another value under the same key."""
    return KV(pair.key, 2 * pair.value)


def swapped(pair: Pair) -> Pair:
    """Another key."""
    return KV("a" if pair.key == "b" else "b", pair.value)


def below(pair: Pair) -> Pair:
    """A value that is never positive."""
    return KV(pair.key, -abs(pair.value))


def is_even(pair: Pair) -> bool:
    """About half of them."""
    return pair.value % 2 == 0


def is_first(pair: Pair) -> bool:
    """One of the keys."""
    return pair.key == "a"


def twice(pair: Pair) -> list[Pair]:
    """Two for each."""
    return [pair, KV(pair.key, pair.value + 1)]


def positives(pair: Pair) -> list[Pair]:
    """One or none."""
    return [pair] if pair.value > 0 else []


@cache
def transforms() -> tuple[Transform, ...]:
    """Transforms of pairs: element-wise ones, one of no step, one that groups, and one that is made of others."""
    pairs = KV[str, int]
    larger: Transform = PTransform.of(pairs, lambda values: values.map_values(lambda n: n + 1), name="larger")
    even: Transform = PTransform.of(pairs, lambda values: values.filter(is_even))
    both: Transform = PTransform.of(pairs, lambda values: flatten(values, values.map(doubled)), name="both")
    return larger, even, both, PTransform.identity(pairs), (larger >> both).named("larger and both")


@cache
def ranges() -> Mapping[object, SearchStrategy[object]]:
    """The strategy for each type."""
    endos: list[Endo] = [doubled, swapped, below]
    tests: list[Test] = [is_even, is_first]
    spreads: list[Spread] = [twice, positives]
    interpreters: list[Interpreter] = [continuous, micro_batch]
    return {
        Interpreter: st.sampled_from(interpreters),
        OnceTrigger: once_triggers(),
        Trigger: triggers(),
        Small: st.integers(1, 6),
        Crowd: crowds(),
        WindowFn: window_fns(),
        WindowingStrategy: windowing_strategies(),
        Timeline[Reading]: free_timelines(),
        WatermarkPolicy: watermark_policies(),
        History: histories(),
        Points: st.lists(event_times(), max_size=6).map(tuple),
        timedelta: durations(),
        str: keys(),
        Endo: st.sampled_from(endos),
        Test: st.sampled_from(tests),
        Spread: st.sampled_from(spreads),
        Transform: st.sampled_from(transforms()),
    }


def variables_of(
    law: Law[..., object], given: Mapping[str, SearchStrategy[object]]
) -> dict[str, SearchStrategy[object]]:
    """A strategy for each variable of a law: the one that is given, or the one for its type.

    Raises ``ArgumentError`` for a variable of a type that has none, and for a given one that the law does not have.
    """
    hints = {name: hint for name, hint in get_type_hints(law.sides).items() if name != "return"}
    for name in given:
        if name not in hints:
            raise ArgumentError(f"the variables of {law.name}", name, f"among {', '.join(hints) or 'none'}")
    found: dict[str, SearchStrategy[object]] = {}
    for name, hint in hints.items():
        known = given.get(name, ranges().get(hint))
        if known is None:
            raise ArgumentError(
                f"the variable {name} of {law.name}",
                hint,
                f"given a strategy: check_law({law.name}, {name}=...)",
            )
        found[name] = known
    return found


__all__ = ["ranges", "variables_of"]
