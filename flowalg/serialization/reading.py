"""Deserializes values from JSON by the forms of their fields; errors name the path in the document."""

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
    Product,
    ShapeName,
    Tagged,
    Text,
    TypeName,
    field_forms,
)
from flowalg.serialization.names import import_object, unwrap_or_raise
from flowalg.serialization.notations import DURATION, NOTATIONS, Notation
from flowalg.serialization.paths import DocumentPath
from flowalg.serialization.registry import class_of_tag
from flowalg.serialization.types import type_from, type_of
from flowalg.windows.strategy import FOREVER

A = TypeVar("A")
_EventTimeOf: TypeAlias = Callable[[object], datetime]
_NOTATIONS_BY_TAG: Final[Mapping[str, Notation]] = {
    cls.__name__: notation for cls, notation in NOTATIONS.items()
}
_FLOATS: Final[Mapping[str, float]] = {text: float(text) for text in ("nan", "inf", "-inf")}


class Reader:
    """Deserializes values. Its state is the list of nodes read so far."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def read(self, form: Form, json: object, path: DocumentPath) -> object:
        """Returns the value of JSON; raises ``DocumentError`` if the JSON does not have the form."""
        match form:
            case Plain(cls=cls):
                value = self.anything(json, path) if cls is float else json
                if type(value) is cls or (cls is float and type(value) is int):
                    return value
                raise _error(json, path, f"of type {cls.__name__}")
            case Text(cls=cls):
                return _read_text(NOTATIONS[cls], json, path)
            case Lateness():
                return FOREVER if json == "FOREVER" else _read_text(DURATION, json, path)
            case Member(cls=cls):
                return _read_member(cls, json, path)
            case Maybe(of=inner):
                return None if json is None else self.read(inner, json, path)
            case Items(of=inner, cls=cls):
                items = [
                    self.read(inner, item, path.item(i)) for i, item in enumerate(_require_list(json, path))
                ]
                return _collect(cls, items, json, path)
            case Product(items=forms):
                listed = _require_list(json, path)
                if len(listed) != len(forms):
                    raise _error(json, path, f"a list of {len(forms)}")
                pairs = enumerate(zip(forms, listed, strict=True))
                return tuple(self.read(inner, item, path.item(i)) for i, (inner, item) in pairs)
            case Pairs():
                return self._mapping(form, json, path)
            case FieldsOf(cls=cls):
                return self.record(cls, json, path)
            case Function():
                value = (
                    _unwrap(import_object(json), path) if isinstance(json, str) else self.anything(json, path)
                )
                if callable(value):
                    return value
                raise _error(json, path, "the name of a function")
            case TypeName():
                return _unwrap(type_from(json), path)
            case ShapeName():
                return _read_shape(json, path)
            case NodeNumber():
                return self._node_at(json, path)
            case Tagged(classes=classes):
                value = self.anything(json, path)
                if classes and not isinstance(value, classes):
                    names = ", ".join(class_.__name__ for class_ in classes)
                    raise _error(json, path, f"one of {names}" if len(classes) > 1 else f"of type {names}")
                return value
        assert_never(form)

    def anything(self, json: object, path: DocumentPath) -> object:
        """Returns a value whose type a tag in the document determines."""
        if isinstance(json, list):
            return [self.anything(item, path.item(i)) for i, item in enumerate(json)]
        if not isinstance(json, dict):
            return json
        if len(json) != 1:
            raise _error(json, path, "a value with one tag, such as {'AtCount': {'count': 3}}")
        ((tag, body),) = json.items()
        if tag in _NOTATIONS_BY_TAG:
            return _read_text(_NOTATIONS_BY_TAG[tag], body, path)
        match tag:
            case "float":
                if isinstance(body, str) and body in _FLOATS:
                    return _FLOATS[body]
                raise _error(body, path, "'nan', 'inf' or '-inf'")
            case "tuple":
                return self.read(Items(ANYTHING, tuple), body, path)
            case "frozenset":
                return self.read(Items(ANYTHING, frozenset), body, path)
            case "dict":
                return self.read(Pairs(ANYTHING, ANYTHING), body, path)
            case "type":
                return self.read(TypeName(), body, path)
            case "function":
                return self.read(Function(), body, path)
            case "node":
                return self.read(NodeNumber(), body, path)
            case _:
                cls = _unwrap(class_of_tag(tag), path)
                return (
                    _read_member(cls, body, path) if issubclass(cls, Enum) else self.record(cls, body, path)
                )

    def record(self, cls: type, json: object, path: DocumentPath) -> object:
        """Returns a record of a class from its fields."""
        if not isinstance(json, dict):
            raise _error(json, path, f"an object with the fields of {cls.__name__}")
        try:
            parts = {part.name: part for part in field_forms(cls)}
        except NameError as unresolved:
            raise DocumentError(
                f"{path}: the annotations of {cls.__name__} cannot be resolved: {unresolved}"
            ) from unresolved
        for name in json:
            if name not in parts:
                known = ", ".join(parts) or "none"
                raise DocumentError(f"{path}: {cls.__name__} has no field {name!r}; its fields are: {known}")
        for name, part in parts.items():
            if name not in json and part.required:
                raise DocumentError(f"{path}: {cls.__name__} lacks its field {name!r}")
        given = {name: self.read(parts[name].form, value, path.field(name)) for name, value in json.items()}
        try:
            return _construct(cls, given)
        except Exception as error:  # a constructor of the user may raise any exception
            raise DocumentError(f"{path}: {error}") from error

    def node(self, json: object, path: DocumentPath) -> None:
        """Adds a node, to which later nodes may refer."""
        value = self.anything(json, path)
        if not isinstance(value, Node):
            raise _error(json, path, "a node, such as SourceNode or ElementWise")
        self.nodes.append(value)

    def _node_at(self, json: object, path: DocumentPath) -> Node:
        if isinstance(json, int) and not isinstance(json, bool) and 0 <= json < len(self.nodes):
            return self.nodes[json]
        raise _error(json, path, "the number of an earlier node")

    def _mapping(self, form: Pairs, json: object, path: DocumentPath) -> dict[object, object]:
        found: dict[object, object] = {}
        for i, pair in enumerate(_require_list(json, path)):
            key, value = self._pair(form, pair, path.item(i))
            if not isinstance(key, Hashable) or key in found:
                raise _error(pair, path.item(i), "a pair with a distinct, hashable key")
            found[key] = value
        return found

    def _pair(self, form: Pairs, json: object, path: DocumentPath) -> tuple[object, object]:
        match _require_list(json, path):
            case [key, value]:
                return self.read(form.key, key, path.item(0)), self.read(form.value, value, path.item(1))
            case _:
                raise _error(json, path, "a list of a key and a value")


def _construct(cls: type, given: Mapping[str, object]) -> object:
    """Constructs a value from its fields. Derived attributes of nodes and sources are computed again."""
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


def _collect(cls: type, items: list[object], json: object, path: DocumentPath) -> object:
    if cls is not frozenset:
        return cls(items)
    if not all(isinstance(item, Hashable) for item in items) or len(frozenset(items)) != len(items):
        raise _error(json, path, "a list of distinct, hashable items")
    return frozenset(items)


def _read_text(notation: Notation, json: object, path: DocumentPath) -> object:
    if isinstance(json, str):
        try:
            return notation.read(json)
        except (ValueError, ArithmeticError):
            pass
    raise _error(json, path, notation.valid)


def _read_member(cls: type[Enum], json: object, path: DocumentPath) -> Enum:
    if isinstance(json, str) and json in cls.__members__:
        return cls.__members__[json]
    raise _error(json, path, f"one of {', '.join(cls.__members__)}")


def _require_list(json: object, path: DocumentPath) -> list[object]:
    if isinstance(json, list):
        return json
    raise _error(json, path, "a list")


def _read_shape(json: object, path: DocumentPath) -> Shape:
    kind = _unwrap(type_from(json), path)
    try:
        return shape_of(kind)
    except RecordTypeError as error:
        raise DocumentError(f"{path}: {error}") from error


def _unwrap(result: Result[A, str], path: DocumentPath) -> A:
    return unwrap_or_raise(result, lambda reason: DocumentError(f"{path}: {reason}"))


def _error(json: object, path: DocumentPath, valid: str) -> DocumentError:
    return DocumentError(f"{path} must be {valid}; got {format_value(json)}")


__all__ = ["Reader"]
