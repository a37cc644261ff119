"""Decodes the messages of a topic to the records of a source, as Arrow tables.

A text of JSON is parsed as in files of JSON lines: strictly, with the types of the record class. Each message is one
record: a number that is added to each message detects messages that have several objects, or a part of one.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, cast

import numpy as np
import pyarrow as pa
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
from flowalg.data.shapes import BINARY, INTEGER, TEXT, OptionalOf, RecordOf, Shape
from flowalg.data.shapes import TIMESTAMP as TIME
from flowalg.data.time import EPOCH
from flowalg.pipeline.nodes import SourceNode
from flowalg.runs.bad_records import BadRecord, bad_text
from flowalg.runs.elements import at_any_time, read_or_reject
from flowalg_kafka.client import RawMessage
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

_NUMBER: Final = "__message"
_MILLISECOND: Final = timedelta(milliseconds=1)
_MILLIS: Final = pa.timestamp("ms", tz="UTC")

Reject = Callable[[RawMessage, BadRecord], None]
"""Receives a message that is not a record, and its error. Without a ``Reject``, such a message raises."""


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
        elif _plain(shape) not in allowed:
            described = (
                f"the header {part.name!r}" if isinstance(part, Header) else f"the {part} of a message"
            )
            problems.append(f"{name} must be {' or '.join(map(str, allowed))} for {described}; got {shape}")
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
    source: SourceNode, topic: KafkaInput, messages: Sequence[RawMessage], reject: Reject | None
) -> pa.Table:
    """Returns the records of messages with their fields and the columns ``COLUMNS``, in order.

    Messages that are no records go to ``reject``. Without it, the first raises ``ElementError``, or
    ``UserFunctionError`` if the function raises, with the place of the message.
    """
    return _Decoder(source, topic, reject).decode(messages)


class _Decoder:
    """Decodes the messages of a micro-batch."""

    def __init__(self, source: SourceNode, topic: KafkaInput, reject: Reject | None) -> None:
        self.source, self.topic, self.reject = source, topic, reject
        self.fields = fields_in(source.shape)
        names = set(topic.fields)
        types = {name: arrow_type(shape) for name, shape in self.fields if name not in names}
        # JSON has durations as whole microseconds.
        self.durations = [name for name, type_ in types.items() if pa.types.is_duration(type_)]
        self.schema = pa.schema({**types, **dict.fromkeys(self.durations, pa.int64())})
        self.numbered = self.schema.append(pa.field(_NUMBER, pa.int64()))

    def decode(self, messages: Sequence[RawMessage]) -> pa.Table:
        """Returns the records of messages that are records."""
        table, good = self._json(messages) if self.topic.format == "json" else self._call(messages)
        for name, part in self.topic.fields.items():
            table = table.append_column(name, _column_of(part, good, dict(self.fields)[name]))
        times = [_millis(message) for message in good]
        columns: dict[str, pa.Array[pa.Scalar[pa.DataType]]] = {
            PARTITION: pa.array([message.partition() for message in good], pa.int64()),
            OFFSET: pa.array([message.offset() for message in good], pa.int64()),
            TIMESTAMP: pa.array(times, pa.int64()).cast(_MILLIS).cast(pa.timestamp("us", tz="UTC")),
        }
        for name, column in columns.items():
            table = table.append_column(name, column)
        return table

    def _json(self, messages: Sequence[RawMessage]) -> tuple[pa.Table, Sequence[RawMessage]]:
        messages = self._with_texts(messages)
        texts = [message.value() for message in messages]
        good: list[RawMessage] = []
        parts: list[pa.Table] = []
        # Several ranges of messages, each divided until it parses or is one message.
        ranges = [(0, len(messages))] if messages else []
        while ranges:
            first, last = ranges.pop()
            table = self._parse(texts[first:last])
            if table is not None:
                parts.append(table)
                good += messages[first:last]
            elif last - first == 1:
                self._fail(messages[first], self._describe(texts[first]))
            else:
                middle = (first + last) // 2
                ranges += [(middle, last), (first, middle)]
        table = pa.concat_tables(parts) if parts else self.schema.empty_table()
        for name in self.durations:
            at = table.schema.get_field_index(name)
            table = table.set_column(at, name, table.column(name).cast(pa.duration("us")))
        return table, good

    def _with_texts(self, messages: Sequence[RawMessage]) -> Sequence[RawMessage]:
        """Returns the messages whose parts that are text in records are UTF-8."""
        shapes = dict(self.fields)
        for name, part in self.topic.fields.items():
            if part == "key" or isinstance(part, Header):
                if _plain(shapes[name]) != TEXT:
                    continue
                found = [_bytes_of(part, message) for message in messages]
                bad = {number for number, each in enumerate(found) if each is not None and not _is_text(each)}
                for number in sorted(bad):
                    self._fail(messages[number], f"{name} must be UTF-8 text; got {found[number]!r}")
                messages = [message for number, message in enumerate(messages) if number not in bad]
        return messages

    def _parse(self, texts: Sequence[bytes | None]) -> pa.Table | None:
        """Returns the rows of JSON texts; ``None`` unless each is one object with the types of the source."""
        lines = [_numbered(number, text) for number, text in enumerate(texts)]
        if None in lines:
            return None
        data = b"\n".join(cast("list[bytes]", lines))
        try:
            if not data.isascii():
                data.decode()
            table = arrow_json.read_json(
                io.BytesIO(data),
                read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
                parse_options=arrow_json.ParseOptions(
                    explicit_schema=self.numbered, unexpected_field_behavior="ignore"
                ),
            )
        except (pa.ArrowException, UnicodeDecodeError):
            return None
        numbers = table.column(_NUMBER)
        if table.num_rows != len(texts) or numbers.null_count:
            return None
        if not np.array_equal(numbers.to_numpy(), np.arange(len(texts))):
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
            return "the value must be one JSON object"
        return re.sub(r"^row 1 (?=is |must )", "the value ", described).removeprefix("row 1: ")

    def _call(self, messages: Sequence[RawMessage]) -> tuple[pa.Table, Sequence[RawMessage]]:
        function = self.topic.format
        assert callable(function), "it is not JSON"
        good: list[RawMessage] = []
        records: list[object] = []
        for message in messages:
            try:
                record = function(self._message(message))
            except Exception as error:
                described = f"{describe_function(function)} raised {type(error).__name__}: {error}"
                self._fail(message, described, error)
                continue
            if self.reject is not None:
                read = read_or_reject(self.source, record, at_any_time)
                if isinstance(read, BadRecord):
                    self.reject(message, evolve(read, error=f"{self._place(message)}: {read.error}"))
                    continue
            good.append(message)
            records.append(record)
        where = f"source {self.source.name!r}: element"
        try:
            array = write_nested(self.source.shape, records, where)
        except FlowalgError:
            # Finds the message of the first record that cannot be written.
            for message, record in zip(good, records, strict=True):
                try:
                    write_nested(self.source.shape, [record], where)
                except FlowalgError as error:
                    raise type(error)(f"{self._place(message)}: {error}") from error
            raise
        names = [name for name, _ in self.fields]
        if isinstance(self.source.shape, RecordOf):
            return pa.Table.from_arrays(cast("pa.StructArray", array).flatten(), names=names), good
        return pa.Table.from_arrays([array], names=names), good

    def _message(self, message: RawMessage) -> KafkaMessage:
        millis = _millis(message)
        return KafkaMessage(
            self.topic.topic,
            message.partition(),
            message.offset(),
            message.key(),
            message.value(),
            None if millis is None else EPOCH + millis * _MILLISECOND,
            tuple(message.headers() or ()),
        )

    def _fail(self, message: RawMessage, described: str, cause: Exception | None = None) -> None:
        error = f"{self._place(message)}: source {self.source.name!r}: {described}"
        text = (message.value() or b"").decode(errors="backslashreplace")
        if self.reject is not None:
            self.reject(message, bad_text(self.source, error, text))
        elif cause is not None:
            raise UserFunctionError(error) from cause
        else:
            raise ElementError(f"{error}; the value is {text[:200]!r}")

    def _place(self, message: RawMessage) -> str:
        return place_of(self.topic.topic, message.partition(), message.offset())


def _numbered(number: int, text: bytes | None) -> bytes | None:
    """Returns a JSON object in one line with its number as a further field; ``None`` for what is no object."""
    if text is None:
        return None
    if not text.startswith(b"{") or text[1:2] != b'"' or b"\n" in text or b"\r" in text:
        return _normalised(number, text)
    return b'{"%b":%d,%b' % (_NUMBER.encode(), number, text[1:])


def _normalised(number: int, text: bytes) -> bytes | None:
    try:
        document = json.loads(text)
    except ValueError:  # also of a text that is not UTF-8
        return None
    if not isinstance(document, dict):
        return None
    if not document:
        return b'{"%b":%d}' % (_NUMBER.encode(), number)
    # The text is JSON, so line breaks are between its tokens.
    line = re.sub(rb"[\r\n]", b" ", text.removeprefix(b"\xef\xbb\xbf")).lstrip()
    return b'{"%b":%d,%b' % (_NUMBER.encode(), number, line[1:])


def _millis(message: RawMessage) -> int | None:
    kind, millis = message.timestamp()
    return millis if kind else None


def _column_of(
    part: MessageField, messages: Sequence[RawMessage], shape: Shape
) -> pa.Array[pa.Scalar[pa.DataType]]:
    """Returns a part of messages as a column."""
    match part:
        case "partition":
            return pa.array([message.partition() for message in messages], pa.int64())
        case "offset":
            return pa.array([message.offset() for message in messages], pa.int64())
        case "timestamp":
            millis = pa.array([_millis(message) for message in messages], pa.int64())
            return millis.cast(_MILLIS).cast(arrow_type(TIME))
        case _:
            found = [_bytes_of(part, message) for message in messages]
            if _plain(shape) == BINARY:
                return pa.array(found, pa.binary())
            return pa.array([None if each is None else each.decode() for each in found], pa.string())


def _bytes_of(part: MessageField, message: RawMessage) -> bytes | None:
    return dict(message.headers() or ()).get(part.name) if isinstance(part, Header) else message.key()


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _plain(shape: Shape) -> Shape:
    return shape.of if isinstance(shape, OptionalOf) else shape


__all__ = ["Reject", "decode_messages", "place_of", "require_decodable"]
