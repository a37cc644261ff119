"""Values as JSON, field by field, each in its form."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, assert_never

from flowalg.combiners.core import Over
from flowalg.data.errors import NotWritableError, RecordTypeError, format_value
from flowalg.data.shapes import Shape, shape_of
from flowalg.elementwise.functions import describe_function
from flowalg.elementwise.steps import Filter, FlatMap, Map, WithTimestamps
from flowalg.pipeline.nodes import CombinePerKey, Node, SourceNode
from flowalg.pipeline.source import Source
from flowalg.serialization.forms import (
    ANYTHING,
    FieldsOf,
    Form,
    Function,
    Items,
    Lateness,
    Maybe,
    Member,
    NodeNumber,
    Pairs,
    Part,
    Plain,
    Point,
    Product,
    ShapeName,
    Tagged,
    Text,
    TypeName,
    parts_of,
)
from flowalg.serialization.names import name_of, or_raise
from flowalg.serialization.paths import Place
from flowalg.serialization.registry import is_frozen, tag_of
from flowalg.serialization.texts import DURATION, NOTATIONS, POINT, Notation
from flowalg.serialization.types import type_json, type_of
from flowalg.windows.strategy import FOREVER

_AT_TOP_LEVEL: Final = "define it at the top level of a module that can be imported"


class Writer:
    """Writes values; what it keeps is the nodes written so far, so that a shared one is written once."""

    def __init__(self) -> None:
        self.nodes: list[object] = []
        self._numbers: dict[int, int] = {}

    def write(self, form: Form, value: object, place: Place) -> object:
        """A value as JSON; raises ``NotWritableError`` where it has none."""
        match form:
            case Plain(cls=cls):
                if type(value) is cls or (cls is float and type(value) is int):
                    return self.anything(value, place)
            case Text(cls=cls):
                if type(value) is cls:
                    return _text(NOTATIONS[cls], value, place)
            case Point():
                if isinstance(value, int) and not isinstance(value, bool):
                    return _text(POINT, value, place)
            case Lateness():
                return "FOREVER" if value is FOREVER else _text(DURATION, value, place)
            case Member(cls=cls):
                if isinstance(value, cls):
                    return value.name
            case Maybe(of=inner):
                return None if value is None else self.write(inner, value, place)
            case Items(of=inner, cls=cls):
                if isinstance(value, tuple | list | frozenset) and isinstance(value, cls):
                    written = [self.write(inner, one, place.item(i)) for i, one in enumerate(value)]
                    return sorted(written, key=json.dumps) if isinstance(value, frozenset) else written
            case Product(items=items):
                if isinstance(value, tuple) and len(value) == len(items):
                    pairs = enumerate(zip(items, value, strict=True))
                    return [self.write(inner, one, place.item(i)) for i, (inner, one) in pairs]
            case Pairs(key=key, value=inner):
                if isinstance(value, Mapping):
                    return [
                        [self.write(key, k, place.item(i)), self.write(inner, v, place.item(i))]
                        for i, (k, v) in enumerate(value.items())
                    ]
            case FieldsOf(cls=cls):
                if type(value) is cls:
                    return self.fields(value, place)
            case Function():
                if is_frozen(type(value)):
                    return self.anything(value, place)
                if callable(value):
                    return _named(value, place)
            case TypeName():
                return _type(value, place)
            case ShapeName():
                if isinstance(value, Shape):
                    return _shape(value, place)
            case NodeNumber():
                if isinstance(value, Node):
                    return self.node(value)
            case Tagged(classes=classes):
                if not classes or isinstance(value, classes):
                    return self.anything(value, place)
            case _:
                assert_never(form)
        raise _refused(place, f"is {format_value(value)}, which is not of its declared type")

    def anything(self, value: object, place: Place) -> object:
        """A value of any type, tagged where JSON does not tell."""
        kind: type = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if isinstance(value, float) and kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, list) and kind is list:
            return [self.anything(one, place.item(i)) for i, one in enumerate(value)]
        if kind in (tuple, frozenset):
            return {kind.__name__: self.write(Items(ANYTHING, kind), value, place)}
        if kind is dict:
            return {"dict": self.write(Pairs(ANYTHING, ANYTHING), value, place)}
        if kind in NOTATIONS:
            return {kind.__name__: _text(NOTATIONS[kind], value, place)}
        if isinstance(value, Enum):
            return {_tag(value, place): value.name}
        if isinstance(value, Node):
            return {"node": self.node(value)}
        if is_frozen(kind) or isinstance(value, Source):
            return {_tag(value, place): self.fields(value, place)}
        if isinstance(value, type):
            return {"type": _type(value, place)}
        if callable(value):
            return {"function": _named(value, place)}
        raise _refused(
            place,
            f"is {format_value(value)}, which has no JSON form; it must be a scalar, a collection of scalars, an enum "
            "member, a function or class that can be imported, or a frozen attrs class of such",
        )

    def fields(self, value: object, place: Place) -> dict[str, object]:
        """The fields of a record by their names. The algebra's own classes leave their defaults out."""
        cls: type = type(value)
        inner = _inside(value, place)
        try:
            parts = parts_of(cls)
        except NameError as unresolved:
            raise _refused(
                place, f"is a {cls.__name__}, whose annotations cannot be resolved ({unresolved})"
            ) from unresolved
        written: dict[str, object] = {}
        for part in parts:
            field: object = getattr(value, part.attribute)
            where = inner.field(part.name)
            if not part.init:
                raise _refused(where, "has init=False, so the record cannot be built from its fields")
            if not _is_default(part, field):
                written[part.name] = self.write(part.form, field, where)
        return written

    def node(self, node: Node) -> int:
        """The number of a node, which is written after those that it reads."""
        known = self._numbers.get(id(node))
        if known is not None:
            return known
        for inner in node.inputs:
            self.node(inner)
        place = Place(f"nodes[{len(self.nodes)}]")
        self.nodes.append({_tag(node, place): self.fields(node, place)})
        self._numbers[id(node)] = len(self.nodes) - 1
        return len(self.nodes) - 1


