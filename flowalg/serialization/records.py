"""The codec of a declared type. A record is an object of its fields, a function is a name, and a node is an index.

Where the declared type does not determine the class, the document has a tag.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from functools import cache, partial
from typing import Annotated, Any, Final, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

from flowalg.combiners.core import Over
from flowalg.data.errors import DocumentError, NotWritableError, describe_function, format_value
from flowalg.data.record_classes import REQUIRED, record_class
from flowalg.data.shapes import ElementType, Shape
from flowalg.data.time import INGRESS_TIME
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step, WithTimestamps
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import CombinePerKey, ElementWise, Hole, Node, SourceNode
from flowalg.pipeline.source import Source
from flowalg.serialization.codecs import (
    AS_IS,
    LATENESS,
    SCALARS,
    Codec,
    items,
    mapping,
    member_of,
    optional,
    product,
    restricted,
)
from flowalg.serialization.names import AT_TOP_LEVEL, import_object, name_of, unwrap_or_raise
from flowalg.serialization.paths import DocumentPath
from flowalg.serialization.registry import algebra, class_of_tag, is_frozen, is_named_tuple, tag_of
from flowalg.serialization.types import SHAPE, TYPE, type_of
from flowalg.windows.strategy import Forever

_EventTimeOf: TypeAlias = Callable[[object], datetime]


def _write_anything(value: object, at: DocumentPath) -> object:
    """Returns a value of any type as JSON, with a tag if JSON alone does not determine the type."""
    kind: type = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float and isinstance(value, float) and math.isfinite(value):
        return value
    if kind is list and isinstance(value, list):
        return [_write_anything(item, at.item(i)) for i, item in enumerate(value)]
    if kind in _BY_CLASS:
        return {kind.__name__: _BY_CLASS[kind].write(value, at)}
    if isinstance(value, Enum):
        return {_tag(value, at): value.name}
    if isinstance(value, Node):
        return {"node": NODE.write(value, at)}
    if isinstance(value, Source) or is_frozen(kind):
        return {_tag(value, at): _record(kind).write(value, at)}
    if is_named_tuple(kind):
        return {_tag(value, at): _BY_CLASS[tuple].write(value, at)}
    if isinstance(value, type):
        return {"type": TYPE.write(value, at)}
    if callable(value):
        return {"function": FUNCTION.write(value, at)}
    raise at.unwritable(
        f"is {format_value(value)}, which has no JSON form; it must be a scalar, a collection of scalars, an enum "
        "member, a function or class that can be imported, or a record class of these",
    )


def _tag(value: object, at: DocumentPath) -> str:
    def error(reason: str) -> NotWritableError:
        return at.unwritable(f"is {format_value(value)}, whose class {reason}; {AT_TOP_LEVEL}")

    return unwrap_or_raise(tag_of(type(value)), error)


def _read_anything(json: object, at: DocumentPath) -> object:
    """Returns a value whose type a tag in the document determines."""
    if isinstance(json, list):
        return [_read_anything(item, at.item(i)) for i, item in enumerate(json)]
    if not isinstance(json, dict):
        return json
    if len(json) != 1:
        raise at.invalid(json, "a value with one tag, such as {'AtCount': {'count': 3}}")
    ((tag, body),) = json.items()
    codec = _BY_TAG.get(tag)
    if codec is None:
        cls = unwrap_or_raise(class_of_tag(tag), at.unreadable)
        if is_named_tuple(cls):
            return _named(cls, _BY_CLASS[tuple].read(body, at), at)
        codec = member_of(cls) if issubclass(cls, Enum) else _record(cls)
    return codec.read(body, at)


def _named(cls: type, items: object, at: DocumentPath) -> object:
    """Returns a named tuple of a class."""
    try:
        return cls(*cast("tuple[object, ...]", items))
    except Exception as error:  # a constructor of the user may raise any exception
        raise at.unreadable(error) from error


ANYTHING: Final = Codec(_write_anything, _read_anything)
"""A value of any type."""


def _write_function(value: object, at: DocumentPath) -> object:
    if is_frozen(type(value)):
        return ANYTHING.write(value, at)
    if not callable(value):
        raise at.mistyped(value)
    complaint = f"is {describe_function(value)}, which cannot be written: it"
    advice = f"{AT_TOP_LEVEL}, with def, or make it a record class with __call__"
    return unwrap_or_raise(name_of(value), lambda reason: at.unwritable(f"{complaint} {reason}; {advice}"))


def _read_function(json: object, at: DocumentPath) -> object:
    name = import_object(json) if isinstance(json, str) else None
    value = ANYTHING.read(json, at) if name is None else unwrap_or_raise(name, at.unreadable)
    if not callable(value):
        raise at.invalid(json, "the name of a function")
    return value


FUNCTION: Final = Codec(_write_function, _read_function)
"""A function: its name, or a tagged callable record."""


def _write_node(node: object, at: DocumentPath) -> object:
    if not isinstance(node, Node):
        raise at.mistyped(node)
    nodes, indices = at.nodes, at.nodes.indices
    for inner in () if id(node) in indices else nodes_of(node):
        if id(inner) not in indices:
            path = DocumentPath(f"nodes[{len(nodes.written)}]", nodes)
            nodes.written.append({_tag(inner, path): _record(type(inner)).write(inner, path)})
            indices[id(inner)] = len(nodes.written) - 1
    return indices[id(node)]


def _read_node(json: object, at: DocumentPath) -> object:
    if isinstance(json, int) and not isinstance(json, bool) and 0 <= json < len(at.nodes.read):
        return at.nodes.read[json]
    raise at.invalid(json, "the number of an earlier node")


NODE: Final = Codec(_write_node, _read_node)
"""A node: its index in the document's list of nodes, in which it follows its inputs."""

