"""Floats for rounding to digits: those next to the middle of two decimals, and any others."""

from __future__ import annotations

import math
from typing import Final

from hypothesis import strategies as st

from flowalg.lifting.tree.halves import MOST_DIGITS
from tests.support.lifting.rows import FLOATS

digits: Final = st.integers(0, MOST_DIGITS)


def _beside(of: float, step: int) -> float:
    return math.nextafter(of, step * math.inf) if step else of


_middles: Final = st.builds(
    lambda whole, number, step: _beside((whole + 0.5) / 10.0**number, step),
    st.integers(-(2**53), 2**53) | st.integers(-1000, 1000),
    digits,
    st.sampled_from((-1, 0, 1)),
)
_dyadic: Final = st.builds(math.ldexp, st.integers(-(2**53), 2**53), st.integers(-60, 2))

middles: Final = _middles | _dyadic | st.sampled_from(FLOATS) | st.floats()
