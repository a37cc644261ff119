"""Decodes the messages of a topic to the records of a source, as Arrow tables.

JSON is read as in files of JSON lines, by ``flowalg_columns.text``; each message is one object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
from attrs import evolve
from flowalg_columns.arrow_types import arrow_type
from flowalg_columns.layout import fields_in
from flowalg_columns.text.dividing import BadTextError, Numbers, ReadTexts, Row, read_divided
from flowalg_columns.text.json_objects import read_objects, schema_of_fields, sum_of_objects
from flowalg_columns.values import write_nested

from flowalg.data.errors import (
    ElementError,
    FlowalgError,
    SchemaMismatchError,
    UserFunctionError,
    describe_function,
    describe_raised,
)
from flowalg.data.record_messages import years_phrase
from flowalg.data.shapes import BINARY, INTEGER, TEXT, RecordOf, Shape, present
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

_MICROSECOND: Final = timedelta(microseconds=1)

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
        elif present(shape) not in allowed:
            described = (
                f"the header {part.name!r}" if isinstance(part, Header) else f"the {part} of a message"
            )
            problems.append(f"{name} must be {' or '.join(map(str, allowed))} for {described}; got {shape}")
    if isinstance(topic.format, AvroFormat):
        in_values = {name: shape for name, shape in fields.items() if name not in topic.fields}
        problems += describe_unlike(topic.format, in_values, sum_of_objects(source.shape))
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
        self.in_values = [(name, shape) for name, shape in self.fields if name not in topic.fields]
        self.values = _array(messages, "value")

    def decode(self) -> pa.Table:
        """Returns the records of messages that are records."""
        match self.topic.format:
            case "json":
                table, good = self._settled(
                    read_objects(
                        self.values,
                        self.in_values,
                        self._with_texts(),
                        whole=sum_of_objects(self.source.shape),
                    )
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

    def _settled(self, read: ReadTexts) -> tuple[pa.Table, Numbers]:
        """Returns the rows of messages and their numbers; the other messages fail."""
        for number, error in sorted(read.bad.items()):
            missing = self.topic.format == "json" and self._value(number) is None
            described = error.message if error.of_field else error.describe("the value")
            self._fail(number, "the message has no value" if missing else described)
        return read.rows, read.numbers

    def _with_texts(self) -> Numbers:
        """Returns the numbers of the messages whose parts that are text in records are UTF-8."""
        shapes = dict(self.fields)
        bad: dict[int, str] = {}
        for name, part in self.topic.fields.items():
            if (part == "key" or isinstance(part, Header)) and present(shapes[name]) == TEXT:
                for number, data in enumerate(_bytes_of(part, self.messages)):
                    if data is not None and not _is_text(data):
                        bad.setdefault(number, f"{name} must be UTF-8 text; got {data!r}")
        for number in sorted(bad):
            self._fail(number, bad[number])
        return np.delete(np.arange(len(self.values)), sorted(bad))

    def _avro(self, avro: AvroFormat) -> tuple[pa.Table, Numbers]:
        values, whole = self.values.to_pylist(), sum_of_objects(self.source.shape)
        rows: dict[int, dict[str, object]] = {}
        for number in self._with_texts().tolist():
            try:
                rows[number] = read_record(avro, values[number], dict(self.in_values), whole)
            except AvroError as error:
                self._fail(number, str(error))

        schema = schema_of_fields(self.in_values)

        def write(numbers: Numbers) -> pa.Table | None:
            return _written([rows[number] for number in numbers.tolist()], schema)

        def one(number: int) -> Row:
            for field in schema:
                if _written([rows[number]], pa.schema([field])) is None:
                    got = rows[number][field.name]
                    raise BadTextError(
                        f"{field.name} must be of type {field.type}; got {got!r}", of_field=True
                    )
            return rows[number]

        return self._settled(read_divided(np.array(list(rows), dtype=np.int64), write, one, schema))

    def _call(self, function: Callable[[KafkaMessage], object]) -> tuple[pa.Table, Numbers]:
        good: list[int] = []
        records: list[object] = []
        for number, message in self._messages():
            try:
                record = function(message)
            except MemoryError:
                raise
            except Exception as error:
                described = f"{describe_function(function)} raised {describe_raised(error)}"
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

    def _messages(self) -> Iterator[tuple[int, KafkaMessage]]:
        """Yields messages with their numbers. One whose timestamp no datetime has fails."""
        # As integers, since pyarrow's datetimes need a database of time zones.
        at = self.messages.schema.get_field_index("timestamp")
        micros = self.messages.column("timestamp").cast(pa.int64())
        for number, row in enumerate(self.messages.set_column(at, "timestamp", micros).to_pylist()):
            headers = tuple((header["key"], header["value"]) for header in row.pop("headers") or ())
            time = row.pop("timestamp")
            try:
                timestamp = None if time is None else EPOCH + time * _MICROSECOND
            except OverflowError:
                self._fail(number, f"{years_phrase('the timestamp', TIME)}{time}")
                continue
            yield number, KafkaMessage(self.topic.topic, headers=headers, timestamp=timestamp, **row)

    def _part(self, part: MessageField, messages: pa.Table, shape: Shape) -> Parts:
        """Returns a part of messages as a column."""
        if isinstance(part, Header) or part == "key":
            return pa.array(_bytes_of(part, messages), pa.binary()).cast(arrow_type(present(shape)))
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
    column = messages.column(name).combine_chunks()
    assert isinstance(column, pa.LargeBinaryArray), "columns have the types of MESSAGES"
    return column


def _written(rows: list[dict[str, object]], schema: pa.Schema) -> pa.Table | None:
    """Returns rows as a table; ``None`` if a value does not have the type of its column."""
    try:
        return pa.Table.from_struct_array(cast("pa.StructArray", pa.array(rows, pa.struct(list(schema)))))
    except (pa.ArrowException, OverflowError):
        return None


def _bytes_of(part: MessageField, messages: pa.Table) -> list[bytes | None]:
    """Returns the keys of messages, or their last headers with a name."""
    if not isinstance(part, Header):
        return cast("list[bytes | None]", messages.column("key").to_pylist())
    header_lists = messages.column("headers").to_pylist()
    return [
        {header["key"]: header["value"] for header in headers or ()}.get(part.name)
        for headers in header_lists
    ]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
