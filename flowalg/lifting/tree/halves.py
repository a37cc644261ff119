"""Products of floats without an error: of halves that have so few bits that their products are floats (Dekker)."""

from __future__ import annotations

from typing import Final

SPLITTER: Final = 2.0**27 + 1
"""A float times this, minus the difference of both, is its upper half, of 26 bits; the rest is the lower half."""
MOST_DIGITS: Final = 22
"""The largest exponent of ten that is a float exactly."""


def halves(of: float) -> tuple[float, float]:
    """Returns the upper and the lower half of a float up to 2**970, whose sum it is."""
    shifted = of * SPLITTER
    upper = shifted - (shifted - of)
    return upper, of - upper
