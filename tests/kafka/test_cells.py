"""Rows of tables as messages: decoded, they are the same cells, and equal cells have equal bytes.

The tests catch a cell that a topic changes, and a key whose bytes depend on how it was encoded.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("confluent_kafka", reason="Kafka needs the package confluent-kafka: flowalg[kafka]")

from flowalg_kafka.cells import decode_cells, encode_cells
from flowalg_sinks.tables import Cell, Column, Kind

texts = st.text(st.characters(exclude_categories=["Cs"]))
cells: dict[Kind, st.SearchStrategy[Cell]] = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    Kind.FLOAT: st.floats(),
    Kind.TEXT: texts,
    Kind.BINARY: st.binary(),
    Kind.TIMESTAMP: st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(fold=0)),
    Kind.DAY: st.dates(),
    Kind.DURATION: st.timedeltas(timedelta(0), timedelta(days=10**6)),
    Kind.DECIMAL: st.decimals(-(10**20), 10**20, places=18).map(Decimal.normalize),
    Kind.JSON: st.lists(st.integers() | texts).map(
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    ),
}
columns = st.lists(st.sampled_from(list(Kind)), min_size=1).map(
    lambda kinds: tuple(Column(f'"{number}', kind, nullable=True) for number, kind in enumerate(kinds))
)


@given(columns, st.data())
def test_a_row_is_the_same_after_a_topic(columns: tuple[Column, ...], data: st.DataObject) -> None:
    """Decoding gives the cells that were encoded, with nulls, NaN and infinities."""
    row = tuple(data.draw(st.none() | cells[column.kind]) for column in columns)
    assert repr(decode_cells(columns, encode_cells(columns, row))) == repr(row)


def test_a_row_is_a_json_object_by_the_names_of_columns() -> None:
    """The bytes are those of the canonical document, with and without a column of JSON."""
    columns = (Column("key", Kind.TEXT), Column("at", Kind.TIMESTAMP), Column("rate", Kind.FLOAT))
    row = ("ä", datetime(2024, 1, 1, 12, tzinfo=UTC), float("nan"))
    text = '"key":"ä","at":"2024-01-01T12:00:00+00:00","rate":"NaN"'
    assert encode_cells(columns, row).decode() == f"{{{text}}}"
    more = (*columns, Column("list", Kind.JSON))
    assert encode_cells(more, (*row, "[1]")).decode() == f'{{{text},"list":[1]}}'
