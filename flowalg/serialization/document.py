"""Documents: a value of the algebra as JSON text, with a format, a version, and a list of pipeline nodes."""

from __future__ import annotations

import json
from collections import Counter
from math import isinf
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
from flowalg.pipeline.nodes import Node
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.ptransform import Bundle, Nodes, PTransform
from flowalg.runs.timeline import Timeline
from flowalg.serialization.paths import DocumentNodes, DocumentPath
from flowalg.serialization.records import ANYTHING
from flowalg.serialization.registry import is_frozen
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
    | PTransform[Never, Bundle]
    | Trigger
    | WindowFn
    | WindowingStrategy
    | WatermarkPolicy
    | Timeline[object]
    | Aggregate[Never, object]
)
"""The serializable values, if their functions have names. ``Source`` is a ``PCollection``."""


@frozen
class Kind(Generic[A]):
    """A union of classes that ``from_json`` can expect, such as all triggers."""

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
"""Any combiner. The document does not contain the type of its values, which the reader must know."""


def to_json(value: Writable, *, indent: int | None = None) -> str:
    """Serializes a value of the algebra as JSON text, which ``from_json`` deserializes to an equal value.

    Functions, record classes and user-defined combiners are written as ``module:name``, so they must be importable.
    Lambdas are not: ``NotWritableError`` names the transform, the function with its file and line, and a remedy. A node
    that several collections share is written once. Shapes and analyses of functions are derived again, not written.
    With an ``indent`` the text has several lines; an object that fits on one line stays on one line.
    Law: ``from_json(to_json(v))`` equals ``v``.

    Example:

    >>> print(to_json(FixedWindows(MINUTE), indent=2))
    {
      "format": "flowalg",
      "version": 1,
      "value": {"FixedWindows": {"size": "PT1M"}}
    }
    """
    if not (is_frozen(type(value)) or isinstance(value, PCollection)):
        raise ArgumentError(
            "value",
            value,
            "a value of the algebra, such as a PCollection, a Source, a trigger, windows or a combiner",
        )
    if indent is not None and (isinstance(indent, bool) or not isinstance(indent, int) or indent < 0):
        raise ArgumentError("indent", indent, "an int of zero or more, or None")
    nodes = DocumentNodes()
    try:
        written = ANYTHING.write(value, DocumentPath("value", nodes))
        before = {"nodes": nodes.written} if nodes.written else {}
        document = {"format": FORMAT, "version": VERSION, **before, "value": written}
        return _line(document) if indent is None else _lines(document, indent, "")
    except RecursionError as deep:
        raise NotWritableError("value: it is nested too deeply") from deep
    except ValueError as error:  # an integer with more digits than Python converts
        raise NotWritableError(f"value: {error}") from error


