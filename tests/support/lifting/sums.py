"""Sums: values of several types, and tests of which they are."""

from __future__ import annotations

from attrs import frozen

from tests.support.lifting.family import Family
from tests.support.lifting.rows import Edge, Inner


@frozen
class Point:
    """A record with a field whose name ``Inner`` has too, of another type, and one of the same type."""

    n: str
    word: str
    size: float | None


def inner_or_point(e: Edge) -> Inner | Point:
    """A function that returns records of two classes."""
    if e.b:
        return Inner(e.x, e.s)
    return Point(e.t, e.s, e.f if e.c else None)


def of_two(e: Edge) -> Inner | str | None:
    """A function that returns a record, a text or `None`."""
    if e.m is None:
        return None
    return e.inner if e.b else e.s


def of_three(e: Edge) -> Inner | Point | int:
    """A record or an integer, some of which come from a sum of two."""
    return e.x if e.c else inner_or_point(e)


def length(value: Inner | Point) -> int:
    """A test with `isinstance` and an early return."""
    if isinstance(value, Point):
        return len(value.n)
    return value.n % 1000


def matched(e: Edge) -> str:
    """A `match` with classes, fields by name and by position, a constant, a guard and alternatives."""
    match of_three(e):
        case Inner(n=1, word=word):
            return "one " + word
        case Inner(n) if n > 1000:
            return "large"
        case Point(word=word, size=None):
            return word
        case Point() as point:
            return point.n + "!"
        case Inner() | int():
            return "other"


def none_or_not(e: Edge) -> int:
    """A `match` of an optional, with a variable and statements after it."""
    match of_two(e):
        case None:
            size = -1
        case str() as text:
            size = len(text)
        case record:
            size = record.n // 2
    return size + 1


FAMILIES = (
    Family(
        "Values of several types",
        "A function may return values of several types; `isinstance` and `match` test which they are, by a column. A "
        "field that all of them have is read without a test. A `match` is over classes, with patterns of their fields, "
        "constants, `None`, names and `_`; in Python remain sequences, mappings, and alternatives that bind names. A "
        "`match` that lacks a case for a member is an error when the pipeline is built, if the function ends after it.",
        (
            inner_or_point,
            of_two,
            of_three,
            matched,
            none_or_not,
            lambda e: e.inner if e.b else e.x,
            lambda e: inner_or_point(e).word,
            lambda e: length(inner_or_point(e)),
            lambda e: isinstance(of_three(e), int),
            lambda e: isinstance(of_three(e), (Inner, Point)) and e.b,
            lambda e: not isinstance(of_two(e), Inner | None),
            lambda e: [e.s, e.x, e.inner],
            lambda e: (inner_or_point(e), of_two(e)),
            lambda e: isinstance(e.inner, Inner),
        ),
    ),
)
