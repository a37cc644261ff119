"""Evolutions of types: a pure function of an old structure and a new type, with one meaning in columns and in objects.

These tests catch an evolution that gives columns and objects different values, one of equal types that changes
something, a property that an evolution claims and has not, and a declaration that accepts what it cannot mean.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NamedTuple

import polars as pl
import pytest
from attrs import frozen
from flowalg_columns.evolution.arrays import evolve_array, to_series
from flowalg_columns.values import decode, write_nested
from flowalg_shard.state.objects import class_names
from hypothesis import given
from hypothesis import strategies as st

from flowalg.data.shapes import Shape, contains_float, shape_of
from flowalg.data.values import sort_key
from flowalg.errors import ArgumentError, RecordTypeError
from flowalg.evolution import RenamedFrom, evolves
from flowalg.evolution.changes import (
    SAME,
    Evolution,
    NoEvolutionError,
    evolution,
    evolution_of_class,
    is_injective,
    keeps_hash,
    keeps_order,
)
from flowalg.evolution.documents import evolve_document, evolve_stored, structures_of
from flowalg.evolution.structure import Structure, structure_of
from flowalg.runs.placement import key_hash
from flowalg.serialization.stored import document_of, read, store, value_of
from tests.differential.evolution import TYPES, Changed, changes

NUMBERS: Final = range(8)


@frozen
class Evolved:
    """An evolution of items, with the values before and after it."""

    change: Evolution
    old: Shape
    new: Shape
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    documents: tuple[Any, ...]


def evolved(case: Changed) -> Iterator[Evolved]:
    """Yields the evolution of the items of a change, if there is one, while the new version is installed."""
    version = case.before.version
    with version.installed() as item:
        old = shape_of(item)
        before = tuple(version.item(item, number) for number in NUMBERS)
        documents = tuple(map(document_of, before))
    version = case.after.version
    with version.installed() as item:
        try:
            new = shape_of(item)
            change = evolution(structure_of(old), new)
        except (NoEvolutionError, RecordTypeError):
            return
        after = tuple(version.item(item, number) for number in NUMBERS)
        yield Evolved(change, old, new, before, after, documents)


@given(changes())
def test_columns_and_objects_become_what_a_new_program_would_have_had(case: Changed) -> None:
    """An evolution makes the values of the new version, of an array and of documents."""
    for each in evolved(case):
        array = to_series("value", write_nested(each.old, list(each.before), "")).to_arrow()
        in_columns = [decode(value, each.new) for value in evolve_array(array, each.change).to_pylist()]
        assert repr(in_columns) == repr(list(each.after))
        objects = [value_of(evolve_document(document, each.change, {})) for document in each.documents]
        assert repr(objects) == repr(list(each.after))


@given(changes())
def test_an_evolution_keeps_what_it_says(case: Changed) -> None:
    """It keeps hashes, the order, and the difference of values, if it says so."""
    for each in evolved(case):
        if keeps_hash(each.change) and not contains_float(each.old):
            hashes = [
                [key_hash(item, shape) for item in items]
                for items, shape in ((each.before, each.old), (each.after, each.new))
            ]
            assert hashes[0] == hashes[1]
        before, after = ([sort_key(item) for item in items] for items in (each.before, each.after))
        if keeps_order(each.change):
            assert sorted(NUMBERS, key=before.__getitem__) == sorted(NUMBERS, key=after.__getitem__)
        if is_injective(each.change):
            pairs = [(one, other) for one in NUMBERS for other in NUMBERS]
            assert all((before[one] == before[other]) == (after[one] == after[other]) for one, other in pairs)


@given(st.sampled_from([kind for kinds in TYPES.values() for kind, _ in kinds]))
def test_a_type_evolves_to_itself_without_a_change(kind: Any) -> None:  # noqa: ANN401  # a type
    """Equal types have the same values."""
    assert evolution(structure_of(shape_of(kind)), shape_of(kind)) == SAME


@dataclass
class Mutable:
    """An object that cannot be an element, with a field of each kind."""

    count: int
    parts: list[Any] = field(default_factory=list)


class Named(NamedTuple):
    """Another object that cannot be an element."""

    size: int
    note: str = "none"


@dataclass
class LongerMutable:
    """The object of a later version."""

    total: Annotated[int, RenamedFrom("count")]
    parts: list[Any] = field(default_factory=list)
    more: tuple[Any, ...] = ()


class LongerNamed(NamedTuple):
    """The named tuple of a later version."""

    note: str
    size: float
    other: int = 7


LongerMutable.__qualname__, LongerNamed.__qualname__ = Mutable.__qualname__, Named.__qualname__


HERE: Final = __name__


def test_objects_that_are_no_elements_evolve_by_their_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dataclasses and named tuples have their fields by name, in objects inside of others too."""
    value = (Mutable(1, [Named(2)]), {"a": Named(3, "x")})
    stored = store(value)
    names = class_names([pl.DataFrame({"stored": [stored]})])
    assert names == {f"{HERE}:Mutable", f"{HERE}:Named"}
    before = structures_of(names)
    for old, new in ((Mutable, LongerMutable), (Named, LongerNamed)):
        monkeypatch.setattr(sys.modules[HERE], old.__name__, new)
    changes_of = {name: evolution_of_class(name, structure) for name, structure in before.items()}
    after = read(evolve_stored(stored, SAME, changes_of), tuple)
    assert after == (
        LongerMutable(1, [LongerNamed("none", 2.0)]),
        {"a": LongerNamed("x", 3.0)},
    )


