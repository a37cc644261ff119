"""Sinks under kills: a killed query must write the same tables as an undisturbed one.

``python -m tests.faults.sinks FOLDER [CONNINFO]`` runs a query over ``FOLDER/in`` from its checkpoint to
the end of its input. It writes the changelog and, of panes, the current values, each with its drops, to
``FOLDER/panes.db`` and to PostgreSQL if there is a connection string. If there is a file ``FOLDER/die`` with a number,
the process deletes it and kills itself after that number of transactions, before Spark can commit the batch.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count, cycle
from pathlib import Path
from typing import Final, TypeAlias

import psycopg
from attrs import frozen
from flowalg_sinks.drops import drop_table
from flowalg_spark import local_session, streaming
from flowalg_spark.sinks import Changelog, PostgreSQL, SQLite, Upsert, changelog, upsert
from pyspark.sql import DataFrame

from flowalg import BoundedOutOfOrderness
from flowalg.pipeline.outputs import emits_panes
from tests.components.postgresql import cluster, missing
from tests.components.processes import kill_tree
from tests.faults.progress import Batches, files_of_batches, join_files
from tests.faults.query import QUERIES, pipeline
from tests.faults.visits import DISORDER, VISITS
from tests.support.spark_replay import stream_of

Database: TypeAlias = SQLite | PostgreSQL
Process: TypeAlias = subprocess.Popen[bytes]

DIE: Final = "die"
AT_RANDOM: Final = "SIGKILL of the whole process while it writes to tables"
BEFORE_SPARK: Final = "SIGKILL between a table's commit and Spark's"


@frozen
class KillResult:
    """The result of kills during one run."""

    fault: str
    count: int
    survived: bool


@frozen
class SinkRun:
    """The folder of one run, and its databases."""

    folder: Path
    conninfo: str | None

    @property
    def databases(self) -> list[Database]:
        """SQLite, and PostgreSQL if it is available."""
        files: list[Database] = [SQLite(self.folder / "panes.db")]
        return files if self.conninfo is None else [*files, PostgreSQL(self.conninfo)]

    @property
    def sinks(self) -> list[Upsert | Changelog]:
        """The changelog for each database, and the current values of panes."""
        output = pipeline(self.folder)
        sinks: list[Upsert | Changelog] = []
        for database in self.databases:
            if emits_panes(output.node):
                sinks.append(upsert(output, database, table="latest"))
            sinks.append(changelog(output, database, table="log"))
        return sinks

    def content(self) -> bytes:
        """The sorted rows of the databases."""
        lines = [
            f"{type(sink.target).__name__} {table.name} {row!r}"
            for sink in self.sinks
            for table in (sink.table, drop_table(sink.name))
            for row in _rows(sink, table.name)
        ]
        return "\n".join(sorted(lines)).encode()

    def start(self) -> Process:
        """Starts the query in a process group of its own."""
        arguments = [str(self.folder), *([] if self.conninfo is None else [self.conninfo])]
        with (self.folder / "query.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.faults.sinks", *arguments],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


def _rows(sink: Upsert | Changelog, name: str) -> list[object]:
    table = sink.table if name == sink.name else drop_table(sink.name)
    assert isinstance(sink.target, SQLite | PostgreSQL)
    return list(sink.target.rows(table))


@frozen
class Trials:
    """Runs over one input, each into new tables."""

    root: Path
    files: Path
    server: str | None

    def create_run(self, query: str, number: int, files: Path | None = None) -> SinkRun:
        """Creates the folder and the tables of a run of a query without a checkpoint, by default over all files."""
        folder = self.root / query / f"sinks-{number}"
        folder.mkdir(parents=True)
        os.symlink(files or self.files, folder / "in")
        if self.server is None:
            return SinkRun(folder, None)
        schema = f"run_{number}"
        with psycopg.connect(self.server) as connection:
            connection.execute(f"CREATE SCHEMA {schema}".encode())
        return SinkRun(folder, f"{self.server} options='-c search_path={schema}'")


def kill_queries(
    root: Path,
    files: Path,
    wanted: int,
    deaths: int,
    rng: random.Random,
) -> Iterator[KillResult]:
    """Kills the queries at random times and right after transactions, and compares each completed run."""
    with ExitStack() as stack:
        server = stack.enter_context(cluster()) if missing() is None else None
        trials = Trials(root, files, server)
        expected: dict[tuple[str, Batches], bytes] = {}
        numbers = count()
        for query in cycle(QUERIES):
            if wanted <= 0 and deaths <= 0:
                return
            number = next(numbers)
            sink_run = trials.create_run(query, number)
            at_random, by_itself, ended = _run_with_kills(sink_run, wanted, deaths, rng)
            wanted, deaths = wanted - at_random, deaths - by_itself
            survived = False
            if ended:
                known = query, files_of_batches(sink_run.folder)
                if known not in expected:
                    joined = root / "joined-for-sinks" / str(number)
                    join_files(files, known[1], joined)
                    expected[known] = _undisturbed(trials.create_run(query, next(numbers), joined))
                survived = sink_run.content() == expected[known]
            else:
                print((sink_run.folder / "query.log").read_text()[-3000:])
            for fault, kills in ((AT_RANDOM, at_random), (BEFORE_SPARK, by_itself)):
                if kills:
                    yield KillResult(f"{fault}, {query}", kills, survived)
            if not survived:
                return
            shutil.rmtree(sink_run.folder)


def _undisturbed(sink_run: SinkRun) -> bytes:
    """Returns the content of the tables after a run without kills."""
    if sink_run.start().wait() != 0:
        raise RuntimeError((sink_run.folder / "query.log").read_text()[-3000:])
    content = sink_run.content()
    databases = " and ".join(type(database).__name__ for database in sink_run.databases)
    rows = content.count(b"\n") + 1
    print(f"undisturbed {sink_run.folder.parent.name}: {rows} rows in {databases}", flush=True)
    return content


def _run_with_kills(sink_run: SinkRun, wanted: int, deaths: int, rng: random.Random) -> tuple[int, int, bool]:
    """Kills one run until it ends; returns the numbers of both kinds of kills, and whether it succeeded."""
    at_random = by_itself = 0
    while True:
        die = sink_run.folder / DIE
        dies = by_itself < deaths
        if dies:
            die.write_text(str(rng.randrange(1, 40)))
        process = sink_run.start()
        try:
            code = process.wait(rng.uniform(6, 20) if at_random < wanted and not dies else None)
        except subprocess.TimeoutExpired:
            kill_tree(process)
            at_random += 1
            continue
        if code == -signal.SIGKILL and dies and not die.exists():
            by_itself += 1
            continue
        die.unlink(missing_ok=True)
        return at_random, by_itself, code == 0


def run(sink_run: SinkRun) -> None:
    """Runs the query to the end of its input."""
    spark = local_session("flowalg faults", cores=2, memory="1g", log=sink_run.folder / "spark.log")
    sinks = sink_run.sinks
    die = sink_run.folder / DIE
    left = int(die.read_text()) if die.exists() else 0

    def write(frame: DataFrame, batch: int) -> None:
        nonlocal left
        persisted = frame.persist()
        for sink in sinks:
            sink(persisted, batch)
            left -= 1
            if left == 0:
                die.unlink()
                os.killpg(0, signal.SIGKILL)
        persisted.unpersist()

    try:
        source = stream_of(spark, sink_run.folder / "in", BoundedOutOfOrderness(DISORDER))
        panes = streaming.compile(pipeline(sink_run.folder), {VISITS: source}).with_drops()
        query = (
            panes.writeStream.foreachBatch(write)
            .option("checkpointLocation", str(sink_run.folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    finally:
        spark.stop()


if __name__ == "__main__":
    _, given, *conninfo = sys.argv
    run(SinkRun(Path(given), conninfo[0] if conninfo else None))
