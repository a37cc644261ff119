"""The process of ``test_connect.py``, since a process has either Spark Connect or classic Spark.

``python -m tests.support.over_connect FOLDER NAMES`` starts a local Connect server, runs the checks with these names,
and prints a line for each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Final

import flowalg_reference
from flowalg_columns.observed_rows import observed_batches
from flowalg_laws.conformance import BATCH_JOBS, JOBS, Job, check_interpreter, covering, examine_interpreter
from flowalg_laws.conformance.drawing import full_line
from flowalg_spark import (
    SparkBatch,
    SparkStreaming,
    batch,
    collect,
    final_values,
    listener,
    read_files,
    schema_of,
    streaming,
)
from flowalg_spark.sinks import SQLite, upsert
from flowalg_spark.streaming.timelines import InstantFiles, generating_input
from pyspark.sql import SparkSession

from flowalg import FixedWindows, Max, Sessions, Sum
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import Process
from flowalg.pipeline.side_inputs import AsMap
from flowalg.runs.events import QueryAdvanced, QueryEnded, QueryEvent
from flowalg.runs.instants import pipeline_instants
from tests.support import visiting
from tests.support.scores import NOON, POINTS, SCORES, Score
from tests.support.sink_cases import current_panes, rows_of, without_key_text

MINUTE: Final = timedelta(minutes=1)
SOME: Final = [Score("a", 3, NOON), Score("b", 4, NOON + MINUTE), Score("a", 5, NOON + 5 * MINUTE)]
TOTALS: Final = POINTS.window(FixedWindows(2 * MINUTE)).combine_per_key(Sum())
GENERATED: Final = 2
COVERING: Final = covering(BATCH_JOBS, {JoinKind, AsMap, Process, Sessions})
"""Jobs for each way in which a batch builds its frame; all jobs are thorough."""

COMPARABLE: Final = [job for job in BATCH_JOBS if not job.dead_letters]
"""Jobs whose result has no paths of files: the server's workers have another working directory, so that a function in a
bad record has its whole path there."""

STREAMED: Final = ("three stages", "a map side input")


def observe_query(spark: SparkSession, folder: Path) -> str:
    """Runs a query that a listener observes, and returns its events with the elements of each."""
    events: list[QueryEvent] = []
    ended = Event()

    def observe(event: QueryEvent) -> None:
        events.append(event)
        if isinstance(event, QueryEnded):
            ended.set()

    spark.streams.addListener(listener(observe))
    files = InstantFiles(folder / "observed", visiting.VISITS)
    instants = tuple(pipeline_instants({visiting.VISITS.name: visiting.TIMELINE}))
    files.write(observed_batches(visiting.VISITS, visiting.TIMELINE, instants))
    inputs = {visiting.VISITS: generating_input(spark, files, visiting.TIMELINE)}
    panes = streaming.compile(visiting.PIPELINE, inputs, metrics=True)
    writer = panes.writeStream.queryName("visits").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(folder / "observed-checkpoint"))
    writer.start(str(folder / "observed-panes"), format="parquet").awaitTermination()
    assert ended.wait(timeout=120), "the listener receives the end of the query"
    advanced = [event.progress for event in events if isinstance(event, QueryAdvanced)]
    assert len(advanced) == len(instants)
    assert all(progress.stages for progress in advanced)
    assert {event.query for event in events} == {"visits"}
    elements = sum(progress.elements for progress in advanced)
    assert elements == sum(len(instant.elements) for instant in visiting.TIMELINE.instants)
    return f"{type(events[0]).__name__}, {len(advanced)} micro-batches, {type(events[-1]).__name__}"


def write_table(spark: SparkSession, folder: Path) -> str:
    """Writes a table of current values, with a name for the query, since Connect has no query id."""
    target = SQLite(folder / "panes.db")
    sink = upsert(visiting.PIPELINE, target, table="latest", query=str(folder / "checkpoint"))
    files = InstantFiles(folder / "visits", visiting.VISITS)
    instants = pipeline_instants({visiting.VISITS.name: visiting.TIMELINE})
    files.write(observed_batches(visiting.VISITS, visiting.TIMELINE, instants))
    inputs = {visiting.VISITS: generating_input(spark, files, visiting.TIMELINE)}
    panes = streaming.compile(visiting.PIPELINE, inputs).with_drops()
    writer = panes.writeStream.foreachBatch(sink).trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    rows = without_key_text(sink, target.rows(sink.table))
    assert repr(rows) == repr(rows_of(sink, current_panes(visiting.RUN.panes)))
    return f"{len(rows)} rows"


def conform(spark: SparkSession, folder: Path) -> str:
    """Compares jobs of each way to build a frame with the reference."""
    return _conform(spark, COVERING)


def conform_in_all_jobs(spark: SparkSession, folder: Path) -> str:
    """Compares all jobs with the reference, except those with bad records."""
    return _conform(spark, COMPARABLE)


def _conform(spark: SparkSession, jobs: Sequence[Job]) -> str:
    report = check_interpreter(SparkBatch(spark), jobs=jobs, generated=GENERATED)
    assert not report.rejected, f"rejected, as declared: {report.rejected}"
    return f"{len(report.ran)} jobs of {len(jobs)}, {report.generated} generated"


def use_frame(spark: SparkSession, folder: Path) -> str:
    """Explains, writes, reads and joins a compiled frame, and uses it as a view."""
    rows = [(score.team, score.points, score.at) for score in SOME]
    spark.createDataFrame(rows, schema_of(SCORES)).write.parquet(str(folder / "scores"))
    scores = read_files(spark, SCORES, str(folder / "scores"))
    panes = batch.compile(TOTALS, {SCORES: scores}, time=NOON)
    panes.explain()
    panes.write.parquet(str(folder / "panes"))
    stored = spark.read.parquet(str(folder / "panes"))
    expected = flowalg_reference.run_batch(TOTALS, {SCORES: SOME}, time=NOON).panes
    assert list(map(full_line, collect(TOTALS, stored))) == list(map(full_line, expected))
    names = spark.createDataFrame([("a", "Anna")], "key string, name string")
    panes.join(names, "key").createOrReplaceTempView("named")
    (row,) = spark.sql("select name, sum(value) as n from named group by name").collect()
    assert (row["name"], row["n"]) == ("Anna", 8)
    assert final_values(stored).count() == panes.final_values().count() == 3
    return next(base.__module__ for base in type(panes).__mro__ if base.__module__.startswith("pyspark"))


def run_two_outputs(spark: SparkSession, folder: Path) -> str:
    """Runs two outputs as one query."""
    most = TOTALS.map(lambda pair: pair.value).combine_globally(Max())
    scores = spark.createDataFrame(
        [(score.team, score.points, score.at) for score in SOME], schema_of(SCORES)
    )
    outputs = batch.run({"totals": TOTALS, "most": most}, {SCORES: scores}, time=NOON)
    return " and ".join(str([pane.element for pane in outputs[name].panes]) for name in outputs)


def raise_error(spark: SparkSession, folder: Path) -> str:
    """Returns the message of an error from the server."""
    scores = spark.createDataFrame([("a", 3, None)], schema_of(SCORES))
    try:
        batch.run(TOTALS, {SCORES: scores})
    except Exception as error:  # Spark's own type; the check is of the message
        return next(line for line in str(error).splitlines() if "null" in line)
    raise AssertionError("a null event time must raise an error")


def run_streams(spark: SparkSession, folder: Path) -> str:
    """Compares streaming queries of one and several stages with the reference, including drops."""
    jobs = [job for job in JOBS if job.name in STREAMED]
    report = examine_interpreter(SparkStreaming(spark, folder=folder), jobs=jobs)
    assert not report.failed, report
    return f"{len(report.ran)} jobs of {len(STREAMED)}"


CHECKS: Final[tuple[Callable[[SparkSession, Path], str], ...]] = (
    use_frame,
    run_two_outputs,
    raise_error,
    run_streams,
    write_table,
    observe_query,
    conform,
    conform_in_all_jobs,
)


def main(folder: Path, names: Sequence[str]) -> None:
    """Runs the checks with these names."""
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.ui.enabled", "false")
    spark = (
        builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.memory", "1g").getOrCreate()
    )
    try:
        for check in (check for check in CHECKS if check.__name__ in names):
            print(f"{check.__name__}: {check(spark, folder)}", flush=True)  # the test reads it
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
