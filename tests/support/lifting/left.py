"""What is left to Python, and why."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import attrs
from attrs import field, frozen

from flowalg.data.shapes import BOOLEAN, FLOAT, INTEGER, TEXT, TIMESTAMP, shape_of
from tests.support.lifting.family import Left
from tests.support.lifting.rows import Edge, Inner, Kind

ALLOWED: Final = {1, 2}
TABLE: Final = {"a": 1}
IN_NEW_YORK: Final = datetime(2024, 6, 1, 12, tzinfo=ZoneInfo("America/New_York"))
AMBIGUOUS: Final = datetime(2024, 11, 3, 1, 30, tzinfo=ZoneInfo("America/New_York"))


@frozen
class Checked:
    """A record whose construction does more than store."""

    n: int = field(validator=attrs.validators.gt(0))


@frozen
class Listed:
    """A record with a default that is made anew each time."""

    n: int
    items: list[int] = field(factory=list)


def looped(e: Edge) -> int:
    """A loop."""
    total = 0
    for one in e.xs:
        total += one
    return total


def recursive(n: int) -> int:
    """A function that calls itself."""
    return 1 if n <= 0 else recursive(n - 1)


def unused(e: Edge) -> int:
    """A variable that may fail, and is not always used."""
    ratio = e.x // e.y
    return ratio if e.b else 0


def first(n: int, _: int) -> int:
    """A function that ignores an argument."""
    return n


def branching(e: Edge) -> int:
    """Many tests, none of which returns."""
    total = 0
    if e.x > 1:
        total += 1
    if e.x > 2:
        total += 1
    if e.x > 3:
        total += 1
    if e.x > 4:
        total += 1
    if e.x > 5:
        total += 1
    if e.x > 6:
        total += 1
    if e.x > 7:
        total += 1
    return total


def nothing(e: Edge) -> None:
    """A function that returns nothing."""
    return None  # noqa: RET501


def defaulted(e: Edge, k: int = 1) -> int:
    """A function with a default."""
    return e.x + k


_UNICODE: Final = "engines and versions of Unicode differ on letters beyond ASCII"
_UNBOUND: Final = "Python's integers have no bound, an engine's do"

LEFT: Final = (
    Left(lambda e: e.s.upper(), TEXT, "the method upper: engines differ", _UNICODE),
    Left(lambda e: e.s.lower() == "a", BOOLEAN, "the method lower: engines differ", _UNICODE),
    Left(lambda e: e.s.isdigit(), None, "the method isdigit: engines differ", _UNICODE),
    Left(lambda e: e.s.replace("", "-"), TEXT, "the method replace", "Python puts it between all characters"),
    Left(lambda e: e.s.split(e.t), None, "the method split", "fails for an empty one, which is not known"),
    Left(lambda e: e.s[::-1], TEXT, "a slice of str", "engines have no steps"),
    Left(lambda e: e.s[e.x], None, "at an index that is not constant", "not needed so far"),
    Left(lambda e: str(e.f), TEXT, "the string form of float", "engines print floats in other ways"),
    Left(lambda e: f"{e.x:>10}", TEXT, "an f-string with a format", "a language of its own"),
    Left(lambda e: int(e.s), INTEGER, "a call of int", "Python reads digits of all scripts, and underscores"),
    Left(lambda e: e.f**2, None, "`**` of float", "powers of floats are not rounded correctly everywhere"),
    Left(lambda e: math.log(e.f), None, "a call of math.log", "nor are logarithms, sines and the like"),
    Left(lambda e: round(e.f, 2), None, "a call of round", "Python rounds the exact binary fraction"),
    Left(lambda e: e.x * e.x * e.x, INTEGER, "more than 38 digits", _UNBOUND),
    Left(lambda e: e.x**e.y, None, "a power whose exponent is not a constant", _UNBOUND),
    Left(lambda e: int(e.f) + 1, INTEGER, "more than 38 digits", _UNBOUND),
    Left(lambda e: e.x * e.y // 2, INTEGER, "more than 32 digits", _UNBOUND),
    Left(
        lambda e: e.x < e.f,
        BOOLEAN,
        "a comparison of a float with an integer",
        "they compare without rounding",
    ),
    Left(
        lambda e: e.price + e.cost, None, "`+` of Decimal and Decimal", "rounds to the context of the thread"
    ),
    Left(lambda e: e.s is e.t, BOOLEAN, "`is` of str and str", "depends on the interpreter"),
    Left(lambda e: e.m + 1, None, "`+` of int | None and int", "test it for None first"),  # type: ignore[operator]
    Left(lambda e: e.inner == e.maybe, BOOLEAN, "Inner == Inner", "a record may have an equality of its own"),
    Left(lambda e: e.x if e.b else e.f, None, "a conditional with results of type int and float", "has no one type"),
    Left(lambda e: e.x and e.s, None, "a conditional with", "has no one type"),
    Left(lambda e: e.x in ALLOWED, BOOLEAN, "a mutable set", "capture a frozenset"),
    Left(lambda e: TABLE[e.s], None, "which has type dict and is not an immutable constant", "it may change"),
    Left(
        lambda e: e.f in (math.nan, 1.0),
        BOOLEAN,
        "may be NaN",
        "NaN is in a tuple that holds it, yet equal to none",
    ),
    Left(lambda e: Kind(e.x), None, "a call of Kind", "a look-up that may fail"),
    Left(lambda e: IN_NEW_YORK.hour, INTEGER, "not in UTC", "its fields are those of its zone"),
    Left(
        lambda e: e.at < AMBIGUOUS,
        BOOLEAN,
        "which has type datetime",
        "an hour that comes twice is equal to nothing",
    ),
    Left(lambda e: e.at.strftime("%H"), TEXT, "the method strftime", "formats of the platform"),
    Left(lambda e: e.at.replace(month=2), TIMESTAMP, "the method replace", "not every month has every day"),
    Left(lambda e: e.d / 2, None, "`/` of timedelta and int", "rounds to even"),
    Left(
        lambda e: e.at + timedelta(seconds=e.f), TIMESTAMP, "a timedelta of float", "rounds in steps"
    ),
    Left(lambda e: [c for c in e.words], None, "a list comprehension", "comprehensions are not lifted"),  # noqa: C416
    Left(lambda e: sum(e.xs), None, "a call of sum", "loops are not lifted"),
    Left(looped, INTEGER, "a `for` statement", "loops are not lifted"),
    Left(lambda e: recursive(e.x), INTEGER, "recursion", "its depth is unknown"),
    Left(unused, INTEGER, "the variable ratio, which may fail", "Spark would not compute it"),
    Left(
        lambda e: first(e.x, e.y // e.x),
        INTEGER,
        "the argument _, which may fail",
        "Spark would not compute it",
    ),
    Left(
        lambda e: (e.x // e.y, e.s)[1], TEXT, "other parts of which may fail", "Spark would not compute them"
    ),
    Left(branching, INTEGER, "more than 6 consecutive `if` statements", "each doubles what follows"),
    Left(nothing, None, "always None", "has no type"),
    Left(lambda e: Checked(e.x), shape_of(Checked), "custom constructor, converter or validator", "only what stores is exact"),
    Left(lambda e: Listed(e.x), shape_of(Listed), "whose default is not a constant", "made by a call"),
    Left(lambda e: attrs.asdict(e.inner), None, "default", "not one of the functions that are known"),
    Left(defaulted, INTEGER, "default, keyword-only or variable", "may change"),
    Left(lambda e: Inner(*e.pair), None, "unpacked arguments", "not needed so far"),
    Left(str, TEXT, "the string form of Edge", "what repr says is a record's own"),
    Left(
        lambda e: e.x / e.y * (e.f + e.g) < math.hypot(e.f, e.g),
        BOOLEAN,
        "math.hypot",
        "not rounded correctly",
    ),
    Left(lambda e: math.sqrt(float(e.s)), FLOAT, "a call of float", "Python reads more forms"),
)
