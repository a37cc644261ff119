"""Sums: values of several types, tests of which they are, and ``Maybe`` and ``Result``."""

from __future__ import annotations

from attrs import frozen
from returns.maybe import Maybe, Nothing, Some
from returns.pipeline import is_successful
from returns.result import Failure, Result, Success

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


def perhaps(e: Edge) -> Maybe[int]:
    """An optional as a `Maybe`."""
    return Maybe.from_optional(e.m)


def some_word(e: Edge) -> Maybe[str]:
    """A `Maybe` of a text, by cases."""
    if e.b:
        return Some(e.s)
    return Some(e.t + "!") if e.c else Nothing


def length_of(text: str) -> Maybe[int]:
    """The length of a text that is not empty."""
    return Some(len(text)) if text else Nothing


def parsed(e: Edge) -> Result[int, str]:
    """A number, or why there is none."""
    if e.m is None:
        return Failure(e.s)
    return Success(e.m)


def even(n: int) -> Result[int, str]:
    """The half of an even number."""
    return Success(n // 2) if n % 2 == 0 else Failure("odd")


def shown(result: Result[int, str]) -> str:
    """A `match` of a result, by position."""
    match result:
        case Success(n) if n > 5:
            return "large"
        case Failure(reason):
            return str(reason)
        case _:
            return "small"


def word_of(word: Maybe[str]) -> str:
    """A `match` of a `Maybe`."""
    match word:
        case Some(text):
            return str(text)
        case _:
            return "none"


FAMILIES = (
    Family(
        "`Maybe` and `Result`",
        "The containers of `returns`. A `Maybe` is a column that is null for `Nothing`, a `Result` is a sum of its two "
        "classes. `map`, `bind`, `lash`, `alt`, `value_or`, `swap`, `bind_optional` and `or_else_call` are lifted with "
        "what their functions compute; so are tests by `match`, `isinstance`, `is_successful` and of `Nothing`, and "
        "`unwrap` and `failure` after such a test. Without one they remain in Python, and so do the other methods.",
        (
            perhaps,
            some_word,
            parsed,
            lambda e: perhaps(e).map(lambda n: n // 2),
            lambda e: perhaps(e).value_or(7),
            lambda e: some_word(e).bind(length_of),
            lambda e: some_word(e).bind_optional(lambda s: e.o if s == "a" else None),
            lambda e: some_word(e).lash(lambda _: Some(e.t)),
            lambda e: some_word(e).or_else_call(lambda: e.t),
            lambda e: some_word(e) == Nothing,
            lambda e: "none" if some_word(e) is Nothing else some_word(e).unwrap(),
            lambda e: some_word(e).unwrap() if some_word(e) else e.t,
            lambda e: word_of(some_word(e)),
            lambda e: parsed(e).map(lambda n: n % 7),
            lambda e: parsed(e).bind(even),
            lambda e: parsed(e).lash(lambda reason: Success(0) if reason == "a" else Failure(reason + "!")),
            lambda e: parsed(e).alt(len),
            lambda e: parsed(e).bind(even).alt(lambda reason: reason + "?").value_or(-1),
            lambda e: parsed(e).swap(),
            lambda e: shown(parsed(e)),
            lambda e: parsed(e).unwrap() if is_successful(parsed(e)) else len(parsed(e).failure()),
            lambda e: isinstance(parsed(e), Success),
            lambda e: (some_word(e), parsed(e).map(lambda n: Maybe.from_value(n))),
            lambda e: Result.from_value(e.x) if e.b else Result.from_failure(e.s),
            lambda e: Success(Maybe.from_optional(e.o)),
        ),
    ),
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
