"""Streams on a disk that is full: a named error, and nothing is lost or doubled once there is room again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import timedelta
from itertools import islice
from pathlib import Path

import flowalg_sinks
import polars as pl
import pytest
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, MicroBatch, StreamInput
from flowalg_sinks import SinkError, SQLite

from flowalg import KV, BoundedOutOfOrderness, FixedWindows, Pane, Source, Sum
from flowalg.errors import CheckpointError
from tests.support.full_disk import filled, small_disk
from tests.support.scores import NOON, SCORES, Score

MINUTE = timedelta(minutes=1)
TOTALS = (
    SCORES.key_by(lambda score: score.team)
    .map_values(lambda score: score.points)
    .window(FixedWindows(MINUTE), allowed_lateness=MINUTE)
    .combine_per_key(Sum())
)
BATCHES = [
    pl.DataFrame(
        {
            "team": [f"{batch}-{team}" for team in range(500)],
            "points": list(range(500)),
            "at": [NOON + batch * MINUTE] * 500,
        }
    )
    for batch in range(6)
]


def inputs() -> dict[Source[Score], StreamInput]:
    """Returns six micro-batches of a minute, each with five hundred teams of its own."""
    return {SCORES: StreamInput(Frames(BATCHES), BoundedOutOfOrderness(timedelta(0)))}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    with small_disk(tmp_path / "disk", "1m") as folder:
        yield folder


def expected() -> list[tuple[object, ...]]:
    """Returns the panes of an undisturbed query."""
    return [(pane.key, pane.value) for batch in streaming.batches(TOTALS, inputs()) for pane in batch.panes]


@pytest.mark.parametrize("done", [0, 1, 3])
def test_a_checkpoint_on_a_full_disk_is_an_error_and_loses_nothing(disk: Path, done: int) -> None:
    """The error names the checkpoint and the reason; started again with room, the query goes on where it was."""
    checkpoint = disk / "checkpoint"
    panes_by_batch: dict[int, tuple[Pane[KV[str, int]], ...]] = {}

    def keep(batches: Iterable[MicroBatch[KV[str, int]]]) -> None:
        for batch in batches:
            panes_by_batch[batch.number] = batch.panes

    query = streaming.batches(TOTALS, inputs(), checkpoint=checkpoint)
    keep(islice(query, done))
    with (
        filled(disk),
        pytest.raises(CheckpointError, match="checkpoint cannot be written: No space left on device"),
    ):
        keep(query)
    query.close()
    keep(streaming.batches(TOTALS, inputs(), checkpoint=checkpoint))
    panes = [(pane.key, pane.value) for number in sorted(panes_by_batch) for pane in panes_by_batch[number]]
    assert panes == expected()


def test_a_table_on_a_full_disk_is_an_error_and_loses_nothing(disk: Path, tmp_path: Path) -> None:
    """The error has the path of the database; started again with room, the query writes each pane once."""
    sink = flowalg_sinks.changelog(TOTALS, SQLite(disk / "totals.db"), table="totals")
    checkpoint = tmp_path / "checkpoint"
    query = streaming.batches(TOTALS, inputs(), checkpoint=checkpoint)
    assert next(query).write_to(sink)
    assert next(query).write_to(sink)
    query.close()
    with filled(disk), pytest.raises(SinkError, match="totals.db cannot be written: .*disk is full"):
        streaming.run(TOTALS, inputs(), sink=sink, checkpoint=checkpoint)
    streaming.run(TOTALS, inputs(), sink=sink, checkpoint=checkpoint)
    with closing(sqlite3.connect(disk / "totals.db")) as connection:
        rows = connection.execute("SELECT key, value FROM totals ORDER BY batch, position").fetchall()
    assert rows == expected()
