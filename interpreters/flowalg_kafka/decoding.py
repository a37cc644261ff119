"""Decodes the messages of a topic to the records of a source, as Arrow tables.

JSON is parsed as in files of JSON lines: strictly, with the types of the record class. Many messages are parsed at
once. Each is one record: a number that is added to each message, as a field whose name no producer knows, detects
messages that have several objects, or a part of one.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import IO, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import fields_in
from flowalg_columns.text_files import describe_bad_cell
from flowalg_columns.values import write_nested
from pyarrow import json as arrow_json

from flowalg.data.errors import (
    ElementError,
    FlowalgError,
    SchemaMismatchError,
    UserFunctionError,
    describe_function,
)
from flowalg.data.shapes import BINARY, INTEGER, TEXT, RecordOf, Shape, required
from flowalg.data.shapes import TIMESTAMP as TIME
from flowalg.data.time import EPOCH
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import BadRecord, bad_text
from flowalg.runs.elements import at_any_time, read_or_reject
from flowalg_kafka.avro import AvroError, AvroFormat, describe_unlike, read_record
from flowalg_kafka.input import (
    COLUMNS,
    OFFSET,
    PARTITION,
    TIMESTAMP,
    Header,
    KafkaInput,
    KafkaMessage,
    MessageField,
)

_NUMBER: Final = f"__message_{secrets.token_hex(4)}"
_BEGIN: Final = f'{{"{_NUMBER}":'.encode()
_MICROSECOND: Final = timedelta(microseconds=1)
_MOST_BYTES: Final = 1 << 28
"""The size of a text that is parsed at once; pyarrow parses less than 2 GB."""
_OBJECT: Final = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*")
"""The beginning of a JSON object, which may have the byte order mark of UTF-8."""

_HUGE: Final = re.compile(rb"\d{309}")
"""Digits that are perhaps a number beyond the floats, which pyarrow takes for infinity."""

Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
"""The numbers of messages in a table."""

Parts: TypeAlias = "pa.ChunkedArray[pa.Scalar[pa.DataType]] | pa.Array[pa.Scalar[pa.DataType]]"

Reject = Callable[[int, BadRecord], None]
"""Receives the number of a message that is not a record, and its error. Without it, such a message raises."""


def require_decodable(source: SourceNode, topic: KafkaInput) -> None:
    """Raises ``SchemaMismatchError`` if a source cannot have the fields that an input names, or hides its columns."""
    fields = dict(fields_in(source.shape))
    problems = [
        f"{name} must not be a field: it is a column of messages" for name in COLUMNS if name in fields
    ]
    for name, part in topic.fields.items():
        allowed = _shapes_of(part)
        shape = fields.get(name)
        if shape is None:
            problems.append(
                f"{name} must be a field, since KafkaInput.fields names it; got {', '.join(fields)}"
            )
        elif required(shape) not in allowed:
            described = (
                f"the header {part.name!r}" if isinstance(part, Header) else f"the {part} of a message"
            )
            problems.append(f"{name} must be {' or '.join(map(str, allowed))} for {described}; got {shape}")
    if isinstance(topic.format, AvroFormat):
        problems += describe_unlike(
            topic.format, {name: shape for name, shape in fields.items() if name not in topic.fields}
        )
    if problems:
        lines = "".join(f"\n  {problem}" for problem in problems)
        raise SchemaMismatchError(
            f"the records of source {source.name!r} do not fit the topic {topic.topic!r}:{lines}"
        )


def _shapes_of(part: MessageField) -> tuple[Shape, ...]:
    if part == "timestamp":
        return (TIME,)
    return (INTEGER,) if part in ("partition", "offset") else (TEXT, BINARY)


def place_of(topic: str, partition: object, offset: object) -> str:
    """Returns where a message is, for errors."""
    return f"topic {topic!r}, partition {partition}, offset {offset}"


def decode_messages(
    source: SourceNode, topic: KafkaInput, messages: pa.Table, reject: Reject | None
) -> pa.Table:
    """Returns the records of messages with their fields and the columns ``COLUMNS``, in order.

    ``messages`` has the columns that ``columns_of`` names. Messages that are not records go to ``reject``. Without it,
    the first raises ``ElementError``, or ``UserFunctionError`` if the function raises, with the place of the message.
    """
    return _Decoder(source, topic, messages.combine_chunks(), reject).decode()


class _Decoder:
    """Decodes the messages of a micro-batch."""

    def __init__(
        self, source: SourceNode, topic: KafkaInput, messages: pa.Table, reject: Reject | None
    ) -> None:
        self.source, self.topic, self.messages, self.reject = source, topic, messages, reject
        self.fields = fields_in(source.shape)
        names = set(topic.fields)
        types = {name: arrow_type(shape) for name, shape in self.fields if name not in names}
        # JSON and Avro have durations as whole microseconds.
        self.durations = [name for name, type_ in types.items() if pa.types.is_duration(type_)]
        self.schema = pa.schema({**types, **dict.fromkeys(self.durations, pa.int64())})
        self.numbered = self.schema.append(pa.field(_NUMBER, pa.int64()))
        self.values = _array(messages, "value")

    def decode(self) -> pa.Table:
        """Returns the records of messages that are records."""
        match self.topic.format:
            case "json":
                table, good = self._divide(
                    self._with_texts(), self._parse, lambda number: self._describe(self._value(number))
                )
            case AvroFormat() as avro:
                table, good = self._avro(avro)
            case function:
                table, good = self._call(function)
        kept = self.messages if len(good) == self.messages.num_rows else self.messages.take(good)
        shapes = dict(self.fields)
        parts = {name: self._part(part, kept, shapes[name]) for name, part in self.topic.fields.items()}
        columns = {PARTITION: "partition", OFFSET: "offset", TIMESTAMP: "timestamp"}
        places = {name: kept.column(column) for name, column in columns.items()}
        read = dict(zip(table.column_names, table.columns, strict=True))
        return pa.Table.from_pydict({**read, **parts, **places})

    def _divide(
        self, numbers: Numbers, parse: Callable[[Numbers], pa.Table | None], describe: Callable[[int], str]
    ) -> tuple[pa.Table, Numbers]:
        """Returns the rows of messages and their numbers.

        ``parse`` returns the rows of some messages, or ``None`` if it fails; ``describe`` says why it does for one.
        """
        good: list[Numbers] = []
        parts: list[pa.Table] = []
        # Several ranges of messages, each divided until it parses or is one message.
        ranges = [numbers] if len(numbers) else []
        while ranges:
            some = ranges.pop()
            table = parse(some)
            if table is not None:
                parts.append(table)
                good.append(some)
            elif len(some) == 1:
                self._fail(int(some[0]), describe(int(some[0])))
            else:
                ranges += [some[len(some) // 2 :], some[: len(some) // 2]]
        table = pa.concat_tables(parts) if parts else self.schema.empty_table()
        for name in self.durations:
            at = table.schema.get_field_index(name)
            table = table.set_column(at, name, table.column(name).cast(pa.duration("us")))
        return table, np.concatenate([numbers[:0], *good])

    def _with_texts(self) -> Numbers:
        """Returns the numbers of the messages whose parts that are text in records are UTF-8."""
        shapes = dict(self.fields)
        bad: dict[int, str] = {}
        for name, part in self.topic.fields.items():
            if (part == "key" or isinstance(part, Header)) and required(shapes[name]) == TEXT:
                for number, found in enumerate(_bytes_of(part, self.messages)):
                    if found is not None and not _is_text(found):
                        bad.setdefault(number, f"{name} must be UTF-8 text; got {found!r}")
        for number in sorted(bad):
            self._fail(number, bad[number])
        return np.delete(np.arange(len(self.values)), sorted(bad))

    def _parse(self, numbers: Numbers) -> pa.Table | None:
        """Returns the rows of JSON texts; ``None`` unless each is one object with the types of the source."""
        whole = len(numbers) == len(self.values)
        lines = _lines(self.values if whole else self.values.take(numbers))
        if lines is None or (lines.nbytes > _MOST_BYTES and len(numbers) > 1):
            return None
        try:
            lines.cast(pa.large_string())  # validates UTF-8
            text = lines.buffers()[2]
            assert text is not None, "there is a line"
            table = arrow_json.read_json(
                cast("IO[bytes]", pa.BufferReader(text)),
                read_options=arrow_json.ReadOptions(use_threads=False, block_size=text.size + 1),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=self.numbered, unexpected_field_behavior="ignore"
                ),
            )
        except pa.ArrowException:
            return None
        if not np.array_equal(table.column(_NUMBER).to_numpy(), np.arange(len(numbers))):
            return None
        if any(_has_infinity(column) for column in table.columns) and _HUGE.search(text):
            return None
        return table.select(self.schema.names)

    def _describe(self, text: bytes | None) -> str:
        if text is None:
            return "the message has no value"
        if not _is_text(text):
            return "the value is not valid UTF-8"
        # The text may have several lines, which would be rows of a file.
        line = re.sub(rb"[\r\n]+", b" ", text)
        described = describe_bad_cell(line, "json", self.schema) if line.strip() else None
        if described is None:
            huge = _HUGE.search(text) is not None
            return "a number is too large for a float" if huge else "the value must be one JSON object"
        return re.sub(r"^row 1 (?=is |must |has )", "the value ", described).removeprefix("row 1: ")

    def _avro(self, avro: AvroFormat) -> tuple[pa.Table, Numbers]:
        values = self.values.to_pylist()
        rows: dict[int, dict[str, object]] = {}
        for number in self._with_texts().tolist():
            try:
                rows[number] = read_record(avro, values[number])
            except AvroError as error:
                self._fail(number, str(error))

        def write(numbers: Numbers) -> pa.Table | None:
            return _written([rows[number] for number in numbers.tolist()], self.schema)

        def describe(number: int) -> str:
            bad = next(field for field in self.schema if _written([rows[number]], pa.schema([field])) is None)
            return f"{bad.name} must be of type {bad.type}; got {rows[number][bad.name]!r}"

        return self._divide(np.array(list(rows), dtype=np.int64), write, describe)

    def _call(self, function: Callable[[KafkaMessage], object]) -> tuple[pa.Table, Numbers]:
        good: list[int] = []
        records: list[object] = []
        for number, message in enumerate(self._messages()):
            try:
                record = function(message)
            except Exception as error:
                described = f"{describe_function(function)} raised {type(error).__name__}: {error}"
                self._fail(number, described, error)
                continue
            if self.reject is not None:
                read = read_or_reject(self.source, record, at_any_time)
                if isinstance(read, BadRecord):
                    self.reject(number, evolve(read, error=f"{self._place(number)}: {read.error}"))
                    continue
            good.append(number)
            records.append(record)
        where = f"source {self.source.name!r}: element"
        try:
            array = write_nested(self.source.shape, records, where)
        except FlowalgError:
            # Finds the message of the first record that cannot be written.
            for number, record in zip(good, records, strict=True):
                try:
                    write_nested(self.source.shape, [record], where)
                except FlowalgError as error:
                    raise type(error)(f"{self._place(number)}: {error}") from error
            raise
        names = [name for name, _ in self.fields]
        kept = np.array(good, dtype=np.int64)
        if isinstance(self.source.shape, RecordOf):
            return pa.Table.from_arrays(cast("pa.StructArray", array).flatten(), names=names), kept
        return pa.Table.from_arrays([array], names=names), kept

    def _messages(self) -> Iterator[KafkaMessage]:
        # As integers, since pyarrow's datetimes need a database of time zones.
        at = self.messages.schema.get_field_index("timestamp")
        micros = self.messages.column("timestamp").cast(pa.int64())
        for row in self.messages.set_column(at, "timestamp", micros).to_pylist():
            headers = tuple((header["key"], header["value"]) for header in row.pop("headers") or ())
            time = row.pop("timestamp")
            timestamp = None if time is None else EPOCH + time * _MICROSECOND
            yield KafkaMessage(self.topic.topic, headers=headers, timestamp=timestamp, **row)

    def _part(self, part: MessageField, messages: pa.Table, shape: Shape) -> Parts:
        """Returns a part of messages as a column."""
        if isinstance(part, Header) or part == "key":
            return pa.array(_bytes_of(part, messages), pa.binary()).cast(arrow_type(required(shape)))
        return messages.column(part)

    def _fail(self, number: int, described: str, cause: Exception | None = None) -> None:
        error = f"{self._place(number)}: source {self.source.name!r}: {described}"
        text = (self._value(number) or b"").decode(errors="backslashreplace")
        if self.reject is not None:
            self.reject(number, bad_text(self.source, error, text))
        elif cause is not None:
            raise UserFunctionError(error) from cause
        else:
            raise ElementError(f"{error}; the value is {text[:200]!r}")

    def _place(self, number: int) -> str:
        partition, offset = (self.messages.column(name)[number] for name in ("partition", "offset"))
        return place_of(self.topic.topic, partition, offset)

    def _value(self, number: int) -> bytes | None:
        return cast("bytes | None", self.values[number].as_py())


def _array(messages: pa.Table, name: str) -> pa.LargeBinaryArray:
    """Returns a column of bytes as one array."""
    found = messages.column(name).combine_chunks()
    assert isinstance(found, pa.LargeBinaryArray), "columns have the types of MESSAGES"
    return found


def _lines(texts: pa.LargeBinaryArray) -> pa.LargeBinaryArray | None:
    """Returns JSON objects, each with its number as a further field; ``None`` if a text does not begin as an object."""
    if texts.null_count:
        return None
    if not pc.all(pc.starts_with(texts, '{"')).as_py():
        plain = [_without_space(text) for text in texts.to_pylist()]
        if None in plain:
            return None
        texts = pa.array(plain, pa.large_binary())
    numbers = pa.array(np.arange(len(texts))).cast(pa.large_string()).cast(pa.large_binary())
    begin, comma, end, between = (pa.scalar(each, pa.large_binary()) for each in (_BEGIN, b",", b"\n", b""))
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


def _written(rows: list[dict[str, object]], schema: pa.Schema) -> pa.Table | None:
    """Returns rows as a table; ``None`` if a value does not have the type of its column."""
    try:
        return pa.Table.from_struct_array(cast("pa.StructArray", pa.array(rows, pa.struct(list(schema)))))
    except (pa.ArrowException, OverflowError):
        return None


def _has_infinity(column: Parts) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_inf(column)).as_py())


def _bytes_of(part: MessageField, messages: pa.Table) -> list[bytes | None]:
    """Returns the keys of messages, or their last headers with a name."""
    if not isinstance(part, Header):
        return cast("list[bytes | None]", messages.column("key").to_pylist())
    found = messages.column("headers").to_pylist()
    return [{header["key"]: header["value"] for header in headers or ()}.get(part.name) for headers in found]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


__all__ = ["Reject", "decode_messages", "place_of", "require_decodable"]
