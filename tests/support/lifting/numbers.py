"""Arithmetic and comparisons of numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

import numpy as np

from tests.support.lifting.family import Family

LIMIT: Final = 1000

FAMILIES: Final = (
    Family(
        "Integers",
        "Unbounded inside an expression; a stored result must fit 64 bits. A result that does not fit fails, as "
        "does a division by zero. Intermediate results that may exceed 64 bits use 38 decimal digits; expressions "
        "that may need more stay in Python. `//` and `%` round down, `/` returns the nearest float. The "
        "second operand of a power or shift must be constant. A boolean counts as 0 or 1.",
        (
            lambda e: e.x + e.y,
            lambda e: e.x - e.y,
            lambda e: e.x * e.y,
            lambda e: -e.x,
            lambda e: e.x * e.y - e.x,
            lambda e: (e.x + e.y) - e.y,
            lambda e: e.x // e.y,
            lambda e: e.x % e.y,
            lambda e: e.x // 7,
            lambda e: e.x % 7,
            lambda e: e.x // -7,
            lambda e: e.x % -7,
            lambda e: e.x // -1,
            lambda e: (e.x + e.y) // 3,
            lambda e: (e.x * e.y) % 10,
            lambda e: (e.x + e.y) % e.x,
            lambda e: (e.x + e.y) // e.y,
            lambda e: e.x % 60 * 60 + e.y % 60,
            lambda e: e.x / e.y,
            lambda e: e.x / 3,
            lambda e: (e.x + e.y) / 2,
            lambda e: (e.x + e.y) / e.x,
            lambda e: (e.x % 100) / 7,
            lambda e: e.x**2,
            lambda e: (e.x % 100) ** 3,
            lambda e: e.x << 3,
            lambda e: e.x >> 5,
            lambda e: e.x & 255,
            lambda e: e.x | e.y,
            lambda e: e.x ^ e.y,
            lambda e: abs(e.x),
            lambda e: min(e.x, e.y),
            lambda e: max(e.x, e.y, 5),
            lambda e: round(e.x),
            lambda e: int(e.x),
            lambda e: int(e.b) + 1,
            lambda e: e.b + e.c,
            lambda e: -e.b,
            lambda e: abs(e.x % 5 - 2),
            lambda e: 60 * 60 * 24,
            lambda e: -7 // 2,
        ),
    ),
    Family(
        "Floats",
        "Equal to Python bit for bit, including NaN, infinities and, inside a function, -0.0; what a function "
        "returns has 0.0 for it. A division by zero, the square root of "
        "a negative number, and the conversion of NaN to an integer fail. An integer becomes the nearest float. "
        "`int`, `round`, `floor` and `ceil` of a float can be results but not operands, because Python's results "
        "are unbounded. Of NumPy, `sqrt`, `square`, `abs`, `negative`, `floor`, `ceil`, `trunc`, `rint`, `isnan`, "
        "`isinf` and `isfinite` of a float, if `float`, `int`, `bool` or a condition takes the result; otherwise it "
        "is a scalar of NumPy, whose operators are others.",
        (
            lambda e: e.f + e.g,
            lambda e: e.f - e.g,
            lambda e: e.f * e.g,
            lambda e: e.f / e.g,
            lambda e: e.f // e.g,
            lambda e: e.f % e.g,
            lambda e: e.f // 0.7,
            lambda e: e.f % -3.5,
            lambda e: -e.f,
            lambda e: abs(e.f),
            lambda e: e.x * 0.5 + e.f,
            lambda e: e.x / 4.0,
            lambda e: (e.x + e.y) * 0.5,
            lambda e: (e.x * e.y) * 0.5,
            lambda e: e.f * e.b,
            lambda e: float(e.x),
            lambda e: min(e.f, e.g),
            lambda e: max(e.f, e.g),
            lambda e: math.sqrt(e.f),
            lambda e: math.fabs(e.f),
            lambda e: math.isnan(e.f),
            lambda e: math.isinf(e.f),
            lambda e: math.isfinite(e.f) and e.f > 0,
            lambda e: int(e.f),
            lambda e: round(e.f),
            lambda e: round(e.f, 2),
            lambda e: round(e.f / 1000 + 0.125, 2),
            lambda e: round(e.f, 0) + round(e.x, 1),
            lambda e: math.floor(e.f),
            lambda e: math.ceil(e.f),
            lambda e: math.trunc(e.f),
            lambda e: math.pi * e.f,
            lambda e: -0.0,
            lambda e: float(np.sqrt(e.f)) + float(np.square(e.g)),
            lambda e: float(np.floor(e.f)) / (1.0 + abs(e.f)),
            lambda e: float(np.ceil(e.f / 1000.0)) + float(np.trunc(e.g / 1000.0)),
            lambda e: float(np.rint(e.f + 0.5)),
            lambda e: float(np.sqrt(np.abs(np.negative(e.f)))) * float(np.fabs(e.g)),
            lambda e: int(np.floor(e.f)),
            lambda e: not np.isnan(e.f) and e.f > 0,
            lambda e: 1 if np.isfinite(e.f) or np.isinf(np.sqrt(e.g)) else 0,
            lambda e: bool(np.isnan(e.f)),
        ),
    ),
    Family(
        "Comparisons",
        "By value, chained or not; NaN is unordered, as in Python. An integer and a float compare exactly, "
        "without rounding, if one of them is constant. Strings compare by code point. Decimals can only be "
        "compared, because Python rounds their sums to the context of the thread.",
        (
            lambda e: e.x < e.y,
            lambda e: e.x == e.y,
            lambda e: -5 < e.x <= LIMIT,
            lambda e: e.x * 2 > e.y * 3,
            lambda e: e.x + 1 >= e.y,
            lambda e: e.f == e.g,
            lambda e: e.f != e.g,
            lambda e: e.f < e.g,
            lambda e: e.f <= e.g,
            lambda e: e.f > e.g,
            lambda e: e.f >= e.g,
            lambda e: e.f == e.f,
            lambda e: e.f == 0.0,
            lambda e: e.f < 1.5,
            lambda e: e.f > 1,
            lambda e: not e.f < 1.5,
            lambda e: e.x < 2.5,
            lambda e: e.x > -7.0,
            lambda e: -2.5 < e.x < 7.5,
            lambda e: -7.0 <= e.x <= 2.0**53,
            lambda e: 0.5 < e.f <= 2.0,
            lambda e: e.x == 2.0**53,
            lambda e: e.x != 9007199254740993.0,
            lambda e: e.x <= 1e300,
            lambda e: e.x % 10 < e.f,
            lambda e: e.b == 1,
            lambda e: e.b < e.c,
            lambda e: e.b == e.c,
            lambda e: e.b is True,
            lambda e: e.s < e.t,
            lambda e: e.s == "ß",
            lambda e: e.s != e.t,
            lambda e: e.price == e.cost,
            lambda e: e.price < e.cost,
            lambda e: e.price >= 7,
            lambda e: e.price > Decimal("1.5"),
        ),
    ),
)
