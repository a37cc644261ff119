"""Which combiners a grouping computes as columns.

These tests catch a combiner that falls back to objects, whose results are equal and slow.
"""

from __future__ import annotations

import pytest
from flowalg_columns.combiners import runs_in_columns

from flowalg import Aggregate, Count, Max, Mean, Sum, ToList, TopN
from flowalg.combiners import ToSet, Variance, together
from flowalg.combiners.core import require_combiner
from flowalg.data.shapes import INTEGER

COLUMNS: dict[str, Aggregate[int, object]] = {
    "one": Sum(),
    "a product": together(Sum(), Count()),
    "a product of products": together(Sum[int](), together(Count(), together(Max[int](), Mean()))),
    "the greatest": TopN(2),
    "the greatest by a tuple": TopN(2, by=lambda value: (value % 2, -value)),
    "the greatest in a product": together(Sum[int](), together(Count(), TopN[int](2))),
    "all": ToList(),
    "the distinct ones in a product": together(Sum[int](), ToSet[int]()),
}
OBJECTS: dict[str, Aggregate[int, object]] = {
    "one": Variance(),
    "in a product": together(Sum[int](), together(Count(), Variance())),
    "the greatest by a function in Python": TopN(2, by=hash),
    "the greatest by a tuple with a float": TopN(2, by=lambda value: (value / 2, value)),
}


@pytest.mark.parametrize("form", COLUMNS)
def test_products_of_built_in_combiners_are_columns(form: str) -> None:
    """A product is columns, also inside another one."""
    combiner = require_combiner("combiner", COLUMNS[form])
    assert runs_in_columns(combiner, INTEGER)


@pytest.mark.parametrize("form", OBJECTS)
def test_a_combiner_without_columns_keeps_objects(form: str) -> None:
    """One combiner that needs its values makes the whole grouping keep objects."""
    combiner = require_combiner("combiner", OBJECTS[form])
    assert not runs_in_columns(combiner, INTEGER)
