"""What orders the values of ``TopN`` in columns. The tests catch an order that would differ from Python's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flowalg_columns.combiners import ranks_of

from flowalg import TopN
from flowalg.data.shapes import DURATION, FLOAT, INTEGER, TEXT, ListOf, Shape, TupleOf
from flowalg.lifting.tree.expressions import Param

PAIR = TupleOf((INTEGER, TEXT))


def names(value: object) -> list[object]:
    """A function without a source that engines can read."""
    return [item for item in [value]]  # noqa: C416


@pytest.mark.parametrize(
    ("by", "value", "shapes"),
    [
        (None, INTEGER, [INTEGER]),
        (None, FLOAT, [FLOAT]),
        (None, PAIR, None),
        (lambda n: -n, INTEGER, [INTEGER]),
        (lambda n: n * 0.5, INTEGER, [FLOAT]),
        (lambda n: (n % 2, -n), INTEGER, [INTEGER, INTEGER]),
        (lambda pair: (pair[1], pair[0]), PAIR, [TEXT, INTEGER]),
        (lambda d: (-d,), DURATION, [DURATION]),
        (lambda n: (n, n * 0.5), INTEGER, None),
        (lambda n: (n, (n, n)), INTEGER, None),
        (lambda n: [n, n], INTEGER, None),
        (lambda items: items, ListOf(INTEGER), None),
        (names, INTEGER, None),
    ],
)
def test_ranks_are_scalars_that_engines_order_as_python(
    by: Callable[[object], object] | None, value: Shape, shapes: list[Shape] | None
) -> None:
    """A scalar is one rank and a tuple one for each item; floats in a tuple, which may be NaN, are left to Python."""
    ranks = ranks_of(TopN(1, by=by), Param(value))
    assert (None if ranks is None else [rank.shape for rank in ranks]) == shapes
