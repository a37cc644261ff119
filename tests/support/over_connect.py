"""The process of ``test_connect.py``, since a process has either Spark Connect or classic Spark.

``python -m tests.support.over_connect FOLDER`` starts a local Connect server, and prints a line for each thing shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import flowalg_reference
from flowalg_laws.conformance import BATCH_JOBS, JOBS, Job, check_interpreter, covering, examine_interpreter
from flowalg_laws.conformance.drawing import full_line
from flowalg_spark import (
    SparkBatch,
    SparkStreaming,
    batch,
    collect,
    final_values,
    read_files,
    schema_of,
    streaming,
)
from flowalg_spark.sinks import SQLite, upsert
from flowalg_spark.streaming.timelines import InstantFiles, generating_input, observed_batches
from pyspark.sql import SparkSession

from flowalg import FixedWindows, Max, Sum
from flowalg.runs.instants import pipeline_instants
from tests.support import visiting
from tests.support.scores import NOON, POINTS, SCORES, Score
from tests.support.sink_cases import rows_of, standing, without_key_text

MINUTE: Final = timedelta(minutes=1)
SOME: Final = [Score("a", 3, NOON), Score("b", 4, NOON + MINUTE), Score("a", 5, NOON + 5 * MINUTE)]
TOTALS: Final = POINTS.window(FixedWindows(2 * MINUTE)).combine_per_key(Sum())
GENERATED: Final = 2
COVERING: Final = covering(BATCH_JOBS)
STREAMED: Final = ("sessions that retract", "three stages", "a left join", "a map side input")


def writes_tables(spark: SparkSession, folder: Path) -> str:
    """A table of latest values, by a name for the query, since Spark does not say which it is."""
    target = SQLite(folder / "panes.db")
    sink = upsert(visiting.PIPELINE, target, table="latest", query=str(folder / "checkpoint"))
    files = InstantFiles(folder / "visits", visiting.VISITS)
    instants = pipeline_instants({visiting.VISITS.name: visiting.TIMELINE})
    files.write(observed_batches(visiting.VISITS, visiting.TIMELINE, instants))
    inputs = {visiting.VISITS: generating_input(spark, files, visiting.TIMELINE)}
    panes = streaming.compile(visiting.PIPELINE, inputs).with_drops()
    writer = panes.writeStream.foreachBatch(sink).trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
    found = without_key_text(sink, target.rows(sink.table))
    assert repr(found) == repr(rows_of(sink, standing(visiting.RUN.panes)))
    return f"{len(found)} rows"


def conforms(spark: SparkSession, folder: Path) -> str:
    """The whole corpus agrees with the reference."""
    return _conforms(spark, COVERING)


def conforms_in_all(spark: SparkSession, folder: Path) -> str:
    """The whole corpus, held to the reference."""
    return _conforms(spark, BATCH_JOBS)


def _conforms(spark: SparkSession, jobs: Sequence[Job]) -> str:
    report = check_interpreter(SparkBatch(spark), jobs=jobs, generated=GENERATED)
    return f"{len(report.ran)} jobs of {len(jobs)}, {report.generated} generated"


def is_ordinary(spark: SparkSession, folder: Path) -> str:
    """A compiled frame is explained, written, read back, joined, and a view."""
    rows = [(one.team, one.points, one.at) for one in SOME]
    spark.createDataFrame(rows, schema_of(SCORES)).write.parquet(str(folder / "scores"))
    scores = read_files(spark, SCORES, str(folder / "scores"))
    panes = batch.compile(TOTALS, {SCORES: scores}, time=NOON)
    panes.explain()
    panes.write.parquet(str(folder / "panes"))
    stored = spark.read.parquet(str(folder / "panes"))
    wanted = flowalg_reference.run_batch(TOTALS, {SCORES: SOME}, time=NOON).panes
    assert list(map(full_line, collect(TOTALS, stored))) == list(map(full_line, wanted))
    names = spark.createDataFrame([("a", "Anna")], "key string, name string")
    panes.join(names, "key").createOrReplaceTempView("named")
    (row,) = spark.sql("select name, sum(value) as n from named group by name").collect()
    assert (row["name"], row["n"]) == ("Anna", 8)
    assert final_values(stored).count() == panes.final_values().count() == 3
    return next(base.__module__ for base in type(panes).__mro__ if base.__module__.startswith("pyspark"))


def runs_several(spark: SparkSession, folder: Path) -> str:
    """Several outputs, as one query."""
    most = TOTALS.map(lambda pair: pair.value).combine_globally(Max())
    scores = spark.createDataFrame([(one.team, one.points, one.at) for one in SOME], schema_of(SCORES))
    totals, greatest = batch.run_all((TOTALS, most), {SCORES: scores}, time=NOON)
    return f"{[pane.element for pane in totals]} and {[pane.element for pane in greatest]}"


def says_what_is_wrong(spark: SparkSession, folder: Path) -> str:
    """An error from the server has the message of the check."""
    scores = spark.createDataFrame([("a", 3, None)], schema_of(SCORES))
    try:
        batch.run(TOTALS, {SCORES: scores})
    except Exception as error:  # Spark's own type; the message is what is shown
        return next(line for line in str(error).splitlines() if "null" in line)
    raise AssertionError("a null event time has passed")


def streams(spark: SparkSession, folder: Path) -> str:
    """Streaming queries of one and several stages agree with the reference, drops included, without configuration."""
    jobs = [job for job in JOBS if job.name in STREAMED]
    report = examine_interpreter(SparkStreaming(spark, folder=folder), jobs=jobs)
    assert not report.failed, report
    return f"{len(report.ran)} jobs of {len(STREAMED)}"


SHOWN: Final[tuple[Callable[[SparkSession, Path], str], ...]] = (
    is_ordinary,
    runs_several,
    says_what_is_wrong,
    streams,
    writes_tables,
    conforms,
    conforms_in_all,
)


def main(folder: Path, names: Sequence[str]) -> None:
    """Run all checks."""
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
    spark = (
        builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.memory", "1g").getOrCreate()
    )
    try:
        for shown in (each for each in SHOWN if each.__name__ in names):
            print(f"{shown.__name__}: {shown(spark, folder)}", flush=True)  # noqa: T201  # the other process reads it
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
