"""Rows of edge values for every type of field."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Final

from attrs import frozen

from flowalg.data.values import canonical_decimal

INTEGERS: Final = (
    *(0, 1, -1, 2, -7, 10, 10**9, 2**53 - 1, 2**53 + 1, -(2**53) - 3, 2**62, -(2**62)),
    *(2**63 - 1, -(2**63), 2**63 - 25),
)
FLOATS: Final = (
    *(0.0, -0.0, 0.5, 1.0, -1.0, 1.5, -2.5, 3.7, 2.0**53, 2.0**63, -(2.0**63), 0.1),
    *(1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan),
)
TEXTS: Final = (
    *("", "a", "A", "ab", "a b", "abab", " a ", "\u3000a\x1c", "a,b,,c", ",", "ß", "é", "e\u0301"),
    *("日本語", "\U0001f600", "a\U0001f600b", "\uffff", "z", "-7", "Σας", "a\x00b", "ΑΣ.", "İǅ", "ﬁŉ"),
)
POINTS: Final = (
    datetime(2024, 1, 1, 12, tzinfo=UTC),
    datetime(2024, 1, 1, 12, 0, 0, 1, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(1900, 2, 28, 23, 59, 59, tzinfo=UTC),
    datetime(1883, 11, 18, 16, 59, 59, tzinfo=UTC),  # New York leaves its own mean time
    datetime(1582, 10, 10, 7, 8, 9, tzinfo=UTC),  # no day of the Julian calendar's last year
    datetime(2024, 3, 10, 6, 59, 59, 999999, tzinfo=UTC),  # New York's clocks go forward
    datetime(2024, 3, 10, 7, tzinfo=UTC),
    datetime(2024, 11, 3, 5, 30, tzinfo=UTC),  # and back
    datetime(2024, 11, 3, 6, 30, tzinfo=UTC),
    datetime(2000, 2, 29, 0, 0, tzinfo=UTC),
    datetime(1, 1, 3, tzinfo=UTC),
    datetime(9999, 12, 29, 23, 59, 59, 999999, tzinfo=UTC),
)
DATES: Final = (
    *(date(2024, 2, 29), date(1970, 1, 1), date(1969, 12, 31), date(1900, 3, 1), date(2023, 12, 31)),
    *(date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 10)),
)
DURATIONS: Final = (
    *(timedelta(0), timedelta(microseconds=1), timedelta(microseconds=-1), timedelta(days=1, hours=5)),
    *(timedelta(minutes=-90), timedelta(days=400), timedelta(days=106_751_990), timedelta(days=-106_751_990)),
)
DECIMALS: Final = tuple(
    canonical_decimal(Decimal(f"{whole}.{fraction:018}"), "an edge value")
    for whole, fraction in (
        ("0", 0),
        ("1", 5 * 10**17),
        ("-2", 25 * 10**16),
        ("1" + 19 * "0", 0),
        ("0", 1),
        ("7", 0),
    )
)
"""Decimals with up to 20 digits before the point and 18 after it."""

NUMERALS: Final = {"a": 1, "日本語": 3}
"""A dictionary that other modules import."""


class Kind(Enum):
    """A plain enum with a member that has two names."""

    RED = 1
    GREEN = 2
    CRIMSON = 1
    BLUE = 30


class Level(StrEnum):
    """An enum whose members are text too."""

    LOW = "low"
    HIGH = "high"


@frozen
class Inner:
    """A nested record, with methods of its own."""

    n: int
    word: str

    @property
    def twice(self) -> int:
        """A property of one expression."""
        return self.n * 2

    def plus(self, more: int) -> int:
        """A method of one expression."""
        return self.n + more

    def longer(self, other: str) -> str:
        """A method of several statements."""
        if len(other) > len(self.word):
            return other
        return self.word


@frozen
class Edge:
    """A record with a field of every type, most of them twice."""

    x: int
    y: int
    f: float
    g: float
    s: str
    t: str
    b: bool
    c: bool
    m: int | None
    o: str | None
    at: datetime
    until: datetime
    day: date
    end: date
    d: timedelta
    p: timedelta
    kind: Kind
    level: Level
    pair: tuple[int, str]
    xs: list[int]
    words: list[str]
    inner: Inner
    maybe: Inner | None
    price: Decimal
    cost: Decimal


def rows(count: int, seed: int = 1) -> list[Edge]:
    """Returns rows of edge values in random combination, the same at each run."""
    source = random.Random(seed)
    pick = source.choice

    def inner() -> Inner:
        return Inner(pick(INTEGERS), pick(TEXTS))

    return [
        Edge(
            x=pick(INTEGERS),
            y=pick(INTEGERS),
            f=pick(FLOATS) + 0.0,  # no element has a negative zero
            g=pick(FLOATS) + 0.0,
            s=pick(TEXTS),
            t=pick(TEXTS),
            b=pick((True, False)),
            c=pick((True, False)),
            m=pick((None, *INTEGERS)),
            o=pick((None, *TEXTS)),
            at=pick(POINTS),
            until=pick(POINTS),
            day=pick(DATES),
            end=pick(DATES),
            d=pick(DURATIONS),
            p=pick(DURATIONS),
            kind=pick(list(Kind)),
            level=pick(list(Level)),
            pair=(pick(INTEGERS), pick(TEXTS)),
            xs=[pick(INTEGERS) for _ in range(source.randrange(4))],
            words=[pick(TEXTS) for _ in range(source.randrange(4))],
            inner=inner(),
            maybe=pick((None, inner())),
            price=pick(DECIMALS),
            cost=pick(DECIMALS),
        )
        for _ in range(count)
    ]
