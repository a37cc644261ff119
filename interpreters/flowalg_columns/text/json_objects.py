"""JSON objects as the fields of records: exactly, in Python, and many at once, by Arrow.

A text is one object. Fields that the records lack are skipped, however deep or many, and are never values; a field that
an object lacks is null, and one that it has twice is an error. Floats may also be ``NaN``, ``Infinity`` and
``-Infinity``, bare as Python writes them or as texts. Tuples are arrays, or objects of ``_1``, ``_2`` and so on.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import IO, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from flowalg.data.shapes import (
    BINARY,
    BOOLEAN,
    DAY,
    DECIMAL,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    DURATION,
    FLOAT,
    TEXT,
    TIMESTAMP,
    EnumOf,
    ListOf,
    MapOf,
    MaybeOf,
    OptionalOf,
    RecordOf,
    Scalar,
    SetOf,
    Shape,
    SumOf,
    TupleOf,
    inner_shapes,
    present,
    tag_of,
)
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import VALUE, parts_of
from flowalg_columns.text.dividing import BadTextError, Numbers, ReadTexts, Row, read_divided
from flowalg_columns.text.scalars import (
    ANY,
    INFERRED,
    TEXTS,
    describe_shape,
    has_infinity,
    read_scalar,
    read_scalars,
    type_of_field,
)
from flowalg_columns.values import AnyArray

Fields: TypeAlias = Sequence[tuple[str, Shape]]
"""The fields of records, with their shapes."""

_NUMBER_FIELD: Final = f"__text_{secrets.token_hex(4)}"
_BEGIN: Final = f'{{"{_NUMBER_FIELD}":'.encode()
_OBJECT: Final = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*")
"""The beginning of a JSON object, which may have the byte order mark of UTF-8."""
_MOST_BYTES: Final = 1 << 28
"""The size of a text that Arrow parses at once; it parses less than 2 GB."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_WORD: Final = re.compile(r"true|false|null|-?(?:NaN|Infinity|Inf)")
_FLOAT_WORDS: Final = ("NaN", "Infinity", "-Infinity")
_DIGITS: Final = DECIMAL_PRECISION - DECIMAL_SCALE
_LARGE: Final = rf'[:\[,]\s*"?[+-]?[0-9.]*(?:[0-9]{{{_DIGITS + 1}}}|[eE][+-]?[0-9]+"?\s*[,}}\]])|\\u00[2-7]'
"""A decimal with many digits or an exponent, or an escaped character that may be a part of one."""
_UNLIKE: Final[Mapping[Scalar, str]] = {DECIMAL: _LARGE, FLOAT: "-NaN"}
"""What texts have, perhaps, whose scalars Arrow reads unlike the contract: its arithmetic of decimals wraps."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SHOWN: Final = 80
"""The characters of a text that a message shows."""


def schema_of_fields(fields: Fields) -> pa.Schema:
    """Returns the Arrow schema of fields."""
    return pa.schema([(name, type_of_field(shape)) for name, shape in fields])


def read_objects(
    texts: pa.LargeBinaryArray, fields: Fields, numbers: Numbers | None = None, *, whole: SumOf | None = None
) -> ReadTexts:
    """Reads JSON objects as rows with the fields of records; ``numbers`` are those of the texts that are read.

    Each object is a value of the sum ``whole`` if it is given: that of the field ``value``.
    """
    schema = schema_of_fields(fields)
    parsed = _parsed_schema(fields, whole)

    unlike = [_UNLIKE[scalar] for scalar in _UNLIKE if any(_contains(shape, scalar) for _, shape in fields)]
    doubtful = "|".join(unlike)

    def at_once(chunk: Numbers) -> pa.Table | None:
        lines = _numbered(texts if len(chunk) == len(texts) else texts.take(chunk))
        if lines is None or parsed is None or (doubtful and _has(lines, doubtful)):
            return None
        table = _parse(lines, parsed)
        return None if table is None else _finish(table, fields, schema, whole)

    def one(number: int) -> Row:
        return read_object(cast("bytes | None", texts[number].as_py()), fields, whole)

    return read_divided(np.arange(len(texts)) if numbers is None else numbers, at_once, one, schema)


def sum_of_objects(shape: Shape) -> SumOf | None:
    """Returns the shape of a source's elements if it is a sum of records, each of which is one JSON object.

    Other elements that are not records are the field ``value`` of an object.
    """
    return shape if isinstance(shape, SumOf) and shape.has_objects else None


# At once


def _parsed_schema(fields: Fields, whole: SumOf | None) -> pa.Schema | None:
    """Returns the schema as which Arrow parses objects; ``None`` if a field would have two types."""
    others = [(name, _parsed_type(shape)) for name, shape in fields if whole is None or name != VALUE]
    members = pa.struct([]) if whole is None else _parsed_sum(whole)
    if not isinstance(members, pa.StructType):
        return None
    types = {field.name: field.type for field in members}
    if any(types.setdefault(name, kind) != kind for name, kind in others):
        return None
    return pa.schema([*types.items(), (_NUMBER_FIELD, pa.int64())])


def _parsed_type(shape: Shape) -> pa.DataType:
    """Returns the type as which Arrow parses a value: texts that ``read_scalars`` reads stay texts."""
    match shape:
        case Scalar():
            if shape in (TIMESTAMP, DAY, BINARY, *TEXTS):
                return pa.string()
            return pa.int64() if shape == DURATION else arrow_type(shape)
        case EnumOf():
            return pa.string()
        case OptionalOf(of=inner) | MaybeOf(of=inner):
            return _parsed_type(inner)
        case ListOf(of=inner) | SetOf(of=inner):
            return pa.list_(_parsed_type(inner))
        case RecordOf() | TupleOf():
            return pa.struct([pa.field(name, _parsed_type(part)) for name, part in parts_of(shape)])
        case SumOf():
            return _parsed_sum(shape)
        case MapOf():
            return pa.list_(_parsed_type(shape.item))


def _parsed_sum(shape: SumOf) -> pa.DataType:
    """Returns a struct with the tags and the fields of all members; a type of no object if their types differ."""
    types: dict[str, set[pa.DataType]] = {field: {pa.string()} for field in shape.tag_fields}
    for member in shape.members:
        for name, part in parts_of(member.shape) if isinstance(member.shape, RecordOf) else ():
            types.setdefault(name, set()).add(_parsed_type(part))
    if not shape.has_objects or any(len(kinds) > 1 for kinds in types.values()):
        return pa.null()
    return pa.struct([pa.field(name, kind) for name, (kind,) in types.items()])


def _numbered(texts: pa.LargeBinaryArray) -> pa.LargeBinaryArray | None:
    """Returns JSON objects, each with its number as a further field, which no producer knows.

    The numbers show texts that have several objects, or a part of one. ``None`` if a text does not begin as an object.
    """
    if texts.null_count:
        return None
    if not pc.all(pc.starts_with(texts, '{"')).as_py():
        plain = [_without_space(text) for text in texts.to_pylist()]
        if None in plain:
            return None
        texts = pa.array(plain, pa.large_binary())
    numbers = pa.array(np.arange(len(texts))).cast(pa.large_string()).cast(pa.large_binary())
    begin, comma, end, between = (pa.scalar(text, pa.large_binary()) for text in (_BEGIN, b",", b"\n", b""))
    rest = pc.binary_replace_slice(texts, 0, 1, b"")
    # The stubs lack scalars among the arrays, which are the same text for all.
    join = cast("Callable[..., pa.LargeBinaryArray]", pc.binary_join_element_wise)
    return join(begin, numbers, comma, rest, end, between)


def _without_space(text: bytes | None) -> bytes | None:
    """Returns a JSON object whose second character begins its first field; ``None`` if a text does not begin as one."""
    begin = _OBJECT.match(text or b"")
    if begin is None or text is None:
        return None
    rest = text[begin.end() :]
    return (b'{"":null' if rest.startswith(b"}") else b"{") + rest


def _contains(shape: Shape, scalar: Scalar) -> bool:
    return shape == scalar or any(_contains(inner, scalar) for inner in inner_shapes(shape))


def _has(lines: pa.LargeBinaryArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(lines, pattern)).as_py())


def _parse(lines: pa.LargeBinaryArray, schema: pa.Schema) -> pa.Table | None:
    """Returns numbered objects as a table; ``None`` unless each text is one object of this schema.

    Arrow's parser does not recurse, and builds nothing of the fields that it ignores.
    """
    if lines.nbytes > _MOST_BYTES and len(lines) > 1:
        return None
    try:
        lines.cast(pa.large_string())  # validates UTF-8
        text = lines.buffers()[2]
        assert text is not None, "there is a line"
        if not np.frombuffer(memoryview(text), np.uint8).all():  # Arrow takes a zero for the end of the text
            return None
        table = arrow_json.read_json(
            cast("IO[bytes]", pa.BufferReader(text)),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=text.size + 1),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowException, OverflowError):  # the latter for a text of 2 GB
        return None
    if not np.array_equal(table.column(_NUMBER_FIELD).to_numpy(), np.arange(len(lines))):
        return None
    return table


def _finish(table: pa.Table, fields: Fields, schema: pa.Schema, whole: SumOf | None) -> pa.Table | None:
    arrays = []
    for name, shape in fields:
        if whole is not None and name == VALUE:
            columns = [column.combine_chunks() for column in table.columns]
            array = _finish_sum(pa.StructArray.from_arrays(columns, names=table.column_names), whole)
        else:
            array = _finish_array(table.column(name).combine_chunks(), shape)
        if array is None:
            return None
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=schema)


def _finish_array(array: AnyArray, shape: Shape) -> AnyArray | None:
    """Returns parsed values with the type of their shape; ``None`` if one is perhaps invalid."""
    match present(shape):
        case Scalar() as scalar:
            if scalar in TEXTS:
                return array
            if scalar in (TIMESTAMP, DAY, BINARY):
                return read_scalars(array, scalar)
            if scalar == FLOAT and has_infinity(array):
                return None
            return array.cast(arrow_type(scalar))
        case ListOf(of=inner) | SetOf(of=inner):
            lists = cast("pa.ListArray[pa.Scalar[pa.DataType]]", array)
            items = _finish_array(lists.values, inner)
            return None if items is None else _list_array(lists, items)
        case RecordOf() | TupleOf() as whole:
            structs = cast("pa.StructArray", array)
            parts = [
                _finish_array(structs.field(index), part) for index, (_, part) in enumerate(parts_of(whole))
            ]
            finished = [part for part in parts if part is not None]
            if len(finished) < len(parts):
                return None
            names = [name for name, _ in parts_of(whole)]
            return pa.StructArray.from_arrays(finished, names=names, mask=structs.is_null())
        case SumOf() as whole:
            return None if array.type == pa.null() else _finish_sum(cast("pa.StructArray", array), whole)
        case _:
            return array


def _finish_sum(structs: pa.StructArray, shape: SumOf) -> AnyArray | None:
    """Returns the values of a sum; ``None`` if a tag is that of no member, or a value of the fields perhaps invalid."""
    members: list[pa.StructArray] = []
    for member in shape.members:
        assert isinstance(member.shape, RecordOf), "other members are not parsed as objects"
        finished = [_finish_array(structs.field(name), part) for name, part in parts_of(member.shape)]
        parts = [part for part in finished if part is not None]
        if len(parts) < len(finished):
            return None
        tag, names = tag_of(member.shape), [name for name, _ in parts_of(member.shape)]
        has_tag = pc.is_in(structs.field(tag.field), pa.array([tag.name]))
        members.append(pa.StructArray.from_arrays(parts, names=names, mask=pc.invert(has_tag)))
    is_member = reduce(pc.or_, (member.is_valid() for member in members))
    if not pc.all(pc.or_(is_member, structs.is_null())).as_py():
        return None
    tags = [member.name for member in shape.members]
    return pa.StructArray.from_arrays(members, names=tags, mask=structs.is_null())


def _list_array(lists: pa.ListArray[pa.Scalar[pa.DataType]], items: AnyArray) -> AnyArray:
    return pa.ListArray.from_arrays(lists.offsets, items, mask=lists.is_null())


# Exactly


def read_object(data: bytes | None, fields: Fields, whole: SumOf | None = None) -> Row:
    """Returns the fields of a JSON object, as Arrow stores their values; raises ``BadTextError``.

    With ``whole``, the object is the value of the field ``value`` itself.
    """
    if data is None:
        raise BadTextError("is missing")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise BadTextError(
            f"is not valid UTF-8: {error.reason} at byte {error.start}; save the file as UTF-8"
        ) from error
    if not text.strip():
        raise BadTextError("must be one JSON object")
    reader = _Reader(text)
    begin = reader.space(1 if text.startswith("\ufeff") else 0)
    if text[begin : begin + 1] != "{":
        end = reader.space(reader.skip(begin))
        if end < len(text):
            raise reader.malformed("Extra data", end)
        raise BadTextError(f"must be a JSON object; got {_shorten(text[begin:].rstrip())}")
    row, end = reader.record(begin, [field for field in fields if whole is None or field[0] != VALUE], "")
    if whole is not None:
        row[VALUE], end = reader.sum(begin, whole, "")
    end = reader.space(end)
    if end < len(text):
        raise reader.malformed("Extra data", end)
    return row


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class _Reader:
    """Reads the values of a JSON text by their shapes; recurses as deep as these only."""

    def __init__(self, text: str) -> None:
        self.text = text

    def malformed(self, problem: str, at: int) -> BadTextError:
        """Returns the error for text that is not JSON."""
        return BadTextError(
            f"is not valid JSON: {problem} at column {at + 1}: {_shorten(self.text.rstrip())}"
        )

    def space(self, at: int) -> int:
        """Returns where the space at a position ends."""
        match = _SPACE.match(self.text, at)
        assert match is not None, "there may be no space"
        return match.end()

    def record(self, at: int, fields: Fields, path: str) -> tuple[dict[str, object], int]:
        """Returns the fields of an object that begins at a position, and its end."""
        shapes = dict(fields)
        row: dict[str, object] = {}
        at = self.space(at + 1)
        if self.text[at : at + 1] == "}":
            return row | dict.fromkeys(shapes), at + 1
        while True:
            name, at = self.key(at)
            if name not in shapes:
                at = self.skip(at)
            elif name in row:
                raise BadTextError(f"{path}{name} is given twice", of_field=True)
            else:
                row[name], at = self.value(at, shapes[name], f"{path}{name}")
            at = self.space(at)
            if self.text[at : at + 1] == "}":
                return {name: row.get(name) for name in shapes}, at + 1
            at = self.comma(at)

    def key(self, at: int) -> tuple[str, int]:
        """Returns the name of a field, and where its value begins."""
        match = _STRING.match(self.text, at)
        if match is None:
            raise self.malformed("Expecting property name enclosed in double quotes", at)
        at = self.space(match.end())
        if self.text[at : at + 1] != ":":
            raise self.malformed("Expecting ':' delimiter", at)
        name = match[0][1:-1]
        return cast("str", json.loads(match[0])) if "\\" in name else name, self.space(at + 1)

    def comma(self, at: int) -> int:
        """Returns where what follows a comma begins."""
        if self.text[at : at + 1] != ",":
            raise self.malformed("Expecting ',' delimiter", at)
        return self.space(at + 1)

    def scalar(self, at: int) -> int:
        """Returns where a string, a number or a word ends."""
        for pattern in (_STRING, _WORD, _NUMBER):
            match = pattern.match(self.text, at)
            if match is not None:
                return match.end()
        raise self.malformed("Expecting value", at)

    def skip(self, at: int) -> int:
        """Returns where a value ends, without a limit to its depth."""
        closers: list[str] = []
        while True:
            opener = self.text[at : at + 1]
            if opener and opener in "{[":
                closers.append("}" if opener == "{" else "]")
                at = self.space(at + 1)
                if self.text[at : at + 1] != closers[-1]:
                    at = self.key(at)[1] if opener == "{" else at
                    continue
                at += 1
                closers.pop()
            else:
                at = self.scalar(at)
            while closers:
                at = self.space(at)
                if self.text[at : at + 1] != closers[-1]:
                    break
                closers.pop()
                at += 1
            if not closers:
                return at
            at = self.comma(at)
            at = self.key(at)[1] if closers[-1] == "}" else at

    def value(self, at: int, shape: Shape, path: str) -> tuple[object, int]:
        """Returns a value of a shape, or ``None`` for null, and its end."""
        if self.text.startswith("null", at):
            return None, at + 4
        begin = self.text[at : at + 1]
        match present(shape):
            case ListOf(of=inner) | SetOf(of=inner) if begin == "[":
                return self.items(at, inner, path)
            case RecordOf() as record if begin == "{":
                return self.record(at, parts_of(record), f"{path}.")
            case TupleOf() as whole if begin == "{":
                return self.record(at, parts_of(whole), f"{path}.")
            case TupleOf() as whole if begin == "[":
                return self.tuple(at, whole, path)
            case SumOf() as whole:
                return self.sum(at, whole, path)
            case Scalar() | EnumOf() as scalar if begin not in ("{", "["):
                end = self.scalar(at)
                return self.converted(self.text[at:end], scalar, path), end
            case other:
                raise self.unlike(path, other, self.text[at : self.skip(at)])

    def sum(self, at: int, shape: SumOf, path: str) -> tuple[dict[str, object], int]:
        """Returns the members of a sum, one of which is not null, and the end of the value."""
        document = self.tags(at, shape)
        member = shape.member_of_json(document)
        if member is None:
            if not isinstance(document, dict):
                raise self.unlike(path, shape, self.text[at : self.skip(at)])
            tags = ", ".join(member.name for member in reversed(shape.members))
            field = next(iter(document), shape.tag_fields[0])
            got = repr(document[field]) if document else "no such field"
            place = f"{path}.{field}" if path else field
            raise BadTextError(f"{place} must be one of {tags}; got {got}", of_field=True)
        if isinstance(member.shape, RecordOf):
            value: object
            value, end = self.record(at, parts_of(member.shape), f"{path}." if path else "")
        else:
            value, end = self.value(at, member.shape, path)
        return {other.name: value if other is member else None for other in shape.members}, end

    def tags(self, at: int, shape: SumOf) -> object:
        """Returns the fields of an object that may be its tag, or an empty value of the same kind as another value."""
        opener = self.text[at : at + 1]
        if opener != "{" or not shape.tag_fields:
            return {"[": [], '"': "", "{": {}}.get(opener, 0)
        tags: dict[str, object] = {}
        end = self.skip(at)
        at = self.space(at + 1)
        while at < end - 1:
            name, at = self.key(at)
            after = self.skip(at)
            if name in shape.tag_fields:
                tags[name] = json.loads(self.text[at:after])
            at = self.space(after)
            at = at if at >= end - 1 else self.comma(at)
        return tags

    def converted(self, token: str, shape: Scalar | EnumOf, path: str) -> object:
        """Returns the value of a string, a number or a word."""
        is_text = token.startswith('"')
        text = cast("str", json.loads(token)) if is_text else token
        if shape in (ANY, INFERRED):
            fits = True
        elif isinstance(shape, EnumOf) or shape in (TEXT, TIMESTAMP, DAY, BINARY):
            fits = is_text
        elif shape == BOOLEAN:
            fits = token in ("true", "false")
        elif shape == FLOAT:
            fits = text in _FLOAT_WORDS or _NUMBER.fullmatch(token) is not None
        else:
            fits = shape == DECIMAL or not is_text
        try:
            if fits and not _SURROGATE.search(text):
                return read_scalar(text, shape)
        except ValueError as error:
            raise self.unlike(path, shape, token, str(error)) from error
        raise self.unlike(path, shape, token)

    def unlike(self, path: str, shape: Shape, token: str, reason: str = "") -> BadTextError:
        """Returns the error for a value of another shape."""
        if reason.startswith("a number"):
            return BadTextError(f"{path} must be {describe_shape(shape)}; {reason}", of_field=True)
        got = repr(json.loads(token)) if token.startswith('"') else token
        got = got.lower() if token == "NaN" else got
        why = f", but {reason}" if reason else ""
        return BadTextError(
            f"{path} must be {describe_shape(shape)}; got {_shorten(got)}{why}", of_field=True
        )

    def items(self, at: int, shape: Shape, path: str) -> tuple[list[object], int]:
        """Returns the items of an array that begins at a position, and its end."""
        items: list[object] = []
        at = self.space(at + 1)
        if self.text[at : at + 1] == "]":
            return items, at + 1
        while True:
            item, at = self.value(at, shape, f"{path}[{len(items)}]")
            items.append(item)
            at = self.space(at)
            if self.text[at : at + 1] == "]":
                return items, at + 1
            at = self.comma(at)

    def tuple(self, at: int, shape: TupleOf, path: str) -> tuple[dict[str, object], int]:
        """Returns the items of a tuple in an array that begins at a position, and its end."""
        end = self.skip(at)
        names: dict[str, object] = {}
        inside = self.space(at + 1)
        for number, (name, part) in enumerate(parts_of(shape)):
            if self.text[inside : inside + 1] == "]":
                break
            if number:
                inside = self.comma(inside)
            names[name], inside = self.value(inside, part, f"{path}[{number}]")
            inside = self.space(inside)
        if len(names) < len(shape.items) or inside != end - 1:
            raise self.unlike(path, shape, self.text[at:end])
        return names, end
