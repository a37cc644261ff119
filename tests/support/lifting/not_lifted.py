"""Functions that stay in Python, and why."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

import attrs
import numpy as np
from attrs import field, frozen

from flowalg.data.shapes import BOOLEAN, FLOAT, INTEGER, TEXT, TIMESTAMP, ListOf, shape_of
from tests.support.lifting.family import NotLifted
from tests.support.lifting.rows import Edge, Inner, Kind

PASSED: Final = {1, 2}
TABLE: Final = {"a": 1}
LISTS: Final = {"a": ["b"]}
RANKS: Final = {1: 2}
IN_NEW_YORK: Final = datetime(2024, 6, 1, 12, tzinfo=ZoneInfo("America/New_York"))
AMBIGUOUS: Final = datetime(2024, 11, 3, 1, 30, tzinfo=ZoneInfo("America/New_York"))


def allowed() -> set[int]:
    """A function that returns a set, which may be changed."""
    return PASSED


def enter(key: str, value: int) -> None:
    """Changes a dictionary."""
    TABLE[key] = value


@frozen
class Checked:
    """A record whose constructor validates."""

    n: int = field(validator=attrs.validators.gt(0))


@frozen
class Listed:
    """A record with a default factory."""

    n: int
    items: list[int] = field(factory=list)


def loop(e: Edge) -> int:
    """A loop."""
    total = 0
    for item in e.xs:
        total += item
    return total


def recurse(n: int) -> int:
    """A function that calls itself."""
    return 1 if n <= 0 else recurse(n - 1)


def unused(e: Edge) -> int:
    """A variable that may fail and is not always used."""
    ratio = e.x // e.y
    return ratio if e.b else 0


def first(n: int, _: int) -> int:
    """A function that ignores an argument."""
    return n


def branching(e: Edge) -> int:
    """Consecutive `if` statements without return."""
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


def add(e: Edge, *others: int) -> int:
    """A function of any number of arguments."""
    return e.x + len(others)


def longest(texts: list[str], e: Edge) -> str:
    """A function of a list and an element."""
    return max([*texts, e.s], key=len)


_UNICODE: Final = "case mapping and character classes differ between engines"
_UNBOUND: Final = "Python's integers are unbounded, those of engines are not"

NOT_LIFTED: Final = (
    NotLifted(lambda e: e.s.swapcase() == "a", BOOLEAN, "the method swapcase: engines differ", _UNICODE),
    NotLifted(lambda e: e.s.istitle(), BOOLEAN, "the method istitle: engines differ", _UNICODE),
    NotLifted(
        lambda e: e.s.replace("", "-"), TEXT, "the method replace", "Python inserts it between all characters"
    ),
    NotLifted(
        lambda e: e.s.split(e.t),
        None,
        "the method split",
        "Python raises for an empty separator, which is not excluded here",
    ),
    NotLifted(lambda e: e.s[::-1], TEXT, "a slice of str", "engines have no slices with steps"),
    NotLifted(
        lambda e: e.pair[e.x % 2], None, "an item of tuple", "the items of a tuple have different types"
    ),
    NotLifted(lambda e: str(e.f), TEXT, "the string form of float", "engines format floats differently"),
    NotLifted(lambda e: f"{e.f:.3e}", TEXT, "an f-string with a format", "the exponents are not implemented"),
    NotLifted(
        lambda e: int(e.s), INTEGER, "a call of int", "Python accepts digits of all scripts, and underscores"
    ),
    NotLifted(
        lambda e: np.sqrt(e.f) * 2,
        None,
        "a call of np.sqrt",
        "a scalar of NumPy has other operators; `float` makes a number of it",
    ),
    NotLifted(
        lambda e: e.f**0.5, None, "`**` of float", "one in a thousand results differs from the square root"
    ),
    NotLifted(
        lambda e: e.f**2, None, "`**` of float", "powers of floats are not rounded correctly everywhere"
    ),
    NotLifted(
        lambda e: math.log(e.f),
        None,
        "a call of math.log",
        "logarithms and trigonometric functions are not rounded correctly everywhere",
    ),
    NotLifted(
        lambda e: round(e.f, e.x), None, "a call of round", "only to a constant number of digits, up to 22"
    ),
    NotLifted(lambda e: e.x * e.x * e.x, INTEGER, "more than 38 digits", _UNBOUND),
    NotLifted(lambda e: e.x**e.y, None, "a power whose exponent is not a constant", _UNBOUND),
    NotLifted(lambda e: int(e.f) + 1, INTEGER, "more than 38 digits", _UNBOUND),
    NotLifted(lambda e: e.x * e.y // 2, INTEGER, "more than 32 digits", _UNBOUND),
    NotLifted(
        lambda e: e.x < e.f,
        BOOLEAN,
        "a comparison of a float with an integer",
        "Python compares them exactly",
    ),
    NotLifted(
        lambda e: e.price + e.cost,
        None,
        "`+` of Decimal and Decimal",
        "Python rounds to the decimal context of the thread",
    ),
    NotLifted(lambda e: e.s is e.t, BOOLEAN, "`is` of str and str", "depends on the Python implementation"),
    NotLifted(lambda e: e.m + 1, None, "`+` of int | None and int", "exclude None first"),  # type: ignore[operator]
    NotLifted(
        lambda e: e.inner == e.maybe, BOOLEAN, "Inner == Inner", "a record may define its own equality"
    ),
    NotLifted(
        lambda e: e.x if e.b else e.f,
        None,
        "a conditional with results of type int and float",
        "the results have different types",
    ),
    NotLifted(lambda e: e.x in PASSED, BOOLEAN, "does not bind once, to a display", "a function returns it"),
    NotLifted(lambda e: TABLE[e.s], None, "does not bind once, to a display", "a function changes it"),
    NotLifted(
        lambda e: LISTS.get(e.s), None, "whose values are not constants of one type", "lists are mutable"
    ),
    NotLifted(lambda e: RANKS[e.f], INTEGER, "a key of type float in RANKS", "1.0 equals 1"),  # type: ignore[index]
    NotLifted(
        lambda e: RANKS.get(e.x, e.x // e.y),
        None,
        "a default that may fail",
        "Python evaluates it always, an engine only where there is no such key",
    ),
    NotLifted(lambda e: len(RANKS) + e.x, INTEGER, "of which only lookups are lifted", "not implemented"),
    NotLifted(
        lambda e: e.f in (math.nan, 1.0),
        BOOLEAN,
        "may be NaN",
        "NaN is in a tuple that contains it, but equals nothing",
    ),
    NotLifted(lambda e: Kind(e.x), None, "a call of Kind", "a lookup by value that may fail"),
    NotLifted(lambda e: IN_NEW_YORK.hour, INTEGER, "not in UTC", "its fields are in its own time zone"),
    NotLifted(
        lambda e: e.at < AMBIGUOUS,
        BOOLEAN,
        "which has type datetime",
        "a datetime in a repeated hour equals no other",
    ),
    NotLifted(lambda e: e.at.strftime("%A"), TEXT, "the method strftime", "names depend on the platform"),
    NotLifted(
        lambda e: e.at.replace(month=2), TIMESTAMP, "the method replace", "not every month has every day"
    ),
    NotLifted(lambda e: e.d / 2, None, "`/` of timedelta and int", "Python rounds to even"),
    NotLifted(
        lambda e: e.at + timedelta(seconds=e.f),
        TIMESTAMP,
        "a timedelta of float",
        "Python rounds in several steps",
    ),
    NotLifted(
        lambda e: [c + "!" for c in e.words],
        ListOf(TEXT),
        "a comprehension that is not the result of a flat_map",
        "a list of columns has no rows of its own",
    ),
    NotLifted(lambda e: sum(e.xs), None, "a call of sum", "loops are not lifted"),
    NotLifted(loop, INTEGER, "a `for` statement", "loops are not lifted"),
    NotLifted(lambda e: recurse(e.x), INTEGER, "recursion", "its depth is not bounded"),
    NotLifted(unused, INTEGER, "the variable ratio, which may fail", "Spark would not evaluate it"),
    NotLifted(
        lambda e: first(e.x, e.y // e.x),
        INTEGER,
        "the argument _, which may fail",
        "Spark would not evaluate it",
    ),
    NotLifted(
        lambda e: (e.x // e.y, e.s)[1], TEXT, "other parts of which may fail", "Spark would not evaluate them"
    ),
    NotLifted(
        branching,
        INTEGER,
        "more than 6 consecutive `if` statements",
        "each duplicates the statements after it",
    ),
    NotLifted(nothing, None, "always None", "None alone has no element type"),
    NotLifted(
        lambda e: Checked(e.x),
        shape_of(Checked),
        "custom constructor, converter or validator",
        "the constructor runs user code",
    ),
    NotLifted(
        lambda e: Listed(e.x),
        shape_of(Listed),
        "whose default is not a constant",
        "the default is computed by a call",
    ),
    NotLifted(
        lambda e: attrs.asdict(e.inner), None, "a call of attrs.asdict", "only `attrs.evolve` is supported"
    ),
    NotLifted(add, INTEGER, "variable arguments", "not implemented"),
    NotLifted(partial(longest, ["a"]), TEXT, "an argument of partial that is not", "it may be changed"),
    NotLifted(lambda e: Inner(*e.pair), None, "unpacked arguments", "not implemented"),
    NotLifted(str, TEXT, "the string form of Edge", "a record may define its own string form"),
    NotLifted(
        lambda e: e.x / e.y * (e.f + e.g) < math.hypot(e.f, e.g),
        BOOLEAN,
        "math.hypot",
        "not rounded correctly everywhere",
    ),
    NotLifted(lambda e: math.sqrt(float(e.s)), FLOAT, "a call of float", "Python accepts more forms"),
)
