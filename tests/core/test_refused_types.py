"""Types that look like element types and are none: each is a named error, never one of Python's or another type."""

from __future__ import annotations

import json
from enum import Enum, Flag, IntEnum, StrEnum
from types import GenericAlias

import pytest
from attrs import frozen

from flowalg import PCollection, from_json
from flowalg.data.shapes import shape_of
from flowalg.errors import DocumentError, RecordTypeError
from tests.support.scores import Score


@frozen
class Kept:
    """A record class."""

    points: int


class Inherited(Kept):
    """A subclass that is not made a record class itself, so its field is none of attrs."""

    team: str = "red"


@pytest.mark.parametrize("origin", [list, set, frozenset])
@pytest.mark.parametrize("args", [(), (int, str)], ids=["none", "two"])
def test_a_collection_has_one_item_type(origin: type, args: tuple[type, ...]) -> None:
    """A list or set with no item type, or with two, is an error; no item type is left out."""
    with pytest.raises(RecordTypeError, match="is not an element type"):
        shape_of(GenericAlias(origin, args))


def test_a_subclass_of_a_record_class_must_be_one_itself() -> None:
    """A subclass without the decorator is an error that says so, since its own fields would be lost."""
    with pytest.raises(RecordTypeError, match="Inherited inherits from a record class; make it one itself"):
        shape_of(Inherited)


class Empty(Enum):
    """An enum without members."""


@frozen
class Painted:
    """A record with a field that no value has."""

    colour: Empty


@pytest.mark.parametrize("kind", [Enum, IntEnum, StrEnum, Flag, Empty])
def test_an_enum_without_members_is_no_type_of_elements(kind: type[Enum]) -> None:
    """A base class of enums, and an enum without members, is an error: no element has this type."""
    with pytest.raises(RecordTypeError, match=rf"^{kind.__name__} is an Enum without members"):
        shape_of(kind)


def test_a_field_of_an_enum_without_members_is_named() -> None:
    """The error names the field and its type."""
    with pytest.raises(RecordTypeError, match=r"^Painted\.colour has type Empty, which is an Enum without"):
        shape_of(Painted)


@pytest.mark.parametrize(
    "kind", [{"union": ["None", "None"]}, {"list": ["int", "str"]}, "flowalg:Source", "enum:Enum"]
)
def test_an_impossible_type_in_a_document_is_a_document_error(kind: object) -> None:
    """A document with a type that elements cannot have is an error with its path."""
    node = {"SourceNode": {"name": "scores", "shape": kind, "event_time": {"f": f"{Score.__module__}:Score"}}}
    document = {"format": "flowalg", "version": 1, "nodes": [node], "value": {"PCollection": {"node": 0}}}
    with pytest.raises(DocumentError, match=r"nodes\[0\]\.shape"):
        from_json(json.dumps(document), PCollection[object])
