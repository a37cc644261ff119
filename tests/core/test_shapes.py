"""Record types: which types map to a schema, and the errors for those that do not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum

import pytest
from attrs import define, field, frozen

from flowalg import KV, Source
from flowalg.data.shapes import shape_of
from flowalg.data.values import canonicalize, conform, sort_key
from flowalg.errors import ElementError, RecordTypeError, ValueRangeError
from tests.support.scores import NOON, Score


class Colour(Enum):
    """An enumeration."""

    RED = 1
    BLUE = 2


@frozen
class Everything:
    """A record with one field of every kind."""

    a: int
    b: float
    c: str
    d: bool
    e: bytes
    f: datetime
    g: date
    h: timedelta
    i: Decimal
    j: Colour
    k: list[str]
    pair: tuple[int, str]
    m: str | None
    n: Score
    o: KV[str, int]
    p: frozenset[str]
    q: set[tuple[int, str]]


EVERYTHING = Everything(
    1,
    2.0,
    "c",
    True,
    b"e",
    NOON,
    NOON.date(),
    timedelta(1),
    Decimal("1.5"),
    Colour.RED,
    ["x"],
    (1, "y"),
    None,
    Score("a", 1, NOON),
    KV("k", 1),
    frozenset("ab"),
    {(1, "x"), (2, "y")},
)


@define
class Mutable:
    """A record class that is not frozen."""

    a: int


@frozen
class WithMapping:
    """A record with a field of a type without a schema."""

    tags: dict[str, int]


@frozen
class WithSetOfLists:
    """A record with a set of lists, which are not hashable."""

    tags: frozenset[list[int]]


@frozen
class WithAny:
    """A record with a field of type ``object``."""

    anything: object


@frozen
class Endless:
    """A record that contains itself."""

    next: Endless | None


@frozen
class Hidden:
    """A record with a field that the constructor does not take."""

    a: int
    b: int = field(init=False, default=3)


@frozen
class Empty:
    """A record without fields."""


def test_every_kind_of_field_has_a_shape() -> None:
    """A record with one field of each kind has a shape, and its values conform to it, unchanged."""
    assert conform(EVERYTHING, shape_of(Everything), "it") == EVERYTHING


@pytest.mark.parametrize(
    ("python_type", "message"),
    [
        (Mutable, "Mutable is mutable; a record class must be frozen: use @frozen from attrs"),
        (
            WithMapping,
            r"WithMapping.tags has type dict\[str, int\], which is not an element type; it must be bool, int",
        ),
        (
            WithSetOfLists,
            r"WithSetOfLists.tags is a set of list\[int\], which is not hashable; use frozenset and tuple inside a set",
        ),
        (WithAny, "WithAny.anything has type object, which is not an element type"),
        (Endless, "Endless.next: Endless is recursive; a record class must not contain itself"),
        (Hidden, "Hidden.b has init=False"),
        (Empty, "Empty has no fields"),
        (Callable, "is not an element type"),
        (int | float, "its members cannot be distinguished, since both are numbers"),
    ],
)
def test_a_type_without_a_shape_is_an_error_at_construction(python_type: object, message: str) -> None:
    """A type without a shape is an error at construction, with the class, the field and the valid types."""
    with pytest.raises(RecordTypeError, match=message):
        Source("s", python_type, event_time=lambda _: NOON)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Score("a", "3", NOON), r"it.points must be of type int; got '3' \(str\)"),  # type: ignore[arg-type]
        (Score("a", True, NOON), r"it.points must be .*; got True \(bool\)"),
        (Score("a", 1, datetime(2024, 1, 1)), "it.at must be a timezone-aware datetime; got .*naive"),
        (Score(None, 1, NOON), r"it.team must be .*; got None \(NoneType\)"),  # type: ignore[arg-type]
        ("a", r"it must be of type Score; got 'a' \(str\)"),
    ],
)
def test_a_value_of_another_type_than_its_field_is_an_error(value: object, message: str) -> None:
    """A value of another type than its field is an error when it enters a pipeline; the class itself does not check."""
    with pytest.raises(ElementError, match=message):
        conform(value, shape_of(Score), "it")


def test_an_integer_must_fit_into_64_bits() -> None:
    """An integer of 64 bits is valid anywhere in a record, and a larger one is an error."""
    assert conform(-(2**63), shape_of(int), "it") == -(2**63)
    with pytest.raises(ValueRangeError, match="it.points is 9223372036854775808, which overflows 64 bits"):
        conform(Score("a", 2**63, NOON), shape_of(Score), "it")
    with pytest.raises(ValueRangeError, match=r"it\[1\].value is"):
        canonicalize((1, KV("a", -(2**63) - 1)), "it")


def test_a_float_field_holds_a_float() -> None:
    """An integer in a float field becomes a float, as in the columns of every engine."""
    assert type(conform(3, shape_of(float), "it")) is float


def test_sets_conform_item_by_item() -> None:
    """A set conforms if it is of its own class and its items conform; the items are in their canonical form."""
    assert conform(frozenset({1}), shape_of(frozenset[float]), "it") == {1.0}
    for wrong, kind in (({1}, frozenset[int]), (frozenset({1}), set[int])):
        with pytest.raises(ElementError, match=r"it must be of type (frozen)?set\[int\]; got .*"):
            conform(wrong, shape_of(kind), "it")
    with pytest.raises(ElementError, match=r"it\{…\} must be of type int; got 'a' \(str\)"):
        conform(frozenset("a"), shape_of(frozenset[int]), "it")
    with pytest.raises(ValueRangeError, match=r"it\{…\} is 9223372036854775808"):
        canonicalize({2**63}, "it")


def test_equal_sets_have_equal_sort_keys() -> None:
    """Equal sets have equal sort keys, however they were made; among values, None sorts first and NaN last."""
    assert sort_key(frozenset("abc")) == sort_key(set("cba"))
    values: list[float | None] = [float("nan"), 2.0, None, float("-inf")]
    assert [repr(value) for value in sorted(values, key=sort_key)] == ["None", "-inf", "2.0", "nan"]
