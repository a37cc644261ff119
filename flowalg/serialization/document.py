"""A value of the algebra as JSON text, with a format, a version, and the nodes of pipelines in a list."""

from __future__ import annotations

import json
from typing import Final, Generic, Never, TypeAlias, TypeVar, cast, get_args, get_origin, overload

from attrs import frozen

from flowalg.combiners.core import Aggregate
from flowalg.data.errors import (
    ArgumentError,
    DocumentError,
    ElementError,
    NotWritableError,
    RecordTypeError,
    ValueRangeError,
    format_value,
)
from flowalg.data.shapes import Shape, shape_of
from flowalg.data.values import conform
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.ptransform import PTransform
from flowalg.runs.timeline import Timeline
from flowalg.serialization.paths import Place
from flowalg.serialization.reading import Reader
from flowalg.serialization.registry import is_frozen
from flowalg.serialization.writing import Writer
from flowalg.triggers.syntax import OnceTrigger, Trigger
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows.strategy import WindowingStrategy
from flowalg.windows.window_functions import WindowFn

A = TypeVar("A")

FORMAT: Final = "flowalg"
VERSION: Final = 1

_WIDTH: Final = 90

Writable: TypeAlias = (
    PCollection[object]
    | PTransform[Never, object]
    | Trigger
    | WindowFn
    | WindowingStrategy
    | WatermarkPolicy
    | Timeline[object]
    | Aggregate[Never, object]
)
"""What has a JSON form, if the functions in it have names; ``Source`` is a ``PCollection``."""


@frozen
class Kind(Generic[A]):
    """One of several classes: what ``from_json`` may be told to expect where a class would say too much."""

    name: str
    classes: tuple[type, ...]


TRIGGER: Final[Kind[Trigger]] = Kind("a trigger", get_args(Trigger))
"""Any trigger."""

ONCE_TRIGGER: Final[Kind[OnceTrigger]] = Kind("a once-trigger", get_args(OnceTrigger))
"""Any once-trigger."""

WINDOWS: Final[Kind[WindowFn]] = Kind("a window function", get_args(WindowFn))
"""Any window function."""

WATERMARK_POLICY: Final[Kind[WatermarkPolicy]] = Kind(
    "a watermark policy", get_args(WatermarkPolicy) or (WatermarkPolicy,)
)
"""Any watermark policy."""

COMBINER: Final[Kind[Aggregate[object, object]]] = Kind("a combiner", (Aggregate,))
"""Any combiner; the document does not say of what values, so whoever reads it must know."""


def to_json(value: Writable, *, indent: int | None = None) -> str:
    """A value of the algebra as JSON text, from which ``from_json`` makes an equal one.

    Functions, record classes and combiners of the user's own go by ``module:name``, so they must be importable.
    A lambda is not: ``NotWritableError`` names the transform, the function with its file and line, and what to do.
    A node that several collections share is written once. Shapes and the analyses of functions are left out.
    With an ``indent`` the text has lines, and an object that fits in one stays in one.
    Law: what comes back is equal.
    """
    if not (is_frozen(type(value)) or isinstance(value, PCollection)):
        raise ArgumentError(
            "value",
            value,
            "a value of the algebra, such as a PCollection, a Source, a trigger, windows or a combiner",
        )
    if indent is not None and (isinstance(indent, bool) or not isinstance(indent, int) or indent < 0):
        raise ArgumentError("indent", indent, "an int of zero or more, or None")
    writer = Writer()
    try:
        written = writer.anything(value, Place("value"))
        nodes = {"nodes": writer.nodes} if writer.nodes else {}
        document = {"format": FORMAT, "version": VERSION, **nodes, "value": written}
        return _line(document) if indent is None else _lines(document, indent, "")
    except RecursionError as deep:
        raise NotWritableError("value: it is nested too deeply to be written") from deep