def test_a_class_that_is_not_found_is_named() -> None:
    """The message says how to give a class its earlier name."""
    with pytest.raises(
        NoEvolutionError, match=r"the class gone:Item, Item\(\), which is not found.*RenamedFrom"
    ):
        evolution_of_class("gone:Item", Structure("record", name="Item"))


@frozen
class First:
    """A first version."""

    euros: int


@frozen
class Second:
    """A second version."""

    cents: int


@frozen
class Third:
    """A third version."""

    amount: str


def test_functions_of_several_versions_compose() -> None:
    """A value of the first version becomes one of the third by both functions, also where it may be missing."""
    evolves(First, Second, lambda old: Second(100 * old.euros))
    evolves(Second, Third, lambda old: Third(f"{old.cents} cents"))
    for kind, value, new in (
        (First, First(3), Third("300 cents")),
        (list[First | None], [First(3), None], [Third("300 cents"), None]),
    ):
        later = {First: Third, list[First | None]: list[Third | None]}[kind]
        change = evolution(structure_of(shape_of(kind)), shape_of(later))
        array = to_series("value", write_nested(shape_of(kind), [value], "")).to_arrow()
        assert decode(evolve_array(array, change).to_pylist()[0], shape_of(later)) == new
        assert value_of(evolve_document(document_of(value), change, {})) == new


@pytest.mark.parametrize(
    ("old", "new", "function", "message"),
    [
        (int, float, float, "evolves.new must be a record class"),
        (First, First, lambda old: old, "evolves.old must be another type than evolves.new"),
        (First, Second, 3, "evolves.function must be a function"),
        (object, Second, lambda old: Second(1), "evolves.old has type object"),
    ],
)
def test_a_declaration_says_what_it_accepts(old: Any, new: Any, function: Any, message: str) -> None:  # noqa: ANN401
    """Its errors name the argument."""
    with pytest.raises((ArgumentError, RecordTypeError), match=message):
        evolves(old, new, function)
    with pytest.raises(ArgumentError, match=r"RenamedFrom.name must be a str; got 3"):
        RenamedFrom(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"the argument of @RenamedFrom\(...\) must be a class; got 3"):
        RenamedFrom("x")(3)  # type: ignore[arg-type]


def test_a_number_that_does_not_fit_is_an_error() -> None:
    """An integer that a float cannot hold exactly is not rounded."""
    change = evolution(structure_of(shape_of(int)), shape_of(float))
    large = 2**53 + 1
    with pytest.raises(Exception, match="9007199254740993"):
        evolve_array(to_series("value", write_nested(shape_of(int), [large], "")).to_arrow(), change)
    with pytest.raises(ValueError, match=f"a float cannot hold {large} exactly"):
        evolve_document(large, change, {})
