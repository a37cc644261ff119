"""Kills of the local engine at random points: the tables must be those of an undisturbed query."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import flowalg_polars.streaming as local
import flowalg_sinks
from attrs import frozen
from flowalg_sinks import SQLite
from flowalg_sinks.pane_sink import PaneSink

from flowalg.pipeline.outputs import emits_panes
from tests.components.s3 import BUCKET, environment, s3_server
from tests.faults.files import POLICY, QUERIES, FileQuery, make_input, rows_of
from tests.faults.harness import Fault, Moment, Tally, kill
from tests.faults.subject import Process, Subject
from tests.faults.trials import Trials
from tests.faults.visits import VISITS


@frozen
class LocalTables(FileQuery):
    """A run on the local engine, to tables in SQLite."""

    @property
    def sinks(self) -> tuple[PaneSink, ...]:
        """The changelog and, of panes, the current values."""
        pipeline, target = self.pipeline, SQLite(self.folder / "panes.db")
        log = flowalg_sinks.changelog(pipeline, target, table="log")
        latest = (
            flowalg_sinks.upsert(pipeline, target, table="latest") if emits_panes(pipeline.node) else None
        )
        return (log,) if latest is None else (latest, log)

    def run(self) -> None:
        """Runs the query to the end of its input."""
        stream = local.StreamInput(self.folder / "in", POLICY, processing_time="seen")
        local.run(
            self.pipeline,
            {VISITS: stream},
            sink=self.sinks,
            checkpoint=self.location,
            drain=True,
            shards=2,
        )

    @property
    def location(self) -> str:
        """Where the checkpoint is."""
        return str(self.checkpoint)

    def content(self) -> list[str]:
        """Returns the rows of all tables."""
        return rows_of(self.sinks)


@frozen
class StoreTables(LocalTables):
    """A run on the local engine with its checkpoint in an object store, which it finds in its environment."""

    @property
    def location(self) -> str:
        """The URL of the checkpoint."""
        return f"s3://{BUCKET}{self.folder}"


def check(kills: int = 100, store_kills: int = 50, seed: int = 0) -> int:
    """Kills queries on the local engine: a chain of groupings, and chains of computations and groupings, in turns.

    Each run reads a folder of files, one for each micro-batch, and writes a changelog and, of panes, current values,
    with drops, to SQLite. It is started again after each kill until it ends, and its tables are compared with those of
    a run without kills. Its checkpoint is in a folder, and for further ``store_kills`` in an object store, a server of
    S3. The last line is ``faults on the local engine: K survived of N``.
    """
    tally = Tally()
    chance = random.Random(seed)
    with (
        TemporaryDirectory(prefix="flowalg-") as scratch,
        s3_server() as url,
        patch.dict(os.environ, environment(url)),
    ):
        make_input(Path(scratch) / "in", ends=False)
        for name, create, number in (
            ("a checkpoint in a folder", LocalTables, kills),
            ("a checkpoint in an object store", StoreTables, store_kills),
        ):
            if number:
                _disturb(tally, Path(scratch) / name.rpartition(" ")[2], name, create, number, chance)
    return tally.report("faults on the local engine")


def _disturb(
    tally: Tally,
    root: Path,
    name: str,
    create: Callable[[Path], LocalTables],
    kills: int,
    chance: random.Random,
) -> None:
    """Kills queries so many times."""
    root.mkdir()
    trials = Trials(root, root.parent / "in", create)
    for query in QUERIES:
        trials.expect(query, ())

    def strike(subject: Subject, process: Process, chance: random.Random) -> bool:
        assert isinstance(subject, FileQuery)
        longest = trials.seconds[subject.query]
        moment = Moment(seconds=(0.2 * longest, longest))
        return kill("", moment).strike(subject, process, chance)

    fault = Fault(f"SIGKILL of the local engine with {name}", strike)
    trials.disturb(tally, [fault] * kills, chance, most=12)
