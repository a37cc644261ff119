"""Messages in Avro: decoded exactly, or rejected with their place; without a broker.

The tests catch a decoder that changes a value, that accepts a part of a message, or that a corrupt message stops, and a
record class that does not fit the schema but is read all the same.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final, Literal, TypeAlias

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from flowalg import Source
from flowalg.errors import ArgumentError, ElementError, SchemaMismatchError
from flowalg.pipeline.source import source_node
from flowalg.runs.bad_records import BadRecord

pytest.importorskip("confluent_kafka", reason="Kafka needs the package confluent-kafka: flowalg[kafka]")
pytest.importorskip("fastavro", reason="Avro needs the package fastavro: flowalg[kafka]")

import fastavro
from flowalg_kafka import AvroFormat, KafkaInput
from flowalg_kafka.decoding import decode_messages, require_decodable
from flowalg_kafka.messages import messages_table

from tests.kafka.test_decoding import Received
from tests.support.programs import run_code


class Kind(Enum):
    """The kind of an order."""

    CASH = 1
    CARD = 2


@frozen
class Item:
    """An item of an order."""

    name: str
    price: Decimal


@frozen
class Order:
    """A record with fields of each type."""

    number: int
    small: int
    rate: float
    paid: bool
    kind: Kind
    digest: bytes
    note: str | None
    items: list[Item]
    place: tuple[str, int]
    day: date
    at: datetime
    seen: datetime
    lasted: timedelta
    more: str | None = None


def record(name: str, /, **fields: object) -> dict[str, object]:
    """Returns the schema of a record."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": type_} for field, type_ in fields.items()],
    }


ITEM: Final = record(
    "Item",
    price={"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 4},
    name={"type": "string", "logicalType": "uuid"},
)
ORDER: Final = record(
    "Order",
    other={"type": "map", "values": ITEM},
    number="long",
    small="int",
    rate="double",
    paid="boolean",
    kind={"type": "enum", "name": "Kind", "symbols": ["CASH", "CARD"]},
    digest={"type": "fixed", "name": "Digest", "size": 4},
    note=["null", "string"],
    items={"type": "array", "items": "Item"},
    place=record("Place", _2="int", _1="string"),
    day={"type": "int", "logicalType": "date"},
    at={"type": "long", "logicalType": "timestamp-micros"},
    seen={"type": "long", "logicalType": "timestamp-millis"},
    lasted="long",
)
TEXT: Final = json.dumps(ORDER)
SOURCE: Final = Source("orders", Order, event_time=lambda order: order.at)
TOPIC: Final = KafkaInput("localhost:1", "orders", format=AvroFormat(TEXT))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
times = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
items = st.fixed_dictionaries(
    {"name": texts, "price": st.decimals(-(10**7), 10**7, places=4).filter(lambda price: price.is_finite())}
)
orders = st.fixed_dictionaries(
    {
        "other": st.dictionaries(texts, items, max_size=1),
        "number": st.integers(-(2**63), 2**63 - 1),
        "small": st.integers(-(2**31), 2**31 - 1),
        "rate": st.floats(allow_nan=False),
        "paid": st.booleans(),
        "kind": st.sampled_from(["CASH", "CARD"]),
        "digest": st.binary(min_size=4, max_size=4),
        "note": st.none() | texts,
        "items": st.lists(items, max_size=2),
        "place": st.fixed_dictionaries({"_1": texts, "_2": st.integers(0, 9)}),
        "day": st.dates(),
        "at": times,
        "seen": times.map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)),
        "lasted": st.integers(0, 10**12),
    }
)


