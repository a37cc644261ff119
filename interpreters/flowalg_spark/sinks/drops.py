"""What was dropped, as rows of a second table, so that nothing vanishes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, cast

from attrs import evolve
from flowalg_sinks.pane_columns import BATCH_COLUMNS, WINDOW_COLUMNS
from flowalg_sinks.tables import Cell, Column, Kind, Row, Table
from flowalg_sinks.target import Transaction

from flowalg.data.kv import KV
from flowalg.data.shapes import RecordOf
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import last_grouping
from flowalg_spark.encoding.json_text import encode_json
from flowalg_spark.encoding.values import decode

_COLUMNS: Final = (
    *BATCH_COLUMNS,
    Column("stage", Kind.TEXT, nullable=True),
    Column("reason", Kind.TEXT),
    Column("count", Kind.INTEGER),
    Column("dropped_key", Kind.TEXT, nullable=True),
    Column("dropped_value", Kind.TEXT, nullable=True),
    Column("error", Kind.TEXT, nullable=True),
    *(evolve(one, nullable=True) for one in WINDOW_COLUMNS),
    Column("processing_time", Kind.TIMESTAMP),
    Column("watermark", Kind.TIMESTAMP, nullable=True),
)
"""A bad record has an error, and often neither a window nor a watermark."""


def drops_table(table: str) -> Table:
    """The table of what the panes of another table have dropped."""
    return Table(f"{table}_drops", _COLUMNS, ("batch", "position"))


def put_drops(transaction: Transaction, table: str, rows: Sequence[Row]) -> None:
    """Write drops beside the panes of a table."""
    dropped = drops_table(table)
    transaction.prepare(dropped)
    transaction.put(dropped, rows)


def drop_rows(pipeline: PCollection[object], batch: int, drops: Iterable[Mapping[str, object]]) -> list[Row]:
    """The rows of drops as Arrow has them: each a ``drop``, with the ``start`` and ``end`` of its window.

    Keys and values are JSON, whatever their type: those of different stages share a column.
    """
    pair = last_grouping(pipeline.node).shape
    rows = sorted((_row(one, pair) for one in drops), key=_order)
    return [(batch, position, *row) for position, row in enumerate(rows)]


def _row(given: Mapping[str, object], pair: object) -> Row:
    drop = cast("Mapping[str, object]", given["drop"])
    key, value = drop["key"], drop["value"]
    if "stage" not in drop and isinstance(pair, RecordOf) and pair.cls is KV:
        key, value = (
            None if said is None and number else encode_json(decode(said, one.shape), one.shape)
            for number, (said, one) in enumerate(zip((key, value), pair.fields, strict=True))
        )
    times = (given["start"], given["end"], drop["processing_time"], drop["watermark"])
    said = (drop.get("stage"), drop["reason"], drop["count"], key, value, drop.get("error"))
    return (*cast("Row", said), *map(_point, times))


def _point(time: object) -> datetime | None:
    return None if time is None else cast("datetime", time).astimezone(UTC)


def _order(row: Row) -> tuple[tuple[bool, Cell], ...]:
    """By the clocks, then by window, stage, reason and key."""
    stage, reason, count, key, value, error, start, end, time, watermark = row
    in_turn = (time, watermark, end, start, stage, reason, key, count, value, error)
    return tuple((one is not None, one) for one in in_turn)


__all__ = ["drop_rows", "drops_table", "put_drops"]
