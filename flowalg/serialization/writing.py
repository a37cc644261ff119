"""Serializes values as JSON by the forms of their fields."""

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
    FieldForm,
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
from flowalg.serialization.names import name_of, unwrap_or_raise
from flowalg.serialization.notations import DURATION, NOTATIONS, Notation
from flowalg.serialization.paths import DocumentPath
from flowalg.serialization.registry import is_frozen, tag_of
from flowalg.serialization.types import type_json, type_of
from flowalg.windows.strategy import FOREVER

_AT_TOP_LEVEL: Final = "define it at the top level of a module that can be imported"


class Writer:
    """Serializes values. Its state is the list of nodes written so far, so shared nodes are written once."""

    def __init__(self) -> None:
        self.nodes: list[object] = []
        self._numbers: dict[int, int] = {}

    def write(self, form: Form, value: object, path: DocumentPath) -> object:
        """Returns a value as JSON; raises ``NotWritableError`` if it has no JSON form."""
        match form:
            case Plain(cls=cls):
                if type(value) is cls or (cls is float and type(value) is int):
                    return self.anything(value, path)
            case Text(cls=cls):
                if type(value) is cls:
                    return _text(NOTATIONS[cls], value, path)
            case Lateness():
                return "FOREVER" if value is FOREVER else _text(DURATION, value, path)
            case Member(cls=cls):
                if isinstance(value, cls):
                    return value.name
            case Maybe(of=inner):
                return None if value is None else self.write(inner, value, path)
            case Items(of=inner, cls=cls):
                if isinstance(value, tuple | list | frozenset) and isinstance(value, cls):
                    written = [self.write(inner, item, path.item(i)) for i, item in enumerate(value)]
                    return sorted(written, key=json.dumps) if isinstance(value, frozenset) else written
            case Product(items=items):
                if isinstance(value, tuple) and len(value) == len(items):
                    pairs = enumerate(zip(items, value, strict=True))
                    return [self.write(inner, item, path.item(i)) for i, (inner, item) in pairs]
            case Pairs(key=key, value=inner):
                if isinstance(value, Mapping):
                    return [
                        [self.write(key, k, path.item(i)), self.write(inner, v, path.item(i))]
                        for i, (k, v) in enumerate(value.items())
                    ]
            case FieldsOf(cls=cls):
                if type(value) is cls:
                    return self.fields(value, path)
            case Function():
                if is_frozen(type(value)):
                    return self.anything(value, path)
                if callable(value):
                    return _name(value, path)
            case TypeName():
                return _type(value, path)
            case ShapeName():
                if isinstance(value, Shape):
                    return _shape(value, path)
            case NodeNumber():
                if isinstance(value, Node):
                    return self.node(value)
            case Tagged(classes=classes):
                if not classes or isinstance(value, classes):
                    return self.anything(value, path)
            case _:
                assert_never(form)
        raise _error(path, f"is {format_value(value)}, which is not of its declared type")

    def anything(self, value: object, path: DocumentPath) -> object:
        """Returns a value of any type as JSON, with a tag if JSON alone does not determine the type."""
        kind: type = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if isinstance(value, float) and kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, list) and kind is list:
            return [self.anything(item, path.item(i)) for i, item in enumerate(value)]
        if kind in (tuple, frozenset):
            return {kind.__name__: self.write(Items(ANYTHING, kind), value, path)}
        if kind is dict:
            return {"dict": self.write(Pairs(ANYTHING, ANYTHING), value, path)}
        if kind in NOTATIONS:
            return {kind.__name__: _text(NOTATIONS[kind], value, path)}
        if isinstance(value, Enum):
            return {_tag(value, path): value.name}
        if isinstance(value, Node):
            return {"node": self.node(value)}
        if is_frozen(kind) or isinstance(value, Source):
            return {_tag(value, path): self.fields(value, path)}
        if isinstance(value, type):
            return {"type": _type(value, path)}
        if callable(value):
            return {"function": _name(value, path)}
        raise _error(
            path,
            f"is {format_value(value)}, which has no JSON form; it must be a scalar, a collection of scalars, an enum "
            "member, a function or class that can be imported, or a frozen attrs class of these",
        )

    def fields(self, value: object, path: DocumentPath) -> dict[str, object]:
        """Returns the fields of a record by name. Classes of the algebra omit fields with default values."""
        cls: type = type(value)
        inner = _path_inside(value, path)
        try:
            parts = field_forms(cls)
        except NameError as unresolved:
            raise _error(
                path, f"is a {cls.__name__}, whose annotations cannot be resolved ({unresolved})"
            ) from unresolved
        written: dict[str, object] = {}
        for part in parts:
            field: object = getattr(value, part.attribute)
            where = inner.field(part.name)
            if not part.init:
                raise _error(where, "has init=False, so the record cannot be built from its fields")
            if not _is_default(part, field):
                written[part.name] = self.write(part.form, field, where)
        return written

    def node(self, node: Node) -> int:
        """Returns the index of a node, which is written after its inputs."""
        known = self._numbers.get(id(node))
        if known is not None:
            return known
        for inner in node.inputs:
            self.node(inner)
        path = DocumentPath(f"nodes[{len(self.nodes)}]")
        self.nodes.append({_tag(node, path): self.fields(node, path)})
        self._numbers[id(node)] = len(self.nodes) - 1
        return len(self.nodes) - 1


def _path_inside(value: object, path: DocumentPath) -> DocumentPath:
    """Returns the path inside a value, with the transform or source that messages name."""
    match value:
        case Map() | Filter() | FlatMap() | WithTimestamps() | CombinePerKey() | Over():
            return path.within(value.label)
        case SourceNode(name=name):
            return path.within(f"Source({name!r})")
        case _:
            return path


def _is_default(part: FieldForm, value: object) -> bool:
    return not part.required and type(value) is type(part.default) and value == part.default


def _tag(value: object, path: DocumentPath) -> str:
    return unwrap_or_raise(
        tag_of(type(value)),
        lambda reason: _error(path, f"is {format_value(value)}, whose class {reason}; {_AT_TOP_LEVEL}"),
    )


def _name(f: Callable[..., object], path: DocumentPath) -> str:
    advice = f"{_AT_TOP_LEVEL}, with def, or make it a frozen attrs class with __call__"
    return unwrap_or_raise(
        name_of(f),
        lambda reason: _error(
            path, f"is {describe_function(f)}, which cannot be written: it {reason}; {advice}"
        ),
    )


def _text(notation: Notation, value: object, path: DocumentPath) -> str:
    try:
        return notation.write(value)
    except (ValueError, OverflowError) as error:
        raise _error(path, f"is {format_value(value)}, which cannot be written: {error}") from error


def _type(kind: object, path: DocumentPath) -> object:
    return unwrap_or_raise(
        type_json(kind),
        lambda reason: _error(path, f"is {format_value(kind)}, a type that {reason}; {_AT_TOP_LEVEL}"),
    )


def _shape(shape: Shape, path: DocumentPath) -> object:
    kind = _type_of(shape)
    if kind is None:
        complaint = (
            f"is {shape}, whose type cannot be derived from its fields; use a class without type variables"
        )
        raise _error(path, complaint)
    return _type(kind, path)


def _type_of(shape: Shape) -> object:
    """Returns the type of a shape; ``None`` if its fields do not determine it."""
    try:
        kind = type_of(shape)
        return kind if shape_of(kind) == shape else None
    except (RecordTypeError, TypeError, ValueError, NameError):
        return None


def _error(path: DocumentPath, complaint: str) -> NotWritableError:
    return NotWritableError(f"{path}: it {complaint}")


__all__ = ["Writer"]
