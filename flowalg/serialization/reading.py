"""Values from JSON, field by field, each in its form; whatever does not fit is an error that names its place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from enum import Enum
from typing import Final, TypeAlias, TypeVar, assert_never, cast

from returns.result import Result

from flowalg.data.errors import DocumentError, RecordTypeError, format_value
from flowalg.data.shapes import Shape, shape_of
from flowalg.elementwise.steps import Step
from flowalg.pipeline.nodes import ElementWise, Node, SourceNode
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
    Plain,
    Point,
    Product,
    ShapeName,
    Tagged,
    Text,
    TypeName,
    parts_of,
)
from flowalg.serialization.names import named, or_raise
from flowalg.serialization.paths import Place
from flowalg.serialization.registry import tagged
from flowalg.serialization.texts import DURATION, NOTATIONS, POINT, Notation
from flowalg.serialization.types import type_from, type_of
from flowalg.windows.strategy import FOREVER

A = TypeVar("A")
_EventTimeOf: TypeAlias = Callable[[object], datetime]
_TEXTS: Final[Mapping[str, Notation]] = {cls.__name__: notation for cls, notation in NOTATIONS.items()}
_FLOATS: Final[Mapping[str, float]] = {text: float(text) for text in ("nan", "inf", "-inf")}


class Reader:
    """Reads values. What it keeps is the nodes read so far, by their numbers."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def read(self, form: Form, json: object, place: Place) -> object:
        """The value of some JSON; raises ``DocumentError`` where it is not of the form."""
        match form:
            case Plain(cls=cls):
                value = self.anything(json, place) if cls is float else json
                if type(value) is cls or (cls is float and type(value) is int):
                    return value
                raise _refused(json, place, f"of type {cls.__name__}")
            case Text(cls=cls):
                return _text(NOTATIONS[cls], json, place)
            case Point():
                return _text(POINT, json, place)
            case Lateness():
                return FOREVER if json == "FOREVER" else _text(DURATION, json, place)
            case Member(cls=cls):
                return _member(cls, json, place)
            case Maybe(of=inner):
                return None if json is None else self.read(inner, json, place)
            case Items(of=inner, cls=cls):
                items = [self.read(inner, one, place.item(i)) for i, one in enumerate(_list(json, place))]
                return _gathered(cls, items, json, place)
            case Product(items=forms):
                listed = _list(json, place)
                if len(listed) != len(forms):
                    raise _refused(json, place, f"a list of {len(forms)}")
                pairs = enumerate(zip(forms, listed, strict=True))
                return tuple(self.read(inner, one, place.item(i)) for i, (inner, one) in pairs)
            case Pairs():
                return self._mapping(form, json, place)
            case FieldsOf(cls=cls):
                return self.record(cls, json, place)
            case Function():
                value = _found(named(json), place) if isinstance(json, str) else self.anything(json, place)
                if callable(value):
                    return value
                raise _refused(json, place, "the name of a function")
            case TypeName():
                return _found(type_from(json), place)
            case ShapeName():
                return _shape(json, place)
            case NodeNumber():
                return self._node_at(json, place)
            case Tagged(classes=classes):
                value = self.anything(json, place)
                if classes and not isinstance(value, classes):
                    names = ", ".join(class_.__name__ for class_ in classes)
                    raise _refused(json, place, f"one of {names}" if len(classes) > 1 else f"of type {names}")
                return value
        assert_never(form)

    def anything(self, json: object, place: Place) -> object:
        """A value whose type the document tells."""
        if isinstance(json, list):
            return [self.anything(one, place.item(i)) for i, one in enumerate(json)]
        if not isinstance(json, dict):
            return json
        if len(json) != 1:
            raise _refused(json, place, "a value with one tag, such as {'AtCount': {'count': 3}}")
        ((tag, body),) = json.items()
        if tag in _TEXTS:
            return _text(_TEXTS[tag], body, place)
        match tag:
            case "float":
                if isinstance(body, str) and body in _FLOATS:
                    return _FLOATS[body]
                raise _refused(body, place, "'nan', 'inf' or '-inf'")
            case "tuple":
                return self.read(Items(ANYTHING, tuple), body, place)
            case "frozenset":
                return self.read(Items(ANYTHING, frozenset), body, place)
            case "dict":
                return self.read(Pairs(ANYTHING, ANYTHING), body, place)
            case "type":
                return self.read(TypeName(), body, place)
            case "function":
                return self.read(Function(), body, place)
            case "node":
                return self.read(NodeNumber(), body, place)
            case _:
                cls = _found(tagged(tag), place)
                return _member(cls, body, place) if issubclass(cls, Enum) else self.record(cls, body, place)

    def record(self, cls: type, json: object, place: Place) -> object:
        """A record of a class from its fields."""
        if not isinstance(json, dict):
            raise _refused(json, place, f"an object with the fields of {cls.__name__}")
        try:
            parts = {part.name: part for part in parts_of(cls)}
        except NameError as unresolved:
            raise DocumentError(
                f"{place}: the annotations of {cls.__name__} cannot be resolved: {unresolved}"
            ) from unresolved
        for name in json:
            if name not in parts:
                known = ", ".join(parts) or "none"
                raise DocumentError(f"{place}: {cls.__name__} has no field {name!r}; its fields are: {known}")
        for name, part in parts.items():
            if name not in json and part.required:
                raise DocumentError(f"{place}: {cls.__name__} needs its field {name!r}")
        given = {name: self.read(parts[name].form, value, place.field(name)) for name, value in json.items()}
        try:
            return _built(cls, given)
        except Exception as error:  # what a constructor of the user's may raise is not known
            raise DocumentError(f"{place}: {error}") from error

    def node(self, json: object, place: Place) -> None:
        """One more node, which later ones may read."""
        value = self.anything(json, place)
        if not isinstance(value, Node):
            raise _refused(json, place, "a node, such as SourceNode or ElementWise")
        self.nodes.append(value)

    def _node_at(self, json: object, place: Place) -> Node:
        if isinstance(json, int) and not isinstance(json, bool) and 0 <= json < len(self.nodes):
            return self.nodes[json]
        raise _refused(json, place, "the number of an earlier node")

    def _mapping(self, form: Pairs, json: object, place: Place) -> dict[object, object]:
        found: dict[object, object] = {}
        for i, pair in enumerate(_list(json, place)):
            key, value = self._pair(form, pair, place.item(i))
            if not isinstance(key, Hashable) or key in found:
                raise _refused(pair, place.item(i), "a pair with a key of its own")
            found[key] = value
        return found

    def _pair(self, form: Pairs, json: object, place: Place) -> tuple[object, object]:
        match _list(json, place):
            case [key, value]:
                return self.read(form.key, key, place.item(0)), self.read(form.value, value, place.item(1))
            case _:
                raise _refused(json, place, "a list of a key and a value")


