"""Combiners of small integers: each built-in one, of the values or of a function of them, and several together."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    Aggregate,
    Count,
    Max,
    Mean,
    Min,
    Quantile,
    Sum,
    ToList,
    TopN,
    ToSet,
    Variance,
    reduce_combiner,
    together,
)
from flowalg_laws.strategies.cached import kept
from flowalg_laws.strategies.triggers import magnitude


def _greater(one: int, other: int) -> int:
    return max(one, other)


@kept
def combiners() -> SearchStrategy[Aggregate[int, object]]:
    """Combiners, the simplest first."""
    single: list[Aggregate[int, object]] = [
        Sum[int](),
        Count(),
        Min[int](),
        Max[int](),
        Mean(),
        Variance(),
        ToSet[int](),
        ToList[int](),
        TopN[int](2),
        Quantile(0.5),
        Sum.of(magnitude),
        Max.of(magnitude),
        reduce_combiner(_greater, zero=-10, name="greatest"),
    ]
    one = st.sampled_from(single)
    return one | st.tuples(one, one).map(lambda pair: together(*pair))


__all__ = ["combiners"]