_BY_CLASS: Final[Mapping[type, Codec]] = {
    **SCALARS,
    tuple: items(ANYTHING, tuple),
    frozenset: items(ANYTHING, frozenset),
    dict: mapping(ANYTHING, ANYTHING),
}
_BY_TAG: Final[Mapping[str, Codec]] = {
    **{cls.__name__: codec for cls, codec in _BY_CLASS.items()},
    "type": TYPE,
    "function": FUNCTION,
    "node": NODE,
}


@frozen
class _Field:
    """A field of a class: its attribute, its codec, its default, and whether it is a constructor argument."""

    attribute: str
    codec: Codec
    default: object
    init: bool

    def is_default(self, value: object) -> bool:
        """Returns whether a value is the default, which documents omit."""
        return self.default is not REQUIRED and type(value) is type(self.default) and value == self.default


@cache
def _fields_of(cls: type) -> Mapping[str, _Field]:
    """Returns the fields of a record class by the names of their constructor arguments.

    Fields that are not compared are derived, so they are omitted unless their metadata has ``written``. Defaults of
    user-defined classes are ignored, because they may change after a document was written. Raises ``NameError`` if the
    annotations of a class cannot be resolved.
    """
    hints = get_type_hints(cls, include_extras=True)
    is_algebra = algebra().get(cls.__name__) is cls
    record = record_class(cls)
    assert record is not None, "a record class"
    marked = attrs.fields_dict(cls) if attrs.has(cls) else {}
    written = {name for name, field in marked.items() if field.metadata.get("written")}
    return {
        field.argument or field.name: _Field(
            field.name,
            codec_of(hints.get(field.name)),
            field.made if is_algebra else REQUIRED,
            field.argument is not None,
        )
        for field in record.attributes
        if field.compared or field.name in written
    }


def _record(cls: type) -> Codec:
    """Returns the codec of the records of a class: the object of their fields, without defaults of the algebra."""
    fields_of = partial(_fields_of, cls)

    def write(value: object, at: DocumentPath) -> object:
        if type(value) is not cls:
            raise at.mistyped(value)
        try:
            fields = fields_of()
        except NameError as unresolved:
            raise at.unwritable(
                f"is a {cls.__name__}, whose annotations cannot be resolved ({unresolved})"
            ) from unresolved
        inner = _path_inside(value, at)
        written: dict[str, object] = {}
        for name, field in fields.items():
            part: object = getattr(value, field.attribute)
            if not field.init:
                raise inner.field(name).unwritable(
                    "has init=False, so the record cannot be built from its fields"
                )
            if not field.is_default(part):
                written[name] = field.codec.write(part, inner.field(name))
        return written

    def read(json: object, at: DocumentPath) -> object:
        if not isinstance(json, dict):
            raise at.invalid(json, f"an object with the fields of {cls.__name__}")
        try:
            fields = fields_of()
        except NameError as unresolved:
            raise at.unreadable(
                f"the annotations of {cls.__name__} cannot be resolved: {unresolved}"
            ) from unresolved
        for name in json:
            if name not in fields:
                names = ", ".join(fields) or "none"
                raise at.unreadable(f"{cls.__name__} has no field {name!r}; its fields are: {names}")
        for name, field in fields.items():
            if name not in json and field.default is REQUIRED:
                raise at.unreadable(f"{cls.__name__} lacks its field {name!r}")
        arguments = {name: fields[name].codec.read(part, at.field(name)) for name, part in json.items()}
        try:
            return _construct(cls, arguments)
        except Exception as error:  # a constructor of the user may raise any exception
            raise at.unreadable(error) from error

    return Codec(write, read)