def _line(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _lines(document: object, indent: int, margin: str) -> str:
    """Formats JSON over several lines; a value that fits on one line stays on one line."""
    line = _line(document)
    inner = margin + " " * indent
    match document:
        case dict() if document and (len(margin) + len(line) > _WIDTH or not margin):
            parts = [f"{_line(name)}: {_lines(item, indent, inner)}" for name, item in document.items()]
            opening, closing = "{", "}"
        case list() if document and len(margin) + len(line) > _WIDTH:
            parts = [_lines(item, indent, inner) for item in document]
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
    """Deserializes a value that ``to_json`` wrote.

    ``expect`` is the class of the value, which types the result: ``WindowingStrategy``, ``PCollection[KV[str, int]]``,
    ``Source[Score]``, ``Timeline[Score]``; or a ``Kind`` for several classes: ``TRIGGER``, ``WINDOWS``, ``COMBINER``.
    The types of elements are checked if they are known; ``PCollection[object]`` accepts all element types. Reading
    imports the modules that the text names and calls the constructors of its records. Both run code, so read only
    trusted documents.

    Raises ``DocumentError``, with the path in the document, if the text is not a document of this version, if a name
    cannot be imported, or if the value is not of the expected class.
    """
    args: tuple[object, ...] = ()
    if isinstance(expect, Kind):
        classes, name = expect.classes, expect.name
    else:
        origin = get_origin(expect) or expect
        if getattr(expect, "__parameters__", ()):
            raise ArgumentError(
                "expect", expect, "a class with its type arguments, such as PCollection[object]"
            )
        if not isinstance(origin, type):
            raise ArgumentError(
                "expect", expect, "a class, such as PCollection[object], or a Kind, such as TRIGGER"
            )
        classes, name, args = (origin,), f"of type {origin.__name__}", get_args(expect)
    try:
        value = _read_document(_parse(text))
    except RecursionError as deep:
        raise DocumentError("the document is nested too deeply") from deep
    if not isinstance(value, classes):
        raise DocumentError(f"value must be {name}; got {format_value(value)}")
    if isinstance(value, PTransform):
        for argument, nodes in zip(args, (value.inputs, value.outputs), strict=bool(args)):
            _check_bundle(argument, nodes)
    else:
        for element in args:
            _check_elements(value, element)
    return cast("A", value)


def _read_document(document: dict[str, object]) -> object:
    for name, valid in (("format", FORMAT), ("version", VERSION)):
        if name not in document:
            raise DocumentError(f"the document has no {name!r}; it must have {name!r}: {json.dumps(valid)}")
        if document[name] != valid or type(document[name]) is not type(valid):
            raise DocumentError(
                f"{name} is {format_value(document[name])}; this version of flowalg reads {valid!r} only"
            )
    for name in document:
        if name not in ("format", "version", "nodes", "value"):
            raise DocumentError(
                f"the document has an unknown field {name!r}; the fields are format, version, nodes and value"
            )
    if "value" not in document:
        raise DocumentError("the document has no 'value'")
    listed = document.get("nodes", [])
    if not isinstance(listed, list):
        raise DocumentError(f"nodes must be a list of nodes; got {format_value(listed)}")
    nodes = DocumentNodes()
    for number, json_node in enumerate(listed):
        path = DocumentPath(f"nodes[{number}]", nodes)
        node = ANYTHING.read(json_node, path)
        if not isinstance(node, Node):
            raise path.invalid(json_node, "a node, such as SourceNode or ElementWise")
        nodes.read.append(node)
    return ANYTHING.read(document["value"], DocumentPath("value", nodes))


def _parse(text: str) -> dict[str, object]:
    if not isinstance(text, str):
        raise ArgumentError("text", text, "a str of JSON, as to_json writes it")
    try:
        document: object = json.loads(
            text,
            object_pairs_hook=_reject_duplicates,
            parse_constant=_reject_constant,
            parse_float=_finite_float,
        )
    except DocumentError:
        raise
    except ValueError as error:  # also an integer with more digits than Python converts
        raise DocumentError(f"the text is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise DocumentError(
            f"the document must be an object, as to_json writes it; got {format_value(document)}"
        )
    return document


def _reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    json_object = dict(pairs)
    if len(json_object) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name in counts if counts[name] > 1)
        raise DocumentError(f"an object of the document has the key {twice!r} twice")
    return json_object


def _finite_float(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise DocumentError(f"the text is not valid: {text[:40]} is beyond the largest float")
    return number


def _reject_constant(name: str) -> object:
    raise DocumentError(f"the text is not valid JSON: {name} is not a JSON number")


def _check_elements(value: object, element: object) -> None:
    """Checks that elements have the expected type, if it is known."""
    if element is object:
        return
    try:
        shape = shape_of(element)
    except RecordTypeError as error:
        raise ArgumentError("expect", element, "an element type", why=str(error)) from error
    match value:
        case PCollection(shape=actual) if actual is not None and actual != shape:
            raise DocumentError(f"value must be a collection of {shape}; got a collection of {actual}")
        case Timeline(instants=instants):
            for number, instant in enumerate(instants):
                for index, found_element in enumerate(instant.elements):
                    _check_element(found_element, shape, f"value.instants[{number}].elements[{index}]")
        case _:
            pass


def _check_bundle(expected: object, nodes: Nodes) -> None:
    """Checks that what a transform takes or returns has the expected type, if it is known."""
    match get_origin(expected), get_args(expected):
        case (cls, (element,)) if cls is PCollection and isinstance(nodes, Node):
            _check_elements(PCollection(nodes), element)
        case (cls, parts) if cls is tuple and isinstance(nodes, tuple) and len(parts) == len(nodes):
            for part, inner in zip(parts, nodes, strict=True):
                _check_bundle(part, inner)
        case _ if expected in (Bundle, PCollection[object], object, Never) or type(nodes) is expected:
            pass
        case _:
            raise DocumentError(f"a transform must take and return collections as in {expected}; got {nodes}")


def _check_element(element: object, shape: Shape, where: str) -> None:
    try:
        conform(element, shape, where)
    except (ElementError, ValueRangeError) as error:
        raise DocumentError(str(error)) from error
