"""The scores of the checks in Avro, in the wire format of Confluent: its schemas, and values that are no scores."""

from __future__ import annotations

import importlib
import json
from io import BytesIO
from typing import Final

from flowalg_kafka import AvroFormat

from tests.faults.kafka.traffic import START, Format, Score


def _schema(*more: object) -> str:
    fields = [
        {"name": "number", "type": "long"},
        {"name": "player", "type": "string"},
        {"name": "points", "type": "int"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        *more,
    ]
    return json.dumps({"type": "record", "name": "Score", "fields": fields})


SCHEMAS: Final = {3: _schema(), 4: _schema({"name": "note", "type": ["null", "string"]})}
"""The schemas by their ids; the later one has a field that a score has not."""


def _encode(score: Score) -> bytes:
    """Writes a score with a schema that depends on its number."""
    identifier = 3 + score.number % 2
    record = {"number": score.number, "player": score.player, "points": score.points, "at": score.at}
    driver, data = importlib.import_module("fastavro"), BytesIO()
    driver.schemaless_writer(data, json.loads(SCHEMAS[identifier]), record)
    return b"\0" + identifier.to_bytes(4, "big") + data.getvalue()


_SCORE: Final = _encode(Score(2, "ann", 5, START))

AVRO: Final = Format(
    AvroFormat(SCHEMAS),
    _encode,
    (
        None,
        b"",
        b"\0",
        b"not Avro",
        _SCORE[:-1],
        _SCORE + b"\0",
        b"\1" + _SCORE[1:],
        b"\0\0\0\0\x05" + _SCORE[5:],
        _SCORE[:6] + b"\x06\xff\xfe\xfd" + _SCORE[10:],
    ),
)
"""Without a value, cut, longer, of an unknown format or schema, and with a text that is not UTF-8."""
