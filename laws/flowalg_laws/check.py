"""Running laws over generated values."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeVar, cast

from hypothesis import given, note
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg.combiners import Aggregate, Combiner, as_combiner
from flowalg.watermarks import WatermarkPolicy
from flowalg_laws.combiners import COMBINER_LAWS
from flowalg_laws.strategies import histories
from flowalg_laws.watermarks import WATERMARK_LAWS, History

A = TypeVar("A")
B = TypeVar("B")


def _equal(one: object, other: object) -> bool:
    return one == other


def check_combiner(
    combiner: Aggregate[A, B],
    values: SearchStrategy[A],
    *,
    equal: Callable[[B, B], bool] = _equal,
) -> None:
    """Check every law of a combiner, however it was made, over accumulators of generated values.

    ``equal`` judges two results, for combiners whose results are only close. Raises ``AssertionError`` with the
    smallest counterexample that was found: the law, and its two sides.
    """
    whole = cast("Combiner[A, object, B]", as_combiner("combiner", combiner))
    bags = st.lists(values, min_size=1, max_size=8)

    @given(bags, bags, bags, values)
    def holds(first: list[A], second: list[A], third: list[A], value: A) -> None:
        a, b, c = (reduce(whole.add, bag, whole.zero()) for bag in (first, second, third))
        for law in COMBINER_LAWS:
            sides = law(whole, a, b, c, value)
            note(f"{law.__name__}: {sides.left!r} against {sides.right!r}")
            assert equal(sides.left, sides.right), f"{law.__name__} fails for {combiner!r}"

    holds()


def check_watermark_policy(policy: WatermarkPolicy, shown: SearchStrategy[History] | None = None) -> None:
    """Check every law of a watermark policy over generated histories of a source, or over those of ``shown``.

    Raises ``AssertionError`` with the smallest counterexample that was found: the law, and its two sides.
    """

    @given(histories() if shown is None else shown)
    def holds(history: History) -> None:
        for law in WATERMARK_LAWS:
            sides = law(policy, history)
            note(f"{law.__name__}: {sides.left!r} against {sides.right!r}")
            assert sides.left == sides.right, f"{law.__name__} fails for {policy!r}"

    holds()


__all__ = ["check_combiner", "check_watermark_policy"]
