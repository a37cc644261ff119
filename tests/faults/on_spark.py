"""The queries from files on Spark, to files and to tables in SQLite and PostgreSQL."""

from __future__ import annotations

import json
import os
import signal
from abc import abstractmethod
from pathlib import Path

import polars as pl
from attrs import frozen
from flowalg_sinks import PostgreSQL, SQLite
from flowalg_spark import PaneFrame, check_checkpoint, local_session, streaming
from flowalg_spark.sinks import Changelog, Upsert, changelog, upsert
from flowalg_spark.streaming.interpreter import run_to_end
from pyspark.sql import DataFrame, SparkSession

from flowalg.pipeline.outputs import emits_panes
from tests.components.spark_sinks import Write, run_to_sinks
from tests.faults.files import POLICY, FileQuery, rows_of
from tests.faults.progress import Batches, entries, files_of_batches
from tests.faults.visits import VISITS
from tests.support.spark_replay import stream_of


@frozen
class SparkQuery(FileQuery):
    """A run on Spark."""

    def session(self) -> SparkSession:
        """Starts a session."""
        return local_session("flowalg faults", cores=2, memory="1g", log=self.folder / "spark.log")

    def run(self) -> None:
        """Runs the query to the end of its input."""
        spark = self.session()
        try:
            source = stream_of(spark, self.folder / "in", POLICY)
            panes = streaming.compile(self.pipeline, {VISITS: source})
            check_checkpoint(spark, self.checkpoint)
            self.write(panes)
        finally:
            spark.stop()

    @abstractmethod
    def write(self, panes: PaneFrame[object]) -> None:
        """Runs the query of some panes."""

    def batches(self) -> Batches:
        """Returns the files that each micro-batch has read."""
        return files_of_batches(self.folder)


@frozen
class SparkFiles(SparkQuery):
    """A run to files."""

    def write(self, panes: PaneFrame[object]) -> None:
        """Runs the query of some panes."""
        run_to_end(panes.with_drops(), self.folder / "out", self.checkpoint)

    def content(self) -> list[str]:
        """Returns the rows of the files in Spark's log of committed files."""
        names: set[str] = set()
        for entry in entries(self.folder / "out" / "_spark_metadata"):
            if entry.name.endswith(".compact"):
                names = set()
            for line in entry.read_text().splitlines()[1:]:
                names.add(Path(json.loads(line)["path"]).name)
        return sorted(
            repr(row)
            for row in pl.concat(pl.read_parquet(self.folder / "out" / name) for name in names).rows()
        )


@frozen
class SparkTables(SparkQuery):
    """A run to tables in SQLite and, with a connection string, in PostgreSQL.

    If there is a file ``die`` with a number, the process deletes it and kills itself after that number of transactions,
    before Spark can commit the batch.
    """

    conninfo: str | None

    @property
    def die(self) -> Path:
        """The file with the number of transactions to the end of the process."""
        return self.folder / "die"

    @property
    def sinks(self) -> list[Upsert | Changelog]:
        """The changelog for each database, and the current values of panes."""
        databases: list[SQLite | PostgreSQL] = [SQLite(self.folder / "panes.db")]
        if self.conninfo is not None:
            databases.append(PostgreSQL(self.conninfo))
        output = self.pipeline
        sinks: list[Upsert | Changelog] = []
        for database in databases:
            if emits_panes(output.node):
                sinks.append(upsert(output, database, table="latest"))
            sinks.append(changelog(output, database, table="log"))
        return sinks

    def write(self, panes: PaneFrame[object]) -> None:
        """Runs the query of some panes."""
        left = int(self.die.read_text()) if self.die.exists() else 0

        def count_down(frame: DataFrame, batch: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self.die.unlink()
                os.killpg(0, signal.SIGKILL)

        parts: list[Write] = [part for sink in self.sinks for part in (sink, count_down)]
        run_to_sinks(panes.with_drops(), parts, self.checkpoint)

    def content(self) -> list[str]:
        """Returns the rows of all tables."""
        return rows_of(self.sinks)
