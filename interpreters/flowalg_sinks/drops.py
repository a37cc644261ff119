"""Drops as rows of a second table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, cast

from attrs import evolve
from flowalg_columns.json_text import encode_json
from flowalg_columns.names import BAD_RECORD
from flowalg_columns.values import decode

from flowalg.data.kv import KV
from flowalg.data.shapes import RecordOf
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import last_groupings
from flowalg_sinks.databases.tables import Cell, CellKind, Column, Row, Table
from flowalg_sinks.databases.target import Transaction, WrittenBatch
from flowalg_sinks.exactly_once import require_written
from flowalg_sinks.pane_columns import BATCH_COLUMNS, WINDOW_COLUMNS

_COLUMNS: Final = (
    *BATCH_COLUMNS,
    Column("stage", CellKind.TEXT, nullable=True),
    Column("reason", CellKind.TEXT),
    Column("count", CellKind.INTEGER),
    Column("dropped_key", CellKind.TEXT, nullable=True),
    Column("dropped_value", CellKind.TEXT, nullable=True),
    Column("error", CellKind.TEXT, nullable=True),
    *(evolve(column, nullable=True) for column in WINDOW_COLUMNS),
    Column("processing_time", CellKind.TIMESTAMP),
    Column("watermark", CellKind.TIMESTAMP, nullable=True),
)
"""The columns of a drop. A bad record has an error, and may have no window and no watermark."""


def drop_table(table: str) -> Table:
    """Returns the table of drops for a table of panes."""
    return Table(f"{table}_drops", _COLUMNS, ("batch", "position"))


def prepare_drops(transaction: Transaction, table: str, last: WrittenBatch | None) -> None:
    """Creates or checks the table of drops for a table of panes, whose last batch is given.

    Raises ``SinkError`` if the table of drops was lost.
    """
    drops = drop_table(table)
    written = last if last is not None and last.has_drops else None
    require_written(drops.name, written, created=transaction.prepare(drops), of=table)


def drop_rows(pipeline: PCollection[object], batch: int, drops: Iterable[Mapping[str, object]]) -> list[Row]:
    """Returns the rows of drops; each has the fields ``drop``, and ``start`` and ``end`` of its window.

    Keys and values are JSON, since those of different stages share a column.
    """
    pair = next((grouping.shape for grouping in last_groupings(pipeline.node)), None)
    rows = sorted((_row(drop, pair) for drop in drops), key=_order)
    return [(batch, position, *row) for position, row in enumerate(rows)]


def late_rows(batch: int, drops: Iterable[Mapping[str, object]]) -> list[Row]:
    """Returns the rows of dropped elements in a table of their own, without bad records."""
    rows = sorted(
        _late_row(fields, drop)
        for fields in drops
        if (drop := cast("Mapping[str, object]", fields["drop"]))["reason"] != BAD_RECORD
    )
    return [(batch, position, *row) for position, row in enumerate(rows)]


def _late_row(fields: Mapping[str, object], drop: Mapping[str, object]) -> Row:
    cells = (drop[name] for name in ("stage", "input", "reason", "change", "key", "value"))
    times = (drop["event_time"], drop["processing_time"], drop["watermark"])
    return (*cast("Row", tuple(cells)), *map(_point, (fields["start"], fields["end"], *times)))


def _row(fields: Mapping[str, object], pair: object) -> Row:
    drop = cast("Mapping[str, object]", fields["drop"])
    key, value = drop["key"], drop["value"]
    if "stage" not in drop and isinstance(pair, RecordOf) and pair.cls is KV:
        key_shape, value_shape = (field.shape for field in pair.fields)
        key = encode_json(decode(key, key_shape), key_shape)
        value = None if value is None else encode_json(decode(value, value_shape), value_shape)
    times = (fields["start"], fields["end"], drop["processing_time"], drop["watermark"])
    cells = (drop.get("stage"), drop["reason"], drop["count"], key, value, drop.get("error"))
    return (*cast("Row", cells), *map(_point, times))


def _point(time: object) -> datetime | None:
    return None if time is None else cast("datetime", time).astimezone(UTC)


def _order(row: Row) -> tuple[tuple[bool, Cell], ...]:
    """Returns the sort key of a drop: the clocks, then window, stage, reason and key."""
    stage, reason, count, key, value, error, start, end, time, watermark = row
    by = (time, watermark, end, start, stage, reason, key, count, value, error)
    return tuple((cell is not None, cell) for cell in by)
