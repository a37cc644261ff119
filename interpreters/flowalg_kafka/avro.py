"""Avro: messages whose value is one record of a schema, and which record classes can have its fields."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from io import BytesIO
from types import ModuleType
from typing import Final, TypeAlias, assert_never, cast

from attrs import frozen
from flowalg_columns.layout import VALUE, parts_of

from flowalg.data import shapes
from flowalg.data.errors import ArgumentError, FlowalgError, MissingExtraError

AvroType: TypeAlias = "str | list[AvroType] | dict[str, object]"
"""A type of a schema: the name of a type, a union, or any other type."""

_KINDS: Final[Mapping[shapes.Scalar, tuple[str, ...]]] = {
    shapes.BOOLEAN: ("boolean",),
    shapes.INTEGER: ("int", "long"),
    shapes.FLOAT: ("double", "float", "int"),
    shapes.TEXT: ("string", "enum"),
    shapes.BINARY: ("bytes", "fixed"),
    shapes.TIMESTAMP: ("timestamp-micros", "timestamp-millis"),
    shapes.DAY: ("date",),
    shapes.DURATION: ("long",),
    shapes.DECIMAL: ("decimal",),
}
"""The types whose values are those of a scalar. A duration is a number of microseconds, as in JSON."""

_LOGICAL: Final = {"timestamp-micros", "timestamp-millis", "date", "decimal"}
_PRECISION: Final = 10_000
_PREFIX: Final = 5
"""The length of the prefix of Confluent's wire format: a zero byte, and an id of four bytes."""


class AvroError(FlowalgError, ValueError):
    """A value is not a record of a schema."""


@frozen
class AvroFormat:
    """Messages whose value is one Avro record in the binary encoding.

    ``schema`` is the schema with which they were written, as JSON text. If messages have Confluent's wire format, in
    which a zero byte and the id of a schema precede the record, ``schema`` is a mapping of ids to schemas instead. They
    are not requested from a registry.

    Each field of the record class is a field of the schemas, which may have others, with a type of the same values: an
    ``int`` is an ``int`` or ``long``, a ``datetime`` a ``timestamp-micros`` or ``timestamp-millis``, a ``timedelta`` a
    ``long`` of microseconds, an ``Enum`` the name of its member. A field that may be ``None`` may also be missing. A
    sum of records is a union of records whose names are the tags; a source of one may also have several schemas.
    Other classes raise ``SchemaMismatchError`` before the query starts. Needs fastavro, which ``flowalg[kafka]``
    installs.

    Raises ``ArgumentError`` for a schema that is invalid, recursive, or not that of a record, and
    ``MissingExtraError``.

    Example::

        KafkaInput("localhost:9092", "scores", format=AvroFormat(Path("score.avsc").read_text()))
    """

    schema: str | Mapping[int, str]

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.schema, str) and not (
            isinstance(self.schema, Mapping)
            and self.schema
            and all(
                type(schema_id) is int and isinstance(text, str) for schema_id, text in self.schema.items()
            )
        ):
            valid = "a schema as JSON text, or a mapping of ids to such schemas"
            raise ArgumentError("AvroFormat.schema", self.schema, valid)
        for text in _texts(self.schema).values():
            _parse(text)


def read_record(
    format: AvroFormat, value: bytes | None, fields: Mapping[str, shapes.Shape], whole: shapes.SumOf | None
) -> dict[str, object]:
    """Returns the fields of the record in a value; raises ``AvroError`` if it is not one record.

    With ``whole``, the record is the value of this sum in the field ``value``; its name is the tag.
    """
    if value is None:
        raise AvroError("the message has no value")
    schema = format.schema
    text, begin = (schema, 0) if isinstance(schema, str) else (_of_id(schema, value), _PREFIX)
    data = BytesIO(value)
    data.seek(begin)
    named = whole is not None or any(map(shapes.contains_sum, fields.values()))
    schema_of_text = _parse(text)
    try:
        record = _driver().schemaless_reader(data, schema_of_text, None, return_record_name=named)
    except EOFError as error:
        raise AvroError("the value ends within its Avro record") from error
    except Exception as error:  # corrupt bytes raise various errors of Python
        raise AvroError(f"the value is not a record of the Avro schema: {error}") from error
    if data.tell() != len(value):
        raise AvroError(f"the value has {len(value) - data.tell()} bytes after its Avro record")
    if whole is None:
        return (
            {name: _of_shape(record.get(name), shape) for name, shape in fields.items()} if named else record
        )
    name = None if isinstance(schema_of_text, list) else schema_of_text["name"]
    return {VALUE: _of_shape(record if name is None else (name, record), whole)}


