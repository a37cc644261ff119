"""Topics with records of several types: JSON with a tag, Avro with a union or a schema for each; without a broker.

These tests catch a message that is read as another type, and one of an unknown type that is not reported.
"""

from __future__ import annotations

import io
import json
from typing import Any, Final

import pytest
from attrs import frozen

from flowalg import Source
from flowalg.data import INGRESS_TIME, one_of, tagged
from flowalg.errors import ArgumentError, SchemaMismatchError
from flowalg.pipeline.source import source_node
from flowalg.runs.bad_records import BadRecord

pytest.importorskip("confluent_kafka", reason="Kafka needs the package confluent-kafka: flowalg[kafka]")
pytest.importorskip("fastavro", reason="Avro needs the package fastavro: flowalg[kafka]")

import fastavro
from flowalg_kafka import AvroFormat, KafkaInput
from flowalg_kafka.decoding import decode_messages, require_decodable
from flowalg_kafka.messages import messages_table

from tests.kafka.test_decoding import Received


@tagged("model", field="type")
@frozen
class Model:
    """A model of a query."""

    query: str
    level: float


@frozen
class Count:
    """How often a query was seen, and what was before."""

    query: str
    count: int
    before: Model | str | None


SOURCE: Final = source_node(Source("events", one_of(Model, Count), event_time=INGRESS_TIME))
MODEL: Final[dict[str, Any]] = {
    "type": "record",
    "name": "com.example.model",
    "fields": [{"name": "query", "type": "string"}, {"name": "level", "type": "double"}],
}
COUNT: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Count",
    "fields": [
        {"name": "query", "type": "string"},
        {"name": "count", "type": "long"},
        {"name": "before", "type": ["null", "com.example.model", "string"]},
    ],
}
OTHER: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Other",
    "fields": [{"name": "query", "type": "string"}],
}
ROWS: Final = [
    {"model": {"query": "a", "level": 1.5}, "Count": None},
    {
        "model": None,
        "Count": {"query": "b", "count": 3, "before": {"str": None, "model": {"query": "z", "level": 2.0}}},
    },
    {"model": None, "Count": {"query": "b", "count": 4, "before": {"str": "text", "model": None}}},
    {"model": None, "Count": {"query": "b", "count": 5, "before": None}},
]


def decoded(topic: KafkaInput, values: list[bytes]) -> tuple[list[object], list[BadRecord]]:
    """Returns the values of the rows of messages, and the bad records."""
    bad: list[BadRecord] = []
    messages = messages_table(topic, [Received(value, number) for number, value in enumerate(values)])
    table = decode_messages(SOURCE, topic, messages, lambda number, record: bad.append(record))
    return [value.as_py() for value in table.column("value")], bad


def in_avro(schema: Any, *values: object, prefix: bytes = b"") -> list[bytes]:  # noqa: ANN401  # of Avro
    """Returns values of a schema in the binary encoding."""
    encoded = []
    for value in values:
        data = io.BytesIO()
        fastavro.schemaless_writer(data, fastavro.parse_schema(schema), value)
        encoded.append(prefix + data.getvalue())
    return encoded


RECORDS: Final = (
    ("com.example.model", {"query": "a", "level": 1.5}),
    ("Count", {"query": "b", "count": 3, "before": ("com.example.model", {"query": "z", "level": 2.0})}),
    ("Count", {"query": "b", "count": 4, "before": "text"}),
    ("Count", {"query": "b", "count": 5, "before": None}),
)


def test_objects_have_a_type_field() -> None:
    """Each object is a record with its tag; another tag, or none, is a bad record with its text."""
    good = (
        {"type": "model", "query": "a", "level": 1.5},
        {"$type": "Count", "query": "b", "count": 3, "before": {"type": "model", "query": "z", "level": 2}},
        {"query": "b", "count": 4, "before": "text", "$type": "Count"},
        {"$type": "Count", "query": "b", "count": 5},
    )
    unknown = ({"type": "other"}, {"query": "c"})
    topic = KafkaInput("localhost:1", "events")
    require_decodable(SOURCE, topic)
    rows, bad = decoded(topic, [json.dumps(value).encode() for value in (*good, *unknown)])
    assert rows == ROWS
    assert [record.error.partition("'events': ")[2] for record in bad] == [
        "type must be one of Count, model; got 'other'",
        "$type must be one of Count, model; got no such field",
    ]
    assert [json.loads(json.loads(record.record)["text"]) for record in bad] == list(unknown)


def test_a_union_of_avro_has_its_names_as_tags() -> None:
    """The names of records are tags, without their namespace; a record of another name is a bad record."""
    topic = KafkaInput("localhost:1", "events", format=AvroFormat(json.dumps([MODEL, COUNT, OTHER])))
    require_decodable(SOURCE, topic)
    rows, bad = decoded(topic, in_avro([MODEL, COUNT, OTHER], *RECORDS, ("Other", {"query": "c"})))
    assert rows == ROWS
    [record] = bad
    assert record.error.endswith("a value of a union must be of one of Count, model; got Other")


def test_each_type_may_have_a_schema_of_its_own() -> None:
    """Messages with the id of a schema are records of its name."""
    schemas = {7: json.dumps(MODEL), 9: json.dumps([MODEL, COUNT])}
    topic = KafkaInput("localhost:1", "events", format=AvroFormat(schemas))
    require_decodable(SOURCE, topic)
    values = in_avro(MODEL, RECORDS[0][1], prefix=b"\0" + (7).to_bytes(4, "big"))
    values += in_avro([MODEL, COUNT], *RECORDS[1:], prefix=b"\0" + (9).to_bytes(4, "big"))
    assert decoded(topic, values) == (ROWS, [])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (MODEL, "Count must be the name of a record of the Avro schema; got model"),
        ([MODEL, OTHER], "Count must be the name of a record of the Avro schema; got model, Other"),
        ([MODEL, {**OTHER, "name": "Count"}], "Count must have the fields of Count in the Avro schema"),
    ],
)
def test_a_schema_that_lacks_a_member_is_an_error(schema: object, message: str) -> None:
    """The error names the member, before the query starts."""
    topic = KafkaInput("localhost:1", "events", format=AvroFormat(json.dumps(schema)))
    with pytest.raises(SchemaMismatchError, match=message):
        require_decodable(SOURCE, topic)


def test_a_union_of_others_than_records_is_no_schema() -> None:
    """So is a union as the schema of a source of one class."""
    with pytest.raises(ArgumentError, match="a schema of an Avro record, or of a union of records"):
        AvroFormat(json.dumps([MODEL, "string"]))
    models = source_node(Source("models", Model, event_time=INGRESS_TIME))
    union = KafkaInput("localhost:1", "events", format=AvroFormat(json.dumps([MODEL, OTHER])))
    with pytest.raises(SchemaMismatchError, match="must be that of one record, unless the elements"):
        require_decodable(models, union)
