"""A query of flowalg's local engine that is killed in its third micro-batch, and started again."""

from __future__ import annotations

import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import feed
from attrs import frozen
from feed import BASE, STREAM, print_cells
from flowalg_polars import streaming
from flowalg_sinks import SQLite, changelog

from flowalg import AtCount, AtWatermark, BoundedOutOfOrderness, FixedWindows, Source, Sum

MINUTE = timedelta(minutes=1)


@frozen
class Value:
    """A value with its time."""

    value: int
    at: datetime


def query(folder: str) -> None:
    """Runs the query; its changes are in a table of SQLite, and in the file ``output`` at the end."""
    values = Source("values", Value, event_time=lambda value: value.at)
    sums = (
        values.key_by(lambda value: "all")
        .map_values(lambda value: feed.die_once(value.value, folder))
        .window(
            FixedWindows(MINUTE),
            trigger=AtWatermark().with_early_firings(AtCount(1)),
            allowed_lateness=MINUTE,
        )
        .combine_per_key(Sum())
    )
    start = datetime.fromtimestamp(BASE, UTC)
    records = streaming.Records([Value(value, start) for value in STREAM], per_batch=1)
    target = SQLite(Path(folder, "panes.db"))
    streaming.run(
        sums,
        {values: streaming.StreamInput(records, BoundedOutOfOrderness(MINUTE))},
        sink=changelog(sums, target, table="sums"),
        checkpoint=Path(folder, "checkpoint"),
    )
    with sqlite3.connect(Path(folder, "panes.db")) as connection:
        rows = connection.execute("SELECT value FROM sums ORDER BY batch, position")
        Path(folder, "output").write_text("\n".join(str(value) for (value,) in rows))


def restart() -> object:
    """What is written, with a kill in between."""
    return feed.restart(__file__)


if __name__ == "__main__":
    if len(sys.argv) > 1 and Path(sys.argv[1]).is_dir():
        query(sys.argv[1])
    else:
        print_cells(restart)
