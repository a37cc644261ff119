"""All functions that are lifted, by families."""

from __future__ import annotations

from typing import Final

from tests.support.lifting import functions, logic, numbers, sums, texts, times
from tests.support.lifting.family import EdgeFunction, Family

FAMILIES: Final[tuple[Family, ...]] = (
    *numbers.FAMILIES,
    *texts.FAMILIES,
    *logic.FAMILIES,
    *times.FAMILIES,
    *functions.FAMILIES,
    *sums.FAMILIES,
)
LIFTED: Final[tuple[EdgeFunction, ...]] = tuple(f for family in FAMILIES for f in family.functions)
