"""Evolutions of stored objects: of the documents of ``stored``, in which records name their classes."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Final

from returns.maybe import Some

from flowalg.data.class_marks import class_named
from flowalg.data.record_classes import CONTAINED, CONTAINERS
from flowalg.data.shapes import DECIMAL, EnumOf, RecordOf, Shape, inner_shapes
from flowalg.data.values import conform
from flowalg.evolution.changes import (
    SAME,
    Applied,
    AsMember,
    Each,
    Evolution,
    Members,
    Part,
    Parts,
    Present,
    Same,
    Widened,
)
from flowalg.evolution.structure import Structure, structure_of_class
from flowalg.serialization.stored import Document, document_of, name_of, parse, print_document, value_of

Changes = Mapping[str, Evolution]
"""The evolutions of the objects of some classes, by the names of these."""

CLASS: Final = r'\["(?:r|nt|e|c)","[^"]+"'
"""Where stored bytes name a class: a quotation mark inside a text has a backslash."""

_RECORDS: Final = ("r", "nt")
_SETS: Final = ("{", "frozen")


def class_of_match(match: str) -> str:
    """Returns the name of the class in a match of ``CLASS``."""
    return match[:-1].rpartition('"')[2]


def structures_of(names: frozenset[str]) -> dict[str, Structure]:
    """Returns the structures of classes of the program, by their names."""
    found = {name: class_named(name) for name in sorted(names)}
    return {name: structure_of_class(cls) for name, cls in found.items() if cls is not None}


def classes_of(shape: Shape) -> dict[str, Structure]:
    """Returns the structures of the classes of the values of a shape, by the names by which the program finds them."""
    inner = (classes_of(part) for part in inner_shapes(shape))
    own: dict[str, Structure] = {}
    if isinstance(shape, RecordOf | EnumOf) and class_named(name_of(shape.cls)) is shape.cls:
        own = {name_of(shape.cls): structure_of_class(shape.cls)}
    return dict(ChainMap(own, *inner))


def evolve_stored(stored: bytes, change: Evolution, changes: Changes) -> bytes:
    """Returns stored bytes after an evolution of their value, and of the objects of changed classes in it."""
    return print_document(evolve_document(parse(stored), change, changes))


def evolve_document(document: Document, change: Evolution, changes: Changes) -> Document:
    """Returns a document after an evolution of its value, and of the objects of changed classes in it."""
    match change:
        case Same():
            return _objects_in(document, changes)
        case AsMember(of=of):
            return evolve_document(document, of, changes)
        case Members(members=members):
            return evolve_document(document, _of_member(document, members), changes)
        case Widened(to=to) if type(document) is int:
            return document_of(_decimal(document)) if to == DECIMAL else _float(document)
        case Widened():
            return document
        case Present(of=of):
            return _present(document, of, changes)
        case Each(of=of) if isinstance(document, list):
            return _items(document, of, changes)
        case Parts() if isinstance(document, list):
            return _parts(document, change, changes)
        case Applied() if isinstance(document, list) or not isinstance(change.old, RecordOf):
            return document_of(apply_declared(change, _old_value(document, change.old, changes)))
        case _:
            return document


def _present(document: Document, of: Evolution, changes: Changes) -> Document:
    """Returns a document after an evolution of what is present: a value, or that in ``Some``."""
    match document:
        case None | ["0"]:
            return document
        case ["r", name, {"_inner_value": value}] if name == name_of(Some):
            return ["r", name, {CONTAINED: evolve_document(value, of, changes)}]
        case _:
            return evolve_document(document, of, changes)


def _of_member(document: Document, members: Sequence[Part]) -> Evolution:
    """Returns the evolution of the member that a document is of: of a record by its class; others do not change."""
    if isinstance(document, list) and document[0] in _RECORDS:
        cls = class_named(str(document[1]))
        for member in members:
            match member.change:
                case Present(of=Parts(cls=of_member) as change) if of_member is cls:
                    return change
                case Present(of=Applied(new=new) as applied) if new.cls is cls:
                    return applied
    return SAME


def apply_declared(change: Applied, value: object) -> object:
    """Returns what the function of ``evolves`` returns for a value, in its normal form."""
    name = change.new.cls.__name__
    return conform(change.function(value), change.new, f"the result of evolves(..., {name}, ...)")


def _objects_in(document: Document, changes: Changes) -> Document:
    if isinstance(document, dict):
        return {name: _objects_in(part, changes) for name, part in document.items()}
    if not isinstance(document, list):
        return document
    tag, *parts = document
    if tag in _RECORDS and parts[0] in changes:
        return evolve_document(document, changes[str(parts[0])], changes)
    return _with_tag(tag, [_objects_in(part, changes) for part in parts])


def _float(number: int) -> Document:
    exact = float(number)
    if exact != number:
        raise ValueError(f"a float cannot hold {number} exactly")
    return exact


def _decimal(number: int) -> object:
    return conform(number, DECIMAL, "a stored value")


def _items(document: list[Document], of: Evolution, changes: Changes) -> Document:
    tag, *items = document
    each = cycle([of])
    if tag == "d":
        assert isinstance(of, Parts), "a mapping has keys and values"
        each = cycle(part.change for part in of.parts)
    evolved = [evolve_document(item, change, changes) for item, change in zip(items, each, strict=False)]
    return _with_tag(tag, evolved)


def _with_tag(tag: Document, items: list[Document]) -> Document:
    """Returns the document of a collection; the items of a set have an order of their own."""
    return [tag, *(sorted(items, key=print_document) if tag in _SETS else items)]


def _parts(document: list[Document], change: Parts, changes: Changes) -> Document:
    tag, *items = document
    if change.cls is None:
        evolved = zip(items, change.parts, strict=True)
        return [tag, *(evolve_document(item, part.change, changes) for item, part in evolved)]
    name, fields = items
    assert isinstance(fields, dict), "a record has fields by name"
    if change.cls in CONTAINERS:
        (part,) = change.parts
        return [tag, name, {CONTAINED: evolve_document(fields[CONTAINED], part.change, changes)}]
    if not {part.before for part in change.parts if part.before is not None} <= fields.keys():
        return _objects_in(document, changes)  # an object of another class, which stands for a value
    new: dict[str, Document] = {}
    for part in change.parts:
        if part.before is None:
            new[part.name] = document_of(part.default)
        else:
            new[part.name] = evolve_document(fields[part.before], part.change, changes)
    known = name if class_named(str(name)) is change.cls else name_of(change.cls)
    return [tag, known, new]


def _old_value(document: Document, old: Shape, changes: Changes) -> object:
    """Returns the value of an old shape, whose class has another name in the program now."""
    if isinstance(old, RecordOf) and isinstance(document, list):
        tag, _, fields = document
        return value_of([tag, name_of(old.cls), _objects_in(fields, changes)])
    return value_of(_objects_in(document, changes))