def _of_shape(value: object, shape: shapes.Shape) -> object:
    """Returns a value in which records of unions are tuples of their name and fields, as Arrow stores it."""
    shape = shapes.present(shape)
    if isinstance(shape, shapes.SumOf) and value is not None:
        return _of_member(value, shape)
    if isinstance(value, tuple):
        _, value = value
    match shape, value:
        case shapes.ListOf(of=inner) | shapes.SetOf(of=inner), list():
            return [_of_shape(item, inner) for item in value]
        case shapes.RecordOf() | shapes.TupleOf(), Mapping():
            return {name: _of_shape(value.get(name), part) for name, part in parts_of(shape)}
        case _:
            return value


def _of_member(value: object, shape: shapes.SumOf) -> dict[str, object]:
    if isinstance(value, tuple):
        name, value = value
        tag = str(name).rpartition(".")[2]
        member = next((member for member in shape.members if member.name == tag), None)
    else:
        tag, member = repr(value), shape.member_of_json(value)
    if member is None:
        tags = ", ".join(member.name for member in reversed(shape.members))
        raise AvroError(f"a value of a union must be of one of {tags}; got {tag}")
    return {
        other.name: _of_shape(value, member.shape) if other is member else None for other in shape.members
    }


def _texts(schema: str | Mapping[int, str]) -> Mapping[int | None, str]:
    """Returns the schemas by their ids; that of messages without an id has the id ``None``."""
    return {None: schema} if isinstance(schema, str) else dict(schema.items())


def _of_id(schemas: Mapping[int, str], value: bytes) -> str:
    if len(value) < _PREFIX or value[0]:
        raise AvroError("the value must begin with a zero byte and the id of its schema in four bytes")
    schema_id = int.from_bytes(value[1:_PREFIX], "big")
    if schema_id not in schemas:
        raise AvroError(
            f"the id of its schema must be one of {', '.join(map(str, schemas))}; got {schema_id}"
        )
    return schemas[schema_id]


def _driver() -> ModuleType:
    try:
        return importlib.import_module("fastavro")
    except ImportError as missing:
        raise MissingExtraError("Avro needs the package fastavro: pip install 'flowalg[kafka]'") from missing


@cache
def _parse(text: str) -> dict[str, object] | list[AvroType]:
    """Returns a schema of a record, or of a union of records, as fastavro takes it."""
    valid = "a schema of an Avro record, or of a union of records, as JSON text"
    module = _driver()
    try:
        schema = module.parse_schema(json.loads(text))
    except Exception as error:  # an invalid schema raises various errors of Python
        raise ArgumentError("AvroFormat.schema", text, valid, why=str(error)) from error
    records = schema if isinstance(schema, list) else [schema]
    if not records or any(not isinstance(record, dict) or record["type"] != "record" for record in records):
        raise ArgumentError("AvroFormat.schema", text, valid)
    if not all(_prepare(record, _named(schema), frozenset()) for record in records):
        why = "a record class is not recursive"
        raise ArgumentError("AvroFormat.schema", text, "a schema without recursive types", why=why)
    return cast("dict[str, object] | list[AvroType]", schema)


def _prepare(node: AvroType, named: Mapping[str, AvroType], enclosing: Set[str]) -> bool:
    """Changes a parsed schema so that its values are exact, and returns whether no type contains itself.

    A logical type that no class has, such as ``uuid``, is ignored, as the specification of Avro demands of those that
    are unknown. fastavro would round a decimal to its precision.
    """
    match node:
        case str():
            return node not in enclosing and (
                node not in named or _prepare(named[node], named, {*enclosing, node})
            )
        case list():
            return all(_prepare(branch, named, enclosing) for branch in node)
        case dict():
            if node.get("logicalType") not in _LOGICAL:
                node.pop("logicalType", None)
            elif "precision" in node:
                node["precision"] = _PRECISION
            inside = {*enclosing, cast("str", node["name"])} if node["type"] == "record" else enclosing
            return all(_prepare(part, named, inside) for part in _parts(node))
    assert_never(node)


def _parts(node: Mapping[str, object]) -> Iterator[AvroType]:
    """Yields the types inside of a type."""
    yield from (field["type"] for field in _fields(node))
    yield from (cast("AvroType", node[name]) for name in ("items", "values") if name in node)


def _fields(node: Mapping[str, object]) -> list[dict[str, AvroType]]:
    return cast("list[dict[str, AvroType]]", node.get("fields", []))


