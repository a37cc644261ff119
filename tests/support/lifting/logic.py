"""Truth, choices, ``None`` and membership."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Final

from tests.support.lifting.family import Family
from tests.support.lifting.rows import DECIMALS, NUMERALS, Edge, Inner, Kind, Level
from tests.support.lifting.times import NOON

SMALL: Final = (0, 1, 2)
NOTHING: Final[tuple[int, ...]] = ()
LETTERS: Final = frozenset({"a", "ab", "日本語"})
ONLY_READ: Final = {"b", "σας"}
CODES: Final = {"a": "1", "ab": "2", "σας": "3", "日本語": "ß", "": ""}
WEIGHTS: Final = {0: 10, 1: -1, 2**53 + 1: 2**62, -7: 5}
BY_KIND: Final = {Kind.RED: "warm", Kind.BLUE: None}
BY_DAY: Final = {date(2024, 2, 29): True, date(1, 1, 1): False}
BY_DECIMAL: Final = MappingProxyType({DECIMALS[0]: datetime(2024, 1, 1, tzinfo=UTC)})
OF_BOOLEANS: Final = {True: timedelta(1), False: timedelta(0)}
WORD: Final = re.compile(r"(\w)b")


class Tables:
    """Constants of a class."""

    SIZES: Final = MappingProxyType({1: 0.5, 2: math.nan, 3: -0.0})


def channel(e: Edge) -> str | None:
    """A default that is a group of a match."""
    match = WORD.search(e.t)
    return CODES.get(e.s.lower(), match[1] if match else None)


def sizes() -> list[int]:
    """Reads a dictionary and a set, which stay constants."""
    return [len(CODES), *(len(word) for word in ONLY_READ), *WEIGHTS.values()]


FAMILIES: Final = (
    Family(
        "Truth and choices",
        "Only the chosen branch is evaluated, and both operands of `&`, `|` and `^`. `and` and `or` return one of "
        "their operands, which must have a common shape. Zero, the empty string, the empty list and `None` are "
        "false.",
        (
            lambda e: (e.b and e.x > 0) or not e.b,
            lambda e: e.b and e.x * 4 > e.y,
            lambda e: e.b & (e.x > 0),
            lambda e: (e.x > 0) | e.b | (1000 // e.y > 3),
            lambda e: e.b ^ (e.x > 0),
            lambda e: e.x and e.y,
            lambda e: e.x or e.y,
            lambda e: e.s or "none",
            lambda e: e.f or e.g,
            lambda e: e.f and e.g,
            lambda e: not e.x,
            lambda e: not e.f,
            lambda e: not e.s,
            lambda e: not e.d,
            lambda e: not e.kind,
            lambda e: bool(e.s) and bool(e.xs),
            lambda e: e.x if e.b else e.y,
            lambda e: e.x if e.s else e.y,
            lambda e: (e.x if e.b else 0) * 2 - 1,
            lambda e: e.x * 4 if -1000 < e.x < 1000 else 0,
            lambda e: 1000 // e.x if e.x else 0,
            lambda e: e.x != 0 and 1000 // e.x > 3,
            lambda e: e.x == 0 or 1000 % e.x == 1,
            lambda e: e.inner if e.b else Inner(e.x, e.t),
            lambda e: (e.x, e.s) if e.b else (e.y, e.t),
            lambda e: "big" if e.x > 1000 else "small" if e.x > 0 else "negative",
            lambda e: e.f / e.g if e.g else 0.0,
        ),
    ),
    Family(
        "None",
        "`is None`, `is not None` and `== None`. Where such a test or a truth test has excluded `None`, an "
        "optional has the type of its value. A value never equals `None`.",
        (
            lambda e: e.m is None,
            lambda e: e.m is not None and e.b,
            lambda e: e.m == None,  # noqa: E711
            lambda e: e.x is None,
            lambda e: e.m,
            lambda e: e.m + 1 if e.m is not None else 0,
            lambda e: 0 if e.m is None else e.m * 2,
            lambda e: e.m is not None and e.m > 3,
            lambda e: e.m is None or e.m > 3,
            lambda e: not (e.m is None or e.m % 2 == 0),
            lambda e: e.m or 0,
            lambda e: e.m or e.x,
            lambda e: e.m and e.m - 1,
            lambda e: len(e.o) if e.o else 0,
            lambda e: e.o or "nothing",
            lambda e: e.m == 7,
            lambda e: e.m != e.x,
            lambda e: e.m == e.m,
            lambda e: e.x if e.b else None,
            lambda e: e.x + 1 if e.b else None,
            lambda e: None if e.b else e.m,
            lambda e: e.maybe,
            lambda e: e.maybe.n if e.maybe else 0,
            lambda e: e.maybe.word if e.maybe is not None else e.s,
            lambda e: e.inner if e.b else None,
            lambda e: e.maybe or e.inner,
            lambda e: e.m in (None, 1, 7),
            lambda e: (e.m is not None and e.o is not None) and len(e.o) < e.m,
        ),
    ),
    Family(
        "Membership",
        "In a tuple, list or set display, in a captured tuple or frozenset, in a set that its module only reads (as "
        "dictionaries are, below), and in a list of the element. Other lists and sets can be changed, so they stay in "
        "Python.",
        (
            lambda e: e.x in (1, 2, 10**9),
            lambda e: e.x not in SMALL,
            lambda e: e.s in {"a", "ß", ""},
            lambda e: e.s in LETTERS,
            lambda e: e.s in ["z"],
            lambda e: e.x in (e.y, 1),
            lambda e: e.f in (0.0, 1.5),
            lambda e: e.x % 3 in (1, 2),
            lambda e: e.x + e.y in (0, 1, 3),
            lambda e: e.b in (True,),
            lambda e: e.kind in (Kind.RED, Kind.BLUE),
            lambda e: e.d in (e.p, e.p),
            lambda e: e.x in NOTHING,
            lambda e: e.s in ONLY_READ,
        ),
    ),
    Family(
        "Dictionaries",
        "`d[key]`, `d.get(key)`, `d.get(key, default)` and `key in d` of a dictionary of a module. The module of "
        "the function binds its name once, to a display, and otherwise only looks keys up, iterates over it, or "
        "calls `get`, `keys`, `values`, `items`, `copy`, `len`, `sorted` or a constructor of a collection with it. "
        "So does a module from which it is imported, as by `from tables import CODES`. "
        "So nothing in these modules can change it; a change by another module has no effect on lifted functions, as "
        "that of a captured variable. A `MappingProxyType` may be used in any way. Keys and values are constants "
        "of one type each, the values or `None`. A missing key is the `KeyError` of Python.",
        (
            lambda e: CODES["a" if e.b else e.s],
            lambda e: CODES.get(e.s.lower()),
            lambda e: CODES.get(e.s, e.t) + "!",
            channel,
            lambda e: e.s in CODES and CODES[e.s] > e.t,
            lambda e: e.s not in CODES,
            lambda e: CODES.get(e.o, "none"),  # type: ignore[arg-type]
            lambda e: WEIGHTS[e.x],
            lambda e: NUMERALS.get(e.s, e.x),
            lambda e: WEIGHTS.get(e.x, 0) * e.y,
            lambda e: WEIGHTS.get(e.m) or 7,  # type: ignore[arg-type]
            lambda e: BY_KIND[e.kind],
            lambda e: BY_DAY.get(e.day),
            lambda e: BY_DECIMAL.get(e.price, NOON),
            lambda e: Tables.SIZES.get(len(e.s), 0.0),
            lambda e: OF_BOOLEANS[e.b],
        ),
    ),
    Family(
        "Enums",
        "Members of plain enums and of string enums, compared by identity; their names; their values if these are "
        "constants of one type.",
        (
            lambda e: e.kind,
            lambda e: e.kind is Kind.RED,
            lambda e: e.kind is not Kind.CRIMSON,
            lambda e: e.kind == Kind.GREEN,
            lambda e: Kind.BLUE if e.b else e.kind,
            lambda e: e.kind.name,
            lambda e: e.kind.value,
            lambda e: e.kind.value * e.x,
            lambda e: Kind.GREEN.value,
            lambda e: e.level == Level.HIGH,
            lambda e: e.level.value,
            lambda e: e.level.name + "!",
        ),
    ),
)
