"""The rows of a table as messages: the primary key and the row as JSON objects, by the names of columns."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final, cast

from flowalg_sinks.databases.tables import Cell, CellKind, Column, Row

from flowalg.data.json_text import Json, dump_json, encode_scalar


def encode_cells(columns: Sequence[Column], cells: Row) -> bytes:
    """Encodes cells as a JSON object: equal cells have equal bytes.

    Timestamps and days are ISO 8601, durations whole microseconds, decimals text, bytes base64. NaN and the infinities
    are the texts ``NaN``, ``Infinity`` and ``-Infinity``.
    """
    if any(column.kind is CellKind.JSON for column in columns):
        members = (
            f"{dump_json(column.name)}:{_encode(column.kind, cell)}"
            for column, cell in zip(columns, cells, strict=True)
        )
        return f"{{{','.join(members)}}}".encode()
    document = {column.name: encode_scalar(cell) for column, cell in zip(columns, cells, strict=True)}
    return dump_json(document).encode()


def _encode(kind: CellKind, cell: Cell) -> str:
    if kind is CellKind.JSON and cell is not None:
        return cast("str", cell)
    return dump_json(encode_scalar(cell))


def decode_cells(columns: Sequence[Column], data: bytes) -> Row:
    """Decodes cells from a JSON object."""
    document = cast("dict[str, Json]", json.loads(data))
    return tuple(_decode(column.kind, document[column.name]) for column in columns)


_MICROSECOND: Final = timedelta(microseconds=1)
_DECODERS: Final[Mapping[CellKind, Callable[[Json], Cell]]] = {
    CellKind.FLOAT: lambda value: float(cast("float", value)),
    CellKind.BINARY: lambda value: b64decode(str(value)),
    CellKind.TIMESTAMP: lambda value: datetime.fromisoformat(str(value)).astimezone(UTC),
    CellKind.DAY: lambda value: date.fromisoformat(str(value)),
    CellKind.DURATION: lambda value: int(str(value)) * _MICROSECOND,
    CellKind.DECIMAL: lambda value: Decimal(str(value)),
    CellKind.JSON: dump_json,
}


def _decode(kind: CellKind, value: Json) -> Cell:
    if kind in _DECODERS and value is not None:
        return _DECODERS[kind](value)
    return cast("Cell", value)
