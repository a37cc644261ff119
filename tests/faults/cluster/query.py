"""The queries on the cluster. ``spark-submit query.py FOLDER`` runs one over ``FOLDER/in`` to the end of its input.

The name of the query is that of the folder above. If there is a file ``FOLDER/slow``, a function of the pipeline
deletes it and waits, so that Spark starts a second attempt of its task.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Final

from attrs import evolve, frozen
from flowalg_columns.observed_rows import observed_batches
from flowalg_spark import check_checkpoint, configure, streaming
from flowalg_spark.streaming.interpreter import run_to_end
from flowalg_spark.streaming.timelines import InstantFiles, generating_input
from pyspark.sql import SparkSession

from flowalg import KV, BoundedOutOfOrderness, PCollection, Timeline
from flowalg.runs.instants import pipeline_instants
from tests.faults.computations import changes_of_sums
from tests.faults.progress import Batches
from tests.faults.visits import DISORDER, UNIT, VISITS, Visit, corrected_sessions, visits

SHARDS: Final = 4
PAUSE: Final = 8.0
"""The seconds that a slow attempt of a task waits."""


@frozen
class ValueOf:
    """The value of a visit. If there is a file ``slow``, it deletes the file and waits."""

    slow: Path

    def __call__(self, visit: Visit) -> int:
        """Returns the value."""
        if visit.value == 7 and self.slow.exists():
            self.slow.unlink(missing_ok=True)
            time.sleep(PAUSE)
        return visit.value


QUERIES: Final[Mapping[str, Callable[[PCollection[KV[int, int]]], PCollection[object]]]] = {
    "sessions": corrected_sessions,
    "changes-of-sums": lambda values: changes_of_sums(values, UNIT),
}
"""The pipelines by the name of their query, as functions of the values of visits."""


def pipeline(folder: Path) -> PCollection[object]:
    """Returns the pipeline of the query that runs in a folder."""
    values = VISITS.key_by(lambda visit: visit.visitor).map_values(ValueOf(folder / "slow"), result=int)
    return QUERIES[folder.parent.name](values)


def timeline() -> Timeline[Visit]:
    """Returns the input: an instant for each micro-batch."""
    return Timeline.from_records(
        VISITS,
        chain.from_iterable(visits()),
        processing_time=lambda visit: visit.seen,
        watermark=BoundedOutOfOrderness(DISORDER),
    )


def joined(arrivals: Timeline[Visit], batches: Batches) -> Timeline[Visit]:
    """Returns the input of a query whose micro-batches have read some files, each of which has an instant."""
    groups = ([arrivals.instants[int(Path(name).stem)] for name in names] for names in batches)
    instants = (
        evolve(group[-1], elements=tuple(chain.from_iterable(each.elements for each in group)))
        for group in groups
    )
    return evolve(arrivals, instants=tuple(instants))


def make_input(folder: Path) -> None:
    """Writes a file for each micro-batch."""
    arrivals = timeline()
    InstantFiles(folder, VISITS).write(
        observed_batches(VISITS, arrivals, pipeline_instants({VISITS.name: arrivals}))
    )


def run(folder: Path) -> None:
    """Runs the query of a folder to the end of its input."""
    spark = configure(
        SparkSession.builder.appName(f"flowalg {folder.parent.name}").getOrCreate(), partitions=2
    )
    try:
        source = generating_input(spark, InstantFiles(folder / "in", VISITS), timeline())
        frame = streaming.compile(pipeline(folder), {VISITS: source}, shards=SHARDS).with_drops()
        check_checkpoint(spark, folder / "checkpoint")
        run_to_end(frame, folder / "out", folder / "checkpoint")
    finally:
        spark.stop()


if __name__ == "__main__":
    run(Path(sys.argv[1]))
