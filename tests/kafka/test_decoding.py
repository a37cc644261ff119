"""Messages as records: decoded exactly, or rejected with their place; without a broker.

The tests catch a decoder that takes one message for another, that accepts a malformed one, or that changes a value.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from attrs import field, fields, frozen
from hypothesis import example, given
from hypothesis import strategies as st

from flowalg import Source
from flowalg.errors import ArgumentError, ElementError, SchemaMismatchError, UserFunctionError
from flowalg.pipeline.source import source_node
from flowalg.runs.bad_records import BadRecord

pytest.importorskip("confluent_kafka", reason="Kafka needs the package confluent-kafka: flowalg[kafka]")

from flowalg_kafka import Header, KafkaInput, KafkaMessage
from flowalg_kafka.client import RawError
from flowalg_kafka.decoding import decode_messages, require_decodable
from flowalg_kafka.input import MessageField
from flowalg_kafka.messages import messages_table

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@frozen
class Received:
    """A message as the client library has it."""

    text: bytes | None
    number: int = 0
    name: bytes | None = None
    pairs: tuple[tuple[str, bytes | None], ...] = ()
    millis: int | None = None

    def partition(self) -> int:
        """Returns the partition."""
        return 1

    def offset(self) -> int:
        """Returns the offset."""
        return self.number

    def key(self) -> bytes | None:
        """Returns the key."""
        return self.name

    def value(self) -> bytes | None:
        """Returns the value."""
        return self.text

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Returns the headers."""
        return list(self.pairs) or None

    def timestamp(self) -> tuple[int, int]:
        """Returns the timestamp."""
        return (0, -1) if self.millis is None else (1, self.millis)

    def error(self) -> RawError | None:
        """Returns no error."""
        return None


@frozen
class Reading:
    """A record with fields of several types."""

    sensor: str
    value: float | None
    count: int
    at: datetime
    lasted: timedelta = timedelta(0)
    tags: tuple[str, int] = field(default=("", 0))


SOURCE = Source("readings", Reading, event_time=lambda reading: reading.at)
TOPIC = KafkaInput("localhost:1", "readings")

readings = st.builds(
    Reading,
    st.text(st.characters(exclude_categories=["Cs"])),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**63), 2**63 - 1),
    st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    st.timedeltas(timedelta(0), timedelta(days=9)),
    st.tuples(st.just("a"), st.integers(0, 9)),
)


def text_of(reading: Reading, *, indent: int | None = None) -> bytes:
    """Returns a reading as JSON, with a field that no record has."""
    document = {
        "extra": [{"count": "?"}],
        "sensor": reading.sensor,
        "value": reading.value,
        "count": reading.count,
        "at": reading.at.isoformat(),
        "lasted": reading.lasted // timedelta(microseconds=1),
        "tags": {"_1": reading.tags[0], "_2": reading.tags[1]},
    }
    return json.dumps(document, indent=indent, ensure_ascii=False).encode()


def decode(*messages: Received, topic: KafkaInput = TOPIC) -> tuple[list[dict[str, object]], list[BadRecord]]:
    """Returns the rows and the bad records of messages."""
    bad: list[BadRecord] = []
    table = messages_table(topic, messages)
    rows = decode_messages(source_node(SOURCE), topic, table, lambda _, record: bad.append(record))
    return rows.to_pylist(), bad


malformed = st.one_of(
    st.binary(max_size=8),
    st.sampled_from(
        [
            b'{"sensor":',
            b'"a"}',
            b"{}{}",
            b'{"__message": 0}{"__message": 1}',
            b'{"count": 1.5}',
            b'{"count": "1"}',
            b'{"at": 5}',
            b'{"sensor": "\xff"}',
            b'{"count": 1} 5',
            b'{"count": 1}null',
            b"null",
            b'{"sensor": {"a": 1}}',
            b'{"sensor": "a\nb"}',
        ]
    ),
    st.none(),
)


def is_object(text: bytes | None) -> bool:
    """Whether a text is one JSON object without the fields of a reading, which the decoder leaves null."""
    try:
        document = json.loads((text or b"").decode())
    except ValueError:
        return False
    return isinstance(document, dict) and not document


@given(
    st.lists(st.one_of(readings, malformed), max_size=12),
    st.sampled_from([None, 1]),
    st.sampled_from([b"", b" \r\n\t", b"\xef\xbb\xbf"]),
)
def test_messages_are_decoded_one_by_one(
    contents: list[Reading | bytes | None], indent: int | None, before: bytes
) -> None:
    """Each reading is a row with its fields and its offset, in order; each other message is a bad record."""
    texts = [
        before + text_of(content, indent=indent) if isinstance(content, Reading) else content
        for content in contents
    ]
    rows, bad = decode(*(Received(text, number) for number, text in enumerate(texts)))
    expected = [
        number
        for number, content in enumerate(contents)
        if isinstance(content, Reading) or is_object(content)
    ]
    assert [row["kafka_offset"] for row in rows] == expected
    assert len(bad) == len(contents) - len(expected)
    for row in rows:
        reading = contents[int(str(row["kafka_offset"]))]
        if isinstance(reading, Reading):
            assert (row["sensor"], row["value"], row["count"]) == (
                reading.sensor,
                reading.value,
                reading.count,
            )
            assert (row["at"], row["lasted"]) == (reading.at, reading.lasted)
            assert row["tags"] == {"_1": reading.tags[0], "_2": reading.tags[1]}
    offsets = [int(record.error.split("offset ")[1].partition(":")[0]) for record in bad]
    assert sorted(offsets) == sorted(set(range(len(contents))) - set(expected))


