"""Truth, choices, ``None`` and membership."""

from __future__ import annotations

from typing import Final

from tests.support.lifting.family import Family
from tests.support.lifting.rows import Inner, Kind, Level

SMALL: Final = (0, 1, 2)
NOTHING: Final[tuple[int, ...]] = ()
LETTERS: Final = frozenset({"a", "ab", "日本語"})

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
        "In a tuple, list or set display, in a captured tuple or frozenset, and in a list of the element. A "
        "captured list or set is mutable, so it stays in Python.",
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