def encode(order: Mapping[str, object]) -> bytes:
    """Returns a record in Avro's binary encoding."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, ORDER, order)
    return out.getvalue()


def decode(
    *values: bytes | None, topic: KafkaInput = TOPIC
) -> tuple[list[dict[str, object]], list[BadRecord]]:
    """Returns the rows and the bad records of messages."""
    bad: list[BadRecord] = []
    messages = messages_table(topic, [Received(value, number) for number, value in enumerate(values)])
    rows = decode_messages(source_node(SOURCE), topic, messages, lambda _, bad_record: bad.append(bad_record))
    return rows.to_pylist(), bad


def row_of(order: dict[str, object]) -> dict[str, object]:
    """Returns the row of an order."""
    row = {name: value for name, value in order.items() if name != "other"}
    return {**row, "lasted": timedelta(microseconds=int(str(order["lasted"]))), "more": None}


def without_place(row: dict[str, object]) -> dict[str, object]:
    """Returns a row without the columns of messages."""
    return {name: value for name, value in row.items() if not name.startswith("kafka_")}


@given(st.lists(orders, max_size=4), st.booleans())
def test_a_record_is_decoded_exactly(written: list[dict[str, object]], confluent: bool) -> None:
    """The row of a message is the record that was encoded, also in Confluent's wire format."""
    prefix = b"\0\0\0\1\2" if confluent else b""
    topic = KafkaInput("localhost:1", "orders", format=AvroFormat({258: TEXT} if confluent else TEXT))
    rows, bad = decode(*(prefix + encode(order) for order in written), topic=topic)
    assert not bad
    assert [without_place(row) for row in rows] == [row_of(order) for order in written]


Change: TypeAlias = Callable[[bytes], bytes]

changes: st.SearchStrategy[Change] = st.one_of(
    st.just(lambda value: value[:-1]),
    st.just(lambda value: value + b"\0"),
    st.binary(max_size=9).map(lambda data: lambda value: data),
    st.builds(
        lambda at, byte: lambda value: value[:at] + bytes([byte]) + value[at + 1 :],
        st.integers(0, 40),
        st.integers(0, 255),
    ),
)


messages = st.one_of(
    orders.map(encode), st.builds(lambda order, change: change(encode(order)), orders, changes)
)


@given(st.lists(st.tuples(orders, st.none() | changes), max_size=5))
def test_a_corrupt_message_takes_no_other_with_it(
    cases: list[tuple[dict[str, object], Change | None]],
) -> None:
    """A message has a row or is a bad record, which are the same alone, and each record of the schema has its row."""
    values = [encode(order) if change is None else change(encode(order)) for order, change in cases]
    rows, bad = decode(*values)
    assert len(rows) + len(bad) == len(values)
    alone = [decode(value) for value in values]
    assert repr([without_place(row) for row in rows]) == repr(
        [without_place(row) for own_rows, _ in alone for row in own_rows]
    )
    assert [bad_record.record for bad_record in bad] == [
        bad_record.record for _, own_bad in alone for bad_record in own_bad
    ]
    by_offset = {row["kafka_offset"]: without_place(row) for row in rows}
    for number, (order, change) in enumerate(cases):
        assert change is not None or by_offset[number] == row_of(order)


GOOD: Final = {
    "other": {},
    "number": 1,
    "small": 2,
    "rate": 0.5,
    "paid": True,
    "kind": "CARD",
    "digest": b"abcd",
    "note": None,
    "items": [],
    "place": {"_1": "a", "_2": 1},
    "day": date(2024, 1, 1),
    "at": datetime(2024, 1, 1, tzinfo=UTC),
    "seen": datetime(2024, 1, 1, tzinfo=UTC),
    "lasted": 0,
}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "the message has no value"),
        (b"", "the value ends within its Avro record"),
        (encode(GOOD)[:-1], "the value ends within its Avro record"),
        (encode(GOOD) + b"ab", "the value has 2 bytes after its Avro record"),
        (b"\2\2\xff", "the value is not a record of the Avro schema: 'utf-8' codec"),
    ],
    ids=["null", "empty", "cut", "longer", "text"],
)
def test_an_error_names_the_place_and_the_fault(value: bytes | None, message: str) -> None:
    """The error of a malformed message names the topic, partition, offset, source and fault, in both modes."""
    (row,), (bad,) = decode(value, encode(GOOD))
    assert row["kafka_offset"] == 1
    place = "topic 'orders', partition 1, offset 0: source 'orders': "
    assert bad.error.startswith(f"{place}{message}")
    with pytest.raises(ElementError, match=message):
        decode_messages(source_node(SOURCE), TOPIC, messages_table(TOPIC, [Received(value)]), None)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"\0\0\0\0\5" + encode(GOOD), "the id of its schema must be one of 1, 2; got 5"),
        (b"\1\0\0\0\1" + encode(GOOD), "the value must begin with a zero byte and the id of its schema"),
        (b"\0\0\0", "the value must begin with a zero byte and the id of its schema"),
    ],
)
def test_a_message_of_no_known_schema_is_a_bad_record(value: bytes, message: str) -> None:
    """In Confluent's wire format, a message without the id of a schema that is given is a bad record."""
    topic = KafkaInput("localhost:1", "orders", format=AvroFormat({1: TEXT, 2: TEXT}))
    rows, (bad,) = decode(value, topic=topic)
    assert not rows
    assert message in bad.error