names = st.sampled_from([*(field.name for field in fields(Reading)), "other", "__message"])
numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from([10**400, float("inf")]),
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=3), st.just("2024-01-01T12:00:00Z")),
    lambda value: st.one_of(
        st.lists(value, max_size=2), st.dictionaries(st.sampled_from(["_1", "_2"]), value)
    ),
    max_leaves=3,
)
spaces = st.sampled_from([b"", b" ", b"\n", b"\r\n\t"])


@st.composite
def json_objects(draw: st.DrawFn) -> bytes:
    """Returns a JSON object whose fields have any types and may be missing or repeated, with any space."""
    pairs = draw(st.lists(st.tuples(names, json_values), max_size=4))
    fields = [f"{json.dumps(name)}:{json.dumps(value)}".encode() for name, value in pairs]
    begin, space, end = (draw(spaces) for _ in range(3))
    return (
        draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
        + begin
        + b"{"
        + (b"," + space).join(fields)
        + end
        + b"}"
        + end
    )


@st.composite
def parts_of_objects(draw: st.DrawFn) -> list[bytes]:
    """Returns texts that are objects only if they are joined."""
    whole = b"\n".join(draw(st.lists(json_objects(), min_size=1, max_size=3)))
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=3)))
    return [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


messages = st.one_of(readings.map(text_of), malformed, json_objects())


@given(
    st.lists(
        st.one_of(
            st.lists(messages, max_size=3),
            parts_of_objects(),
        ),
        max_size=4,
    ).map(lambda parts: [text for part in parts for text in part])
)
@example([b'{"other":[', b'{"other":1}]}{"count":1}'])
def test_a_message_is_decoded_alike_among_others(texts: list[bytes | None]) -> None:
    """The row or the bad record of a message is the same alone and among other messages."""
    received = [Received(text, number) for number, text in enumerate(texts)]
    rows, bad = decode(*received)
    alone = [decode(message) for message in received]
    # Rows may have NaN.
    assert repr(rows) == repr([row for own_rows, _ in alone for row in own_rows])
    assert bad == [record for _, own_bad in alone for record in own_bad]


@given(st.dictionaries(st.sampled_from(["value", "count", "other"]), numbers))
def test_a_number_is_exact_or_a_bad_record(document: dict[str, int | float]) -> None:
    """A number is that of its text; one that does not fit its field is a bad record, and one of no field is ignored."""
    rows, bad = decode(Received(json.dumps(document).encode()))
    value, count = document.get("value"), document.get("count")
    if isinstance(count, float) or (count is not None and not -(2**63) <= count < 2**63):
        assert "count must be of type int64" in bad[0].error
    elif isinstance(value, int) and abs(value) > 10**308:
        assert "a number is too large for a float" in bad[0].error
    else:
        assert repr([(row["value"], row["count"]) for row in rows]) == repr(
            [(None if value is None else float(value), count)]
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "the message has no value"),
        (b"", "the value must be one JSON object"),
        (b"\xff", "the value is not valid UTF-8"),
        (b"nope", "the value is not valid JSON"),
        (b"[1]", "the value must be a JSON object; got [1]"),
        (b'{"count": NaN}', "count must be of type int64; got nan"),
        (b'{"count": %d}' % 2**63, f"count must be of type int64; got {2**63}"),
        (b'{"count": %b}' % (b"9" * 5_000), "count must be of type int64; got 9999"),
        (b'{"value": %b}' % (b"9" * 400), "value must be of type double; a number is too large for a float"),
        (b'{"other": %b}' % (b"[" * 100_000), "the value is not valid JSON: Expecting value at column "),
        (b'{"count": 1.5}', "count must be of type int64; got 1.5"),
        (b'{"count": 1}\n{"count": 2}', "the value is not valid JSON: Extra data"),
    ],
)
def test_an_error_names_the_place_and_the_fault(text: bytes | None, message: str) -> None:
    """The error of a malformed message names the topic, partition, offset, source and fault, in both modes."""
    _, (bad,) = decode(Received(text, 17))
    place = "topic 'readings', partition 1, offset 17: source 'readings': "
    assert bad.error.startswith(f"{place}{message}")
    assert bad.stage == "Source('readings')"
    with pytest.raises(ElementError) as raised:
        decode_messages(source_node(SOURCE), TOPIC, messages_table(TOPIC, [Received(text, 17)]), None)
    assert str(raised.value).startswith(f"{place}{message}")


@frozen
class Event:
    """A record whose fields are parts of messages."""

    user: str | None
    trace: bytes | None
    partition: int
    offset: int
    at: datetime
    name: str


