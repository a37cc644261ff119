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
from flowalg_sinks.databases.tables import Cell, CellKind, Column

texts = st.text(st.characters(exclude_categories=["Cs"]))
cells: dict[CellKind, st.SearchStrategy[Cell]] = {
    CellKind.BOOLEAN: st.booleans(),
    CellKind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    CellKind.FLOAT: st.floats(),
    CellKind.TEXT: texts,
    CellKind.BINARY: st.binary(),
    CellKind.TIMESTAMP: st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(fold=0)),
    CellKind.DAY: st.dates(),
    CellKind.DURATION: st.timedeltas(timedelta(0), timedelta(days=10**6)),
    CellKind.DECIMAL: st.decimals(-(10**20), 10**20, places=18).map(Decimal.normalize),
    CellKind.JSON: st.lists(st.integers() | texts).map(
        lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    ),
}
columns = st.lists(st.sampled_from(list(CellKind)), min_size=1).map(
    lambda kinds: tuple(Column(f'"{number}', kind, nullable=True) for number, kind in enumerate(kinds))
)


@given(columns, st.data())
def test_a_row_is_the_same_after_a_topic(columns: tuple[Column, ...], data: st.DataObject) -> None:
    """Decoding gives the cells that were encoded, with nulls, NaN and infinities."""
    row = tuple(data.draw(st.none() | cells[column.kind]) for column in columns)
    assert repr(decode_cells(columns, encode_cells(columns, row))) == repr(row)


def test_a_row_is_a_json_object_by_the_names_of_columns() -> None:
    """The bytes are those of the canonical document, with and without a column of JSON."""
    columns = (Column("key", CellKind.TEXT), Column("at", CellKind.TIMESTAMP), Column("rate", CellKind.FLOAT))
    row = ("ä", datetime(2024, 1, 1, 12, tzinfo=UTC), float("nan"))
    text = '"key":"ä","at":"2024-01-01T12:00:00+00:00","rate":"NaN"'
    assert encode_cells(columns, row).decode() == f"{{{text}}}"
    more = (*columns, Column("list", CellKind.JSON))
    assert encode_cells(more, (*row, "[1]")).decode() == f'{{{text},"list":[1]}}'
