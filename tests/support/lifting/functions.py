"""Records, and functions that call others."""

from __future__ import annotations

import math
from datetime import timedelta
from functools import partial
from operator import attrgetter, itemgetter
from typing import Final, cast

import attrs
from attrs import frozen

from flowalg import KV
from tests.support.lifting.family import Family
from tests.support.lifting.rows import Edge, Inner

RATE: Final = 3


class Settings:
    """Constants of a class."""

    STEP: Final = 5
    NAME: Final = "ß"

    @staticmethod
    def scale(n: int) -> int:
        """A static method of a class."""
        return n * Settings.STEP


@frozen
class Config:
    """An immutable record that functions capture."""

    limit: int
    label: str


CONFIG: Final = Config(100, "over")


@frozen
class Defaults:
    """A record with defaults, one of which can be None."""

    n: int
    name: str = "unnamed"
    size: int | None = None
    inner: Inner | None = None


def double(e: Edge) -> int:
    """A named function with a docstring."""
    return e.x * 2


def clamp(n: int, low: int, high: int) -> int:
    """A function with two early returns."""
    if n < low:
        return low
    if n > high:
        return high
    return n


def bucket(e: Edge) -> str:
    """Several statements."""
    minutes = e.at.hour * 60 + e.at.minute
    quarter = minutes // 15
    if quarter < 4:
        return "early"
    if e.b:
        name = e.s
    else:
        word = f"{quarter}"
        name = word + e.t
    return name + "!"


def unpack(e: Edge) -> int:
    """A tuple that is unpacked, and a variable that is reassigned."""
    number, word = e.pair
    total: int = number % 100
    total += len(word)
    if word:
        total *= 2
    return total


def or_minus_one(e: Edge) -> int:
    """An early return that excludes None."""
    if e.m is None:
        return -1
    return e.m % 10


def divide(e: Edge) -> int:
    """A variable that may fail and is always used."""
    ratio = e.x // e.y
    return ratio if e.b else ratio + 1


def shifted(e: Edge, by: int = 3, *, label: str = "a", rate: int = RATE) -> tuple[str, int]:
    """Defaults that are given or not, also of parameters without a position."""
    if e.b:
        by = by + 1
    return e.s + label, (e.x + by) * rate


def weighed(weight: float, e: Edge) -> float:
    """A function of a constant and an element."""
    return e.f * weight


def factor() -> int:
    """A function without parameters."""
    return RATE


HALF: Final = partial(weighed, 0.5)
PLACE: Final = itemgetter(1, 0)
WORD: Final = attrgetter("word")

FAMILIES: Final = (
    Family(
        "Records",
        "Field access, construction of records whose constructor only stores its arguments (constant defaults "
        "included), and `attrs.evolve`. Spark does not compute a field that no later step reads, so an error in "
        "such a field does not occur.",
        (
            lambda e: e,
            lambda e: e.x,
            lambda e: e.inner.word,
            lambda e: Inner(e.x, word=e.s),
            lambda e: Inner(e.x + 1, e.s[:1]),
            lambda e: Defaults(e.x),
            lambda e: Defaults(e.x, e.s, e.m, e.maybe),
            lambda e: Defaults(e.x, size=e.y, inner=e.inner),
            lambda e: Defaults(n=1, inner=Inner(e.x, e.t)),
            lambda e: attrs.evolve(e.inner, n=e.x),
            lambda e: attrs.evolve(Inner(e.x, e.s), word="new").word,
            lambda e: KV(e.s, (e.x, e.inner)),
            lambda e: KV(key=e.s, value=e.m).key,
        ),
    ),
    Family(
        "Functions",
        "Functions whose body consists of assignments, `if` and `return`, called from a lifted function; methods "
        "and properties that the record class defines. Elements are instances of exactly that class. Default values "
        "are captured as variables are. `functools.partial` of immutable values, `operator.attrgetter` of fields, "
        "and `operator.itemgetter` are functions too. Recursive functions, and functions with variable arguments, "
        "are not lifted.",
        (
            double,
            bucket,
            unpack,
            or_minus_one,
            divide,
            lambda e: clamp(e.x, 0, 100),
            lambda e: clamp(high=10, low=-10, n=e.y) * 2,
            lambda e: double(e) - e.x,
            lambda e: e.inner.twice + 1,
            lambda e: e.inner.plus(e.x),
            lambda e: e.inner.longer(e.s),
            lambda e: Inner(e.x, e.s).twice,
            lambda e: Settings.scale(e.x),
            lambda e: factor() * e.x,
            lambda e: cast("int | None", e.x) is None,
            shifted,
            lambda e: shifted(e, 5, label="z"),
            lambda e: shifted(e, rate=e.x)[1],
            partial(weighed, 1.5),
            partial(shifted, label="ü", by=7),
            lambda e: HALF(e) + e.g,
            attrgetter("s"),
            attrgetter("x", "inner"),
            lambda e: PLACE(e.pair),
            lambda e: WORD(e.inner),
        ),
    ),
    Family(
        "Constants",
        "Names of modules, classes, frozen records and enclosing functions that refer to immutable values: "
        "scalars, times, enum members, and tuples of them. The value is captured when the pipeline is compiled.",
        (
            lambda e: 7,
            lambda e: RATE,
            lambda e: e.x + Settings.STEP,
            lambda e: Settings.NAME,
            lambda e: CONFIG.label if e.x > CONFIG.limit else "",
            lambda e: math.tau,
            lambda e: timedelta(hours=1, minutes=-5),
            lambda e: (1, "a"),
        ),
    ),
)