EVENTS = Source("events", Event, event_time=lambda event: event.at)
PARTS: dict[str, MessageField] = {
    "user": "key",
    "trace": Header("trace"),
    "partition": "partition",
    "offset": "offset",
    "at": "timestamp",
}


def test_fields_are_parts_of_messages() -> None:
    """Key, header, partition, offset and timestamp are fields; a key that is not text is a bad record."""
    topic = KafkaInput("localhost:1", "events", fields=PARTS)
    millis = int(NOON.timestamp() * 1000)
    text = b'{"name": "click", "user": "ignored"}'
    bad: list[BadRecord] = []
    messages = [
        Received(text, 5, b"ann", (("trace", b"1"), ("trace", b"2")), millis),
        Received(text, 6, b"\xff", (), millis),
        Received(text, 7, None, (), None),
    ]
    rows = decode_messages(
        source_node(EVENTS), topic, messages_table(topic, messages), lambda _, record: bad.append(record)
    ).to_pylist()
    assert [
        tuple(row[name] for name in ("user", "trace", "partition", "offset", "at", "name")) for row in rows
    ] == [
        ("ann", b"2", 1, 5, NOON, "click"),
        (None, None, 1, 7, None, "click"),
    ]
    assert [record.error.partition("source")[2] for record in bad] == [
        " 'events': user must be UTF-8 text; got b'\\xff'"
    ]


def test_a_function_decodes_the_whole_message() -> None:
    """A function receives the message; what raises, and what is no record, is a bad record with the place."""

    def read(message: KafkaMessage) -> object:
        assert message.timestamp is not None
        sensor, count = (message.value or b"").decode().split("=")
        return Reading(sensor, None, int(count), message.timestamp) if count != "0" else None

    topic = KafkaInput("localhost:1", "readings", format=read)
    millis = int(NOON.timestamp() * 1000)
    values = (b"a=1", b"b", b"c=0", b"d=2")
    messages = [Received(value, number, millis=millis) for number, value in enumerate(values)]
    rows, bad = decode(*messages, topic=topic)
    assert [(row["sensor"], row["count"], row["at"]) for row in rows] == [("a", 1, NOON), ("d", 2, NOON)]
    assert [record.error.partition(": ")[0] for record in bad] == [
        f"topic 'readings', partition 1, offset {offset}" for offset in (1, 2)
    ]
    with pytest.raises(UserFunctionError, match="offset 1: source 'readings': read at .* raised ValueError"):
        decode_messages(source_node(SOURCE), topic, messages_table(topic, messages), None)
    with pytest.raises(ElementError, match="offset 2: "):
        decode_messages(source_node(SOURCE), topic, messages_table(topic, messages[2:3]), None)


@pytest.mark.parametrize("millis", [253_402_300_800_000, 2**63 - 1])
def test_a_timestamp_that_no_datetime_has_is_a_bad_record(millis: int) -> None:
    """It is one with its place for a function; a topic whose records have no timestamp is read."""
    good, reading = int(NOON.timestamp() * 1000), Reading("a", None, 1, NOON)
    messages = [
        Received(text_of(reading), number, millis=at) for number, at in enumerate((good, millis, good))
    ]
    topic = KafkaInput("localhost:1", "readings", format=lambda message: reading)
    rows, bad = decode(*messages, topic=topic)
    assert [row["kafka_offset"] for row in rows] == [0, 2]
    (error,) = [record.error for record in bad]
    assert error.startswith(
        "topic 'readings', partition 1, offset 1: source 'readings': the timestamp must be in the years 1 to 9999"
    )
    table = decode_messages(source_node(SOURCE), TOPIC, messages_table(TOPIC, messages), None)
    assert table.column("kafka_offset").to_pylist() == [0, 1, 2]


def test_fields_must_fit_the_record_class() -> None:
    """A field that the class lacks, or of another type than the part of a message, is an error before the run."""
    topic = KafkaInput("localhost:1", "events", fields={"nobody": "key", "name": "offset"})
    with pytest.raises(SchemaMismatchError) as raised:
        require_decodable(source_node(EVENTS), topic)
    assert "nobody must be a field" in str(raised.value)
    assert "name must be int for the offset of a message; got str" in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"servers": ""}, "KafkaInput.servers must be addresses"),
        ({"topic": "a b"}, "KafkaInput.topic must be the name of a topic"),
        ({"topic": ""}, "KafkaInput.topic must be the name of a topic"),
        ({"format": "xml"}, "KafkaInput.format must be 'json'"),
        ({"fields": {"a": "body"}}, "KafkaInput.fields must be a mapping"),
        ({"start": datetime(2024, 1, 1)}, "KafkaInput.start must be"),
        ({"per_batch": 0}, "KafkaInput.per_batch must be an int of 1 or more"),
        ({"timeout": timedelta(0)}, "KafkaInput.timeout must be"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, object], message: str) -> None:
    """An invalid argument raises where it is given, with its name."""
    with pytest.raises(ArgumentError, match=message):
        KafkaInput(**{"servers": "localhost:1", "topic": "scores", **arguments})  # type: ignore[arg-type]
