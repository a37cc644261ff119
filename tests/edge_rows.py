"""Rows of edge values, and the functions over them that lifting must treat exactly as Python does."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from attrs import frozen

from flowalg import KV
from tests.scores import NOON

INTEGERS: Final = (0, 1, -1, 2, -7, 10**9, 2**62, -(2**62), 2**63 - 1, -(2**63), 2**53 + 1)
FLOATS: Final = (0.0, -0.0, 1.5, -2.25, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, 2.0**53)
TEXTS: Final = ("", "a", "A", "ab", "a b", "ß", "é", "e\u0301", "日本", "\U0001f600", "\uffff", "z")
FAR: Final = (datetime(1, 1, 4, tzinfo=UTC), datetime(9999, 12, 1, tzinfo=UTC))
POINTS: Final = (NOON, NOON + timedelta(microseconds=1), *FAR)


@frozen
class Inner:
    """A record inside."""

    n: int
    word: str


@frozen
class Edge:
    """One of everything."""

    x: int
    y: int
    f: float
    g: float
    s: str
    t: str
    b: bool
    m: int | None
    at: datetime
    inner: Inner


def rows(count: int, seed: int = 1) -> list[Edge]:
    """Rows of edge values in random combination, the same at each run."""
    pick = random.Random(seed).choice
    return [
        Edge(
            pick(INTEGERS),
            pick(INTEGERS),
            pick(FLOATS),
            pick(FLOATS),
            pick(TEXTS),
            pick(TEXTS),
            pick((True, False)),
            pick((None, *INTEGERS)),
            pick(POINTS),
            Inner(pick(INTEGERS), pick(TEXTS)),
        )
        for _ in range(count)
    ]


LIMIT: Final = 1000
WORD: Final = "ß"


def doubled(e: Edge) -> int:
    """A named function with a docstring."""
    return e.x * 2


LIFTED: Final[dict[str, Callable[[Edge], object]]] = {
    "attribute": lambda e: e.x,
    "nested attribute": lambda e: e.inner.word,
    "constant": lambda e: 7,
    "captured constant": lambda e: LIMIT,
    "add": lambda e: e.x + e.y,
    "subtract": lambda e: e.x - e.y,
    "multiply": lambda e: e.x * e.y,
    "negative": lambda e: -e.x,
    "an intermediate beyond 64 bits": lambda e: e.x * e.y - e.x,
    "another": lambda e: (e.x + e.y) - e.y,
    "a large one in a comparison": lambda e: e.x * 2 > e.y * 3,
    "float add": lambda e: e.f + e.g,
    "float subtract": lambda e: e.f - e.g,
    "float multiply": lambda e: e.f * e.g,
    "float divide": lambda e: e.f / e.g,
    "float negative": lambda e: -e.f,
    "mixed": lambda e: e.x * 0.5 + e.f,
    "integer by float": lambda e: e.x / 4.0,
    "integer comparison": lambda e: e.x < e.y,
    "chained comparison": lambda e: -5 < e.x <= LIMIT,
    "text order": lambda e: e.s < e.t,
    "text equality": lambda e: e.s == WORD,
    "text inequality": lambda e: e.s != e.t,
    "instants": lambda e: e.at >= NOON,
    "and, or, not": lambda e: (e.b and e.x > 0) or not e.b,
    "none test": lambda e: e.m is None,
    "not none test": lambda e: e.m is not None and e.b,
    "never none": lambda e: e.x is None,
    "choice": lambda e: e.x if e.b else e.y,
    "a choice in arithmetic": lambda e: (e.x if e.b else 0) * 2 - 1,
    "a guarded product": lambda e: e.x * 4 if -LIMIT < e.x < LIMIT else 0,
    "a guarded product by and": lambda e: e.b and e.x * 4 > e.y,
    "record": lambda e: Inner(e.x, word=e.s),
    "pair": lambda e: KV(e.s, (e.x, e.inner)),
    "tuple item": lambda e: (e.x, e.s)[1],
    "named": doubled,
}
"""What is lifted, and must mean what Python means."""