def _built(cls: type, given: Mapping[str, object]) -> object:
    """A value from its fields. A node's analyses and what a source says of itself are computed again."""
    match cls, given:
        case _, {"input": input, "steps": steps} if cls is ElementWise:
            return _element_wise(cast("Node", input), cast("tuple[Step, ...]", steps))
        case _, {"node": SourceNode() as node} if issubclass(cls, Source):
            record = cast("type[object]", type_of(node.shape))
            return Source(node.name, record, event_time=cast("_EventTimeOf", node.event_time.f))
        case _, {"node": _} if issubclass(cls, Source):
            raise DocumentError("the node of a Source must be a SourceNode")
        case _:
            for parameter in inspect.signature(cls).parameters.values():
                if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                    return cls(*cast("tuple[object, ...]", given[parameter.name]))
            return cls(**given)


def _element_wise(node: Node, steps: tuple[Step, ...]) -> ElementWise:
    if not steps:
        raise DocumentError("the steps of an ElementWise must be one or more")
    return ElementWise(node, steps)


def _gathered(cls: type, items: list[object], json: object, place: Place) -> object:
    if cls is not frozenset:
        return cls(items)
    if not all(isinstance(item, Hashable) for item in items) or len(frozenset(items)) != len(items):
        raise _refused(json, place, "a list of different items that can be hashed")
    return frozenset(items)


def _text(notation: Notation, json: object, place: Place) -> object:
    if isinstance(json, str):
        try:
            return notation.read(json)
        except (ValueError, ArithmeticError):
            pass
    raise _refused(json, place, notation.valid)


def _member(cls: type[Enum], json: object, place: Place) -> Enum:
    if isinstance(json, str) and json in cls.__members__:
        return cls.__members__[json]
    raise _refused(json, place, f"one of {', '.join(cls.__members__)}")


def _list(json: object, place: Place) -> list[object]:
    if isinstance(json, list):
        return json
    raise _refused(json, place, "a list")


def _shape(json: object, place: Place) -> Shape:
    kind = _found(type_from(json), place)
    try:
        return shape_of(kind)
    except RecordTypeError as error:
        raise DocumentError(f"{place}: {error}") from error


def _found(result: Result[A, str], place: Place) -> A:
    return or_raise(result, lambda reason: DocumentError(f"{place}: {reason}"))


def _refused(json: object, place: Place, valid: str) -> DocumentError:
    return DocumentError(f"{place} must be {valid}; got {format_value(json)}")


__all__ = ["Reader"]