def _path_inside(value: object, at: DocumentPath) -> DocumentPath:
    """Returns the path inside a value, with the transform or source that messages name."""
    match value:
        case Map() | Filter() | FlatMap() | WithTimestamps() | CombinePerKey() | Over():
            return at.within(value.label)
        case SourceNode(name=name):
            return at.within(f"Source({name!r})")
        case _:
            return at


def _construct(cls: type, arguments: Mapping[str, object]) -> object:
    """Constructs a value from its fields. Derived attributes of nodes and sources are computed again."""
    match arguments:
        case {"input": input, "steps": steps} if cls is ElementWise:
            if not steps:
                raise DocumentError("the steps of an ElementWise must be one or more")
            return ElementWise(cast("Node", input), cast("tuple[Step, ...]", steps))
        case {"node": node} if issubclass(cls, Source):
            if not isinstance(node, SourceNode):
                raise DocumentError("the node of a Source must be a SourceNode")
            element = cast("type[object]", type_of(node.shape))
            if node.event_time is None:
                return Source(node.name, element, event_time=INGRESS_TIME)
            return Source(node.name, element, event_time=cast("_EventTimeOf", node.event_time.f))
        case _:
            for parameter in inspect.signature(cls).parameters.values():
                if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                    return cls(*cast("tuple[object, ...]", arguments[parameter.name]))
            return cls(**arguments)


def codec_of(hint: object) -> Codec:
    """Returns the codec of a declared type; ``ANYTHING`` if the type does not determine one."""
    if hint in _KNOWN:
        return _KNOWN[hint]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return codec_of(args[0])
    if origin in (Union, types.UnionType):
        return _union(args)
    if origin is Callable:
        return FUNCTION
    if origin is type:
        return TYPE
    if origin in (list, frozenset) and len(args) == 1:
        return items(codec_of(args[0]), origin)
    if origin is tuple and args:
        if len(args) == 2 and args[1] is Ellipsis:
            return items(codec_of(args[0]), tuple)
        return product(tuple(map(codec_of, args)))
    if origin in (Mapping, dict) and len(args) == 2:
        return mapping(codec_of(args[0]), codec_of(args[1]))
    cls = hint if origin is None else origin
    return _of_class(cls) if isinstance(cls, type) else ANYTHING


def _union(args: tuple[object, ...]) -> Codec:
    arms = tuple(arg for arg in args if arg is not types.NoneType)
    if len(arms) < len(args):
        return optional(codec_of(arms[0]) if len(arms) == 1 else _union(arms))
    if set(arms) == {timedelta, Forever}:
        return LATENESS
    classes = tuple(get_origin(arm) or arm for arm in arms)
    plain_classes = tuple(cls for cls in classes if isinstance(cls, type))
    return _instance_of(plain_classes) if len(plain_classes) == len(classes) else ANYTHING


def _of_class(cls: type) -> Codec:
    if cls in (bool, int, str):
        return restricted(AS_IS, lambda value: type(value) is cls, f"of type {cls.__name__}")
    if cls is float:
        return restricted(ANYTHING, lambda value: type(value) in (int, float), "of type float")
    if cls in SCALARS:
        return SCALARS[cls]
    if issubclass(cls, Enum):
        return member_of(cls)
    if [subclass for subclass in algebra().values() if issubclass(subclass, cls)] == [cls]:
        return _record(cls)
    return ANYTHING if cls is object or getattr(cls, "_is_protocol", False) else _instance_of((cls,))


def _instance_of(classes: tuple[type, ...]) -> Codec:
    """Returns the codec of the instances of some classes, each with its tag."""
    names = ", ".join(cls.__name__ for cls in classes)
    valid = f"one of {names}" if len(classes) > 1 else f"of type {names}"
    return restricted(ANYTHING, lambda value: isinstance(value, classes), valid)


_KNOWN: Final[Mapping[object, Codec]] = {
    None: ANYTHING,
    Any: ANYTHING,  # a class in Python 3.11
    ElementType: TYPE,
    type: TYPE,
    Shape: SHAPE,
    Node: NODE,
    Hole: NODE,
}