def _named(schema: Mapping[str, object] | Sequence[AvroType]) -> Mapping[str, AvroType]:
    """Returns all types of a schema that have names, by these."""
    records = [schema] if isinstance(schema, Mapping) else schema
    named: dict[str, AvroType] = {}
    for record in records:
        assert isinstance(record, Mapping), "a record"
        named |= cast("Mapping[str, AvroType]", record["__named_schemas"])
    return named


def describe_unlike(
    format: AvroFormat, fields: Mapping[str, shapes.Shape], whole: shapes.SumOf | None
) -> Iterator[str]:
    """Yields what is wrong with the fields of a record class, or the records of a sum, for the schemas of a format."""
    if whole is not None:
        yield from _describe_lacking(format, whole)
        return
    for number, text in _texts(format.schema).items():
        schema = _parse(text)
        where = "the Avro schema" if number is None else f"the Avro schema {number}"
        if isinstance(schema, list):
            yield f"{where} must be that of one record, unless the elements of the source are of several types"
            continue
        types = {str(field["name"]): field["type"] for field in _fields(schema)}
        for name, shape in fields.items():
            if name not in types and not isinstance(shape, shapes.Nullable):
                yield f"{name} must be a field of {where}; got {', '.join(types)}"
            elif name in types and not _fits(types[name], shape, _named(schema)):
                kinds = f": {' or '.join(_KINDS[shape])}" if isinstance(shape, shapes.Scalar) else ""
                yield f"{name} must have a type of {where} for {shape}{kinds}; got {json.dumps(types[name])}"


def _describe_lacking(format: AvroFormat, whole: shapes.SumOf) -> Iterator[str]:
    """Yields the members of a sum that are no record of the schemas, or one with other fields."""
    records: dict[str, tuple[AvroType, Mapping[str, AvroType]]] = {}
    for text in _texts(format.schema).values():
        schema = _parse(text)
        for record in schema if isinstance(schema, list) else [schema]:
            assert isinstance(record, dict), "a record"
            records[str(record["name"]).rpartition(".")[2]] = record, _named(schema)
    for member in reversed(whole.members):
        if member.name not in records:
            yield f"{member.name} must be the name of a record of the Avro schema; got {', '.join(records)}"
        elif not _fits(records[member.name][0], member.shape, records[member.name][1]):
            yield f"{member.name} must have the fields of {member.shape} in the Avro schema"


def _fits(avro_type: AvroType, shape: shapes.Shape, named: Mapping[str, AvroType]) -> bool:
    """Returns whether the values of a type of a schema, except for nulls, are values of a shape."""
    if isinstance(shape, shapes.Nullable):
        return _fits(avro_type, shape.of, named)
    if isinstance(shape, shapes.SumOf):
        return isinstance(avro_type, list) and all(
            any(
                _is_tagged(branch, member, named) and _fits(branch, member.shape, named)
                for branch in avro_type
            )
            for member in shape.members
        )
    kind, node = _kind(avro_type, named)
    match shape:
        case shapes.Scalar():
            return kind in _KINDS[shape] and cast("int", node.get("scale", 0)) <= shapes.DECIMAL_SCALE
        case shapes.EnumOf():
            return kind in ("string", "enum")
        case shapes.ListOf(of=inner) | shapes.SetOf(of=inner):
            return kind == "array" and _fits(cast("AvroType", node["items"]), inner, named)
        case shapes.RecordOf() | shapes.TupleOf():
            types = {str(field["name"]): field["type"] for field in _fields(node)}
            return kind == "record" and all(
                _fits(types[name], part, named) if name in types else isinstance(part, shapes.Nullable)
                for name, part in parts_of(shape)
            )
        case shapes.MapOf():
            return False
    assert_never(shape)


def _is_tagged(branch: AvroType, member: shapes.Field, named: Mapping[str, AvroType]) -> bool:
    """Returns whether a type of a union is that of a member, if it is a record's."""
    node = _kind(branch, named)[1]
    is_record = isinstance(member.shape, shapes.RecordOf)
    return not is_record or str(node.get("name", "")).rpartition(".")[2] == member.name


def _kind(avro_type: AvroType, named: Mapping[str, AvroType]) -> tuple[str, Mapping[str, object]]:
    """Returns the name of a type, or of the only one besides null in a union, and the type."""
    if isinstance(avro_type, list):
        branches = [branch for branch in avro_type if branch != "null"]
        return _kind(branches[0], named) if len(branches) == 1 else ("union", {})
    if isinstance(avro_type, str):
        return _kind(named[avro_type], named) if avro_type in named else (avro_type, {})
    return str(avro_type.get("logicalType", avro_type["type"])), avro_type