def _inside(value: object, place: Place) -> Place:
    """The place inside a value: of a transform or source, whose name messages should give."""
    match value:
        case Map() | Filter() | FlatMap() | WithTimestamps() | CombinePerKey() | Over():
            return place.within(value.label)
        case SourceNode(name=name):
            return place.within(f"Source({name!r})")
        case _:
            return place


def _is_default(part: Part, value: object) -> bool:
    return not part.required and type(value) is type(part.default) and value == part.default


def _tag(value: object, place: Place) -> str:
    return or_raise(
        tag_of(type(value)),
        lambda reason: _refused(place, f"is {format_value(value)}, whose class {reason}; {_AT_TOP_LEVEL}"),
    )


def _named(f: Callable[..., object], place: Place) -> str:
    advice = f"{_AT_TOP_LEVEL}, with def, or make it a frozen attrs class with __call__"
    return or_raise(
        name_of(f),
        lambda reason: _refused(
            place, f"is {describe_function(f)}, which cannot be written: it {reason}; {advice}"
        ),
    )


def _text(notation: Notation, value: object, place: Place) -> str:
    try:
        return notation.write(value)
    except (ValueError, OverflowError) as error:
        raise _refused(place, f"is {format_value(value)}, which cannot be written: {error}") from error


def _type(kind: object, place: Place) -> object:
    return or_raise(
        type_json(kind),
        lambda reason: _refused(place, f"is {format_value(kind)}, a type that {reason}; {_AT_TOP_LEVEL}"),
    )


def _shape(shape: Shape, place: Place) -> object:
    kind = _type_of(shape)
    if kind is None:
        complaint = (
            f"is {shape}, whose type cannot be told from its fields; use a class without type variables"
        )
        raise _refused(place, complaint)
    return _type(kind, place)


def _type_of(shape: Shape) -> object:
    """The type of a shape; ``None`` when its fields do not tell."""
    try:
        kind = type_of(shape)
        return kind if shape_of(kind) == shape else None
    except (RecordTypeError, TypeError, ValueError, NameError):
        return None


def _refused(place: Place, complaint: str) -> NotWritableError:
    return NotWritableError(f"{place}: it {complaint}")


__all__ = ["Writer"]