def _line(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _lines(document: object, indent: int, margin: str) -> str:
    """JSON over several lines: what fits in one stays in one."""
    line = _line(document)
    inner = margin + " " * indent
    match document:
        case dict() if document and (len(margin) + len(line) > _WIDTH or not margin):
            parts = [f"{_line(name)}: {_lines(one, indent, inner)}" for name, one in document.items()]
            opening, closing = "{", "}"
        case list() if document and len(margin) + len(line) > _WIDTH:
            parts = [_lines(one, indent, inner) for one in document]
            opening, closing = "[", "]"
        case _:
            return line
    body = ",\n".join(f"{inner}{part}" for part in parts)
    return f"{opening}\n{body}\n{margin}{closing}"


@overload
def from_json(text: str, expect: type[A]) -> A: ...
@overload
def from_json(text: str, expect: Kind[A]) -> A: ...
def from_json(text: str, expect: type[A] | Kind[A]) -> A:
    """The value that ``to_json`` wrote.

    ``expect`` is its class, which types the result: ``WindowingStrategy``, ``PCollection[KV[str, int]]``,
    ``Source[Score]``, ``Timeline[Score]``; or a ``Kind`` where there are several: ``TRIGGER``, ``WINDOWS``,
    ``COMBINER``. The types of elements are checked where they are known; ``PCollection[object]`` is one of any.
    Nothing is evaluated but the import of the modules that the text names, and the constructors of the
    records in it. Both run code, so read only what you trust.

    Raises ``DocumentError`` with the place in the document when the text is not what ``to_json`` writes, when it
    has another version, when a name does not import, or when the value is not what is expected.
    """
    args: tuple[object, ...] = ()
    if isinstance(expect, Kind):
        classes, name = expect.classes, expect.name
    else:
        origin = get_origin(expect) or expect
        if getattr(expect, "__parameters__", ()):
            raise ArgumentError(
                "expect", expect, "given the types that it holds, such as PCollection[object] for any"
            )
        if not isinstance(origin, type):
            raise ArgumentError(
                "expect", expect, "a class, such as PCollection[object], or a Kind, such as TRIGGER"
            )
        classes, name, args = (origin,), f"of type {origin.__name__}", get_args(expect)
    try:
        value = _value(_parsed(text))
    except RecursionError as deep:
        raise DocumentError("the document is nested too deeply to be read") from deep
    if not isinstance(value, classes):
        raise DocumentError(f"value must be {name}; got {format_value(value)}")
    for element in args:
        _check_elements(value, element)
    return cast("A", value)


def _value(document: dict[str, object]) -> object:
    for name, valid in (("format", FORMAT), ("version", VERSION)):
        if name not in document:
            raise DocumentError(f"the document has no {name!r}; it must have {name!r}: {json.dumps(valid)}")
        if document[name] != valid or type(document[name]) is not type(valid):
            raise DocumentError(
                f"{name} is {format_value(document[name])}; this version of flowalg reads {valid!r} only"
            )
    for name in document:
        if name not in ("format", "version", "nodes", "value"):
            raise DocumentError(f"the document has a field {name!r}, which no document has")
    if "value" not in document:
        raise DocumentError("the document has no 'value'")
    nodes = document.get("nodes", [])
    if not isinstance(nodes, list):
        raise DocumentError(f"nodes must be a list of nodes; got {format_value(nodes)}")
    reader = Reader()
    for number, node in enumerate(nodes):
        reader.node(node, Place(f"nodes[{number}]"))
    return reader.anything(document["value"], Place("value"))


def _parsed(text: str) -> dict[str, object]:
    if not isinstance(text, str):
        raise ArgumentError("text", text, "a str of JSON, as to_json gives it")
    try:
        document: object = json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise DocumentError(f"the text is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise DocumentError(
            f"the document must be an object, as to_json gives it; got {format_value(document)}"
        )
    return document


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DocumentError(f"the document gives {twice!r} twice in one object")
    return found


def _no_number(name: str) -> object:
    raise DocumentError(f"the text is no JSON: {name} is no number of JSON")


def _check_elements(value: object, element: object) -> None:
    """That elements are of the type that the reader expects, where that can be known."""
    if element is object:
        return
    try:
        shape = shape_of(element)
    except RecordTypeError as error:
        raise ArgumentError("expect", element, "an element type", why=str(error)) from error
    match value:
        case PCollection(shape=found) if found is not None and found != shape:
            raise DocumentError(f"value must be a collection of {shape}; got a collection of {found}")
        case Timeline(instants=instants):
            for number, instant in enumerate(instants):
                for index, one in enumerate(instant.elements):
                    _check_element(one, shape, f"value.instants[{number}].elements[{index}]")
        case _:
            pass


def _check_element(element: object, shape: Shape, where: str) -> None:
    try:
        conform(element, shape, where)
    except (ElementError, ValueRangeError) as error:
        raise DocumentError(str(error)) from error


__all__ = [
    "COMBINER",
    "FORMAT",
    "ONCE_TRIGGER",
    "TRIGGER",
    "VERSION",
    "WATERMARK_POLICY",
    "WINDOWS",
    "Kind",
    "Writable",
    "from_json",
    "to_json",
]
