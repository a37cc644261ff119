"""Types that look like element types and are none: each is a named error, never one of Python's or another type."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize("kind", [{"union": ["None", "None"]}, {"list": ["int", "str"]}, "flowalg:Source"])
def test_an_impossible_type_in_a_document_is_a_document_error(kind: object) -> None:
    """A document with a type that elements cannot have is an error with its path."""
    node = {"SourceNode": {"name": "scores", "shape": kind, "event_time": {"f": f"{Score.__module__}:Score"}}}
    document = {"format": "flowalg", "version": 1, "nodes": [node], "value": {"PCollection": {"node": 0}}}
    with pytest.raises(DocumentError, match=r"nodes\[0\]\.shape"):
        from_json(json.dumps(document), PCollection[object])
