"""Kills of the local engine at random points: the tables must be those of an undisturbed query."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import flowalg_polars.streaming as local
import flowalg_sinks
from attrs import frozen
from flowalg_sinks import SQLite
from flowalg_sinks.pane_sink import PaneSink

from flowalg.pipeline.outputs import emits_panes
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
            checkpoint=self.checkpoint,
            drain=True,
            shards=2,
        )

    def content(self) -> list[str]:
        """Returns the rows of all tables."""
        return rows_of(self.sinks)


def check(kills: int = 100, seed: int = 0) -> int:
    """Kills queries on the local engine: a chain of groupings, and chains of computations and groupings, in turns.

    Each run reads a folder of files, one for each micro-batch, and writes a changelog and, of panes, current values,
    with drops, to SQLite. It is started again after each kill until it ends, and its tables are compared with those of
    a run without kills. The last line is ``faults on the local engine: K survived of N``.
    """
    tally = Tally()
    with TemporaryDirectory(prefix="flowalg-") as scratch:
        root = Path(scratch)
        make_input(root / "in", ends=False)
        trials = Trials(root, root / "in", LocalTables)
        for query in QUERIES:
            trials.expect(query, ())

        def strike(subject: Subject, process: Process, chance: random.Random) -> bool:
            assert isinstance(subject, FileQuery)
            longest = trials.seconds[subject.query]
            moment = Moment(seconds=(0.2 * longest, longest))
            return kill("", moment).strike(subject, process, chance)

        fault = Fault("SIGKILL of the local engine", strike)
        trials.disturb(tally, [fault] * kills, random.Random(seed), most=12)
    return tally.report("faults on the local engine")
