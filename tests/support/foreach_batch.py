"""Queries from the files of a timeline to a function for ``foreachBatch``, with a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import frozen
from flowalg_columns.observed_rows import observed_batches
from flowalg_spark import streaming
from flowalg_spark.streaming.timelines import InstantFiles, generating_input
from pyspark.sql import DataFrame, SparkSession

from flowalg.runs.instants import pipeline_instants
from tests.support.visiting import PIPELINE, TIMELINE, VISITS


@frozen
class VisitsQuery:
    """A query over the visits, with its input and its checkpoints in ``folder``."""

    spark: SparkSession
    folder: Path

    def write_files(self, start: int, stop: int | None) -> None:
        """Writes the instants from ``start`` to ``stop`` as files."""
        instants = tuple(pipeline_instants({VISITS.name: TIMELINE}))[start:stop]
        self._files.write(observed_batches(VISITS, TIMELINE, instants), first=start)

    @property
    def _files(self) -> InstantFiles:
        return InstantFiles(self.folder / "visits", VISITS)

    def run(self, write: Callable[[DataFrame, int], None], checkpoint: str = "checkpoint") -> str:
        """Runs the query over all files, with each micro-batch to ``write``; returns its id."""
        inputs = {VISITS: generating_input(self.spark, self._files, TIMELINE)}
        panes = streaming.compile(PIPELINE, inputs).with_drops()
        query = (
            panes.writeStream.foreachBatch(write)
            .option("checkpointLocation", str(self.folder / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return query.id

    def delete_last_commit(self) -> None:
        """Deletes Spark's last commit, as if Spark was killed between the commit of the tables and its own."""
        commits = self.folder / "checkpoint" / "commits"
        last = max(
            (file for file in commits.iterdir() if file.name.isdigit()), key=lambda file: int(file.name)
        )
        last.unlink()
        (commits / f".{last.name}.crc").unlink(missing_ok=True)