@frozen
class Seen:
    """A record with one field of time."""

    at: datetime


SEEN: Final = Source("seen", Seen, event_time=lambda seen: seen.at)


@pytest.mark.parametrize("number", [2**62, -(2**62), 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("type_", ["timestamp-micros", "timestamp-millis", "date"])
def test_a_time_that_python_lacks_is_a_bad_record(number: int, type_: str) -> None:
    """A time or day out of Python's range is a bad record, in a field that the record class lacks too."""
    kind = {"type": "int" if type_ == "date" else "long", "logicalType": type_}
    at = {"type": "long", "logicalType": "timestamp-micros"}
    schema = record("Seen", other=kind, at=at)
    topic = KafkaInput("localhost:1", "seen", format=AvroFormat(json.dumps(schema)))
    values: list[Received] = []
    for value in (number, 0):
        out = io.BytesIO()
        plain = record("Seen", other="long", at="long")  # int and long have one encoding
        fastavro.schemaless_writer(out, plain, {"other": value, "at": 0})
        values.append(Received(out.getvalue(), len(values)))
    bad: list[BadRecord] = []
    source = source_node(SEEN)
    rows = decode_messages(
        source, topic, messages_table(topic, values), lambda _, bad_record: bad.append(bad_record)
    )
    outside = abs(number) > 10**10 or type_ == "date"
    assert (rows.num_rows, len(bad)) == ((1, 1) if outside else (2, 0))
    assert all("the value is not a record of the Avro schema" in bad_record.error for bad_record in bad)


@given(st.integers(-(10**40), 10**40))
def test_a_decimal_is_never_rounded(unscaled: int) -> None:
    """A decimal with more digits than its schema has is read exactly, or is a bad record that names its field."""
    price = record("Item", price={"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2})
    topic = KafkaInput("localhost:1", "prices", format=AvroFormat(json.dumps(price)))
    data = unscaled.to_bytes(20, "big", signed=True)
    messages = messages_table(topic, [Received(bytes([len(data) * 2]) + data)])
    bad: list[BadRecord] = []
    source = source_node(Source("prices", Price, event_time=lambda price: datetime.max))
    rows = decode_messages(source, topic, messages, lambda _, bad_record: bad.append(bad_record)).to_pylist()
    if bad:
        assert abs(unscaled) >= 10**22
        assert "price must be of type decimal128(38, 18); got Decimal" in bad[0].error
    else:
        assert rows[0]["price"] == Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -2))


@frozen
class Price:
    """A record with a decimal."""

    price: Decimal


@pytest.mark.parametrize(
    ("name", "type_", "message"),
    [
        (
            "number",
            "double",
            r'number must have a type of the Avro schema for int: int or long; got "double"',
        ),
        ("number", ["int", "string"], "number must have a type of the Avro schema for int"),
        ("rate", "long", "rate must have a type of the Avro schema for float"),
        ("day", "int", "day must have a type of the Avro schema for date: date"),
        ("note", "bytes", r"note must have a type of the Avro schema for str \| None"),
        ("items", {"type": "array", "items": "long"}, r"items must have a type .* for list\[Item\]"),
        ("place", record("Place", _1="string"), r"place must have a type .* for tuple\[str, int\]"),
        ("at", {"type": "long", "logicalType": "local-timestamp-micros"}, "at must have a type"),
        (None, None, "lasted must be a field of the Avro schema; got other, number"),
    ],
)
def test_fields_must_fit_the_schema(name: str | None, type_: object, message: str) -> None:
    """A field that a schema lacks, or has with another type, is an error before the run."""
    fields = {
        str(field["name"]): type_ if field["name"] == name else field["type"]
        for field in list_of_fields(ORDER)
        if name is not None or field["name"] != "lasted"
    }
    topic = KafkaInput("localhost:1", "orders", format=AvroFormat(json.dumps(record("Order", **fields))))
    with pytest.raises(SchemaMismatchError, match=message):
        require_decodable(source_node(SOURCE), topic)


def list_of_fields(schema: dict[str, object]) -> list[dict[str, object]]:
    """Returns the fields of the schema of a record."""
    fields = schema["fields"]
    assert isinstance(fields, list)
    return fields


@pytest.mark.parametrize(
    ("format", "good", "broken"),
    [("json", b"{}", b"{"), (AvroFormat(json.dumps(record("Key", other="int"))), b"\2", b"\2\2")],
)
def test_all_fields_may_be_parts_of_messages(
    format: Literal["json"] | AvroFormat, good: bytes, broken: bytes
) -> None:
    """Fields of ``fields`` are not in the value, and a record may have no others."""
    topic = KafkaInput("localhost:1", "keys", format=format, fields={"key": "key"})
    source = source_node(Source("keys", Key, event_time=lambda key: datetime.max))
    require_decodable(source, topic)
    messages = messages_table(topic, [Received(good, 3, b"ann"), Received(broken, 4, b"bob")])
    bad: list[BadRecord] = []
    rows = decode_messages(source, topic, messages, lambda _, bad_record: bad.append(bad_record)).to_pylist()
    assert [(row["key"], row["kafka_offset"]) for row in rows] == [("ann", 3)]
    assert len(bad) == 1


@frozen
class Key:
    """A record that is the key of a message."""

    key: str


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (5, "AvroFormat.schema must be a schema as JSON text, or a mapping of ids"),
        ({}, "AvroFormat.schema must be a schema as JSON text, or a mapping of ids"),
        ({"1": TEXT}, "AvroFormat.schema must be a schema as JSON text, or a mapping of ids"),
        ({1: 2}, "AvroFormat.schema must be a schema as JSON text, or a mapping of ids"),
        ("nope", "AvroFormat.schema must be a schema of an Avro record"),
        ('"int"', "AvroFormat.schema must be a schema of an Avro record"),
        ('["null", "int"]', "AvroFormat.schema must be a schema of an Avro record"),
        ('{"type": "record"}', "AvroFormat.schema must be a schema of an Avro record"),
        (json.dumps(record("A", b="C")), "AvroFormat.schema must be a schema of an Avro record"),
        (
            json.dumps(record("A", b=["null", "A"])),
            "AvroFormat.schema must be a schema without recursive types",
        ),
        (
            json.dumps(record("A", b=record("B", c={"type": "array", "items": "A"}))),
            "AvroFormat.schema must be a schema without recursive types",
        ),
    ],
)
def test_an_invalid_schema_is_an_error(schema: object, message: str) -> None:
    """An invalid or recursive schema raises where it is given: fastavro crashes on messages of deep recursion."""
    with pytest.raises(ArgumentError, match=message):
        AvroFormat(schema)  # type: ignore[arg-type]


def test_without_fastavro_the_error_names_the_extra() -> None:
    """Without fastavro, the package is imported, and only ``AvroFormat`` raises."""
    code = (
        "import sys; sys.modules['fastavro'] = None; from flowalg_kafka import AvroFormat, KafkaInput\n"
        "KafkaInput('localhost:1', 'a')\ntry: AvroFormat('{}')\nexcept Exception as error: print(error)"
    )
    printed = run_code(code)
    assert printed == "Avro needs the package fastavro: pip install 'flowalg[kafka]'\n"
