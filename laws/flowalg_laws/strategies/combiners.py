"""Combiners of small integers: all built-in ones, alone, over a function, and in pairs."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import Aggregate, Count, Max, Mean, Min, Quantile, Sum, ToList, TopN
from flowalg.combiners import ToSet, Variance, reduce_combiner, together
from flowalg_laws.strategies.cached import cached
from flowalg_laws.strategies.triggers import magnitude


def _greater(left: int, right: int) -> int:
    return max(left, right)


@cached
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
    single_combiner = st.sampled_from(single)
    return single_combiner | st.tuples(single_combiner, single_combiner).map(lambda pair: together(*pair))
