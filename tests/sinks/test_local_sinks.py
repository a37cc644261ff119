"""Sinks of the local engine: the tables in SQLite and PostgreSQL, after a restart, are those of an undisturbed query.

The tests catch faults in how a query passes its micro-batches to the sinks.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import flowalg_sinks
import polars as pl
import psycopg
import pytest
from attrs import asdict
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_sinks import SQLite
from flowalg_sinks.databases.postgresql import PostgreSQL
from flowalg_sinks.drops import drop_table
from flowalg_sinks.pane_sink import PaneSink

from flowalg import Accumulation, AtCount, AtWatermark, BoundedOutOfOrderness, Sessions, Sum
from tests.support.scores import NOON, SCORES, Score

Database: TypeAlias = SQLite | PostgreSQL
MINUTE = timedelta(minutes=1)
TOTALS = (
    SCORES.key_by(lambda score: score.team)
    .map_values(lambda score: score.points)
    .window(
        Sessions(2 * MINUTE),
        trigger=AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=5 * MINUTE,
    )
    .combine_per_key(Sum())
)
FRAMES = [
    pl.DataFrame(
        [
            asdict(Score(team, 10 * number + points, NOON + ((7 * number + 3 * points) % 30) * MINUTE))
            for team in "abc"
            for points in range(4)
        ]
    )
    for number in range(6)
]


def sinks_in(database: Database) -> tuple[PaneSink, ...]:
    """Returns the current values and the changelog, in tables of a database."""
    return (
        flowalg_sinks.upsert(TOTALS, database, table="latest"),
        flowalg_sinks.changelog(TOTALS, database, table="log"),
    )


def content(sinks: tuple[PaneSink, ...], database: Database) -> list[str]:
    """Returns the rows of the tables without processing times, which are those of the run."""
    lines = []
    for table in [table for sink in sinks for table in (sink.table, drop_table(sink.name))]:
        kept = [number for number, column in enumerate(table.columns) if "processing" not in column.name]
        lines += sorted(f"{table.name} {[row[number] for number in kept]}" for row in database.rows(table))
    return lines


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_query_that_restarts_writes_the_same_tables(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A query is stopped after its sinks have written and before it commits; the tables are those without a stop."""

    def database(name: str) -> Database:
        if kind == "sqlite":
            return SQLite(tmp_path / f"{name}.db")
        server: str = request.getfixturevalue("server")
        with psycopg.connect(server) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE'.encode())
            connection.execute(f'CREATE SCHEMA "{name}"'.encode())
        return PostgreSQL(f"{server} options='-c search_path={name}'")

    stream = StreamInput(Frames(FRAMES), BoundedOutOfOrderness(MINUTE))
    contents = {}
    for name, stops in (("calm", ()), ("stopped", (2, 1, 3))):
        target = database(f"local_{name}")
        sinks = sinks_in(target)
        for stop in stops:
            query = streaming.batches(TOTALS, {SCORES: stream}, checkpoint=tmp_path / name)
            for _ in range(stop):
                batch = next(query)
                for sink in sinks:
                    batch.write_to(sink)
            query.close()
        streaming.run(TOTALS, {SCORES: stream}, sink=sinks, checkpoint=tmp_path / name)
        contents[name] = content(sinks, target)
    assert len(contents["calm"]) > 10
    assert any("retraction" in row for row in contents["calm"])
    assert contents["stopped"] == contents["calm"]
