"""A streaming query in a terminal: what its progress tells, and nothing where there is no terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from flowalg_laws.conformance import JOBS
from flowalg_laws.conformance.jobs.shop import BATCHES, POLICY, SALES, Sale
from flowalg_spark import collect, streaming
from flowalg_spark.streaming.interpreter import start_to_files
from flowalg_tools.live import watch
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from flowalg import ArgumentError, PCollection
from tests.support.spark_replay import stream_of, write_batches


def over_sales(spark: SparkSession, folder: Path, pipeline: PCollection[object]) -> StreamingQuery:
    """A query over the sales to Parquet."""
    folder.mkdir(exist_ok=True)
    write_batches(folder / "in", Sale, BATCHES, ends=True)
    frame = streaming.compile(pipeline, {SALES: stream_of(spark, folder / "in", POLICY)}, metrics=True)
    return start_to_files(frame.with_drops(), folder / "out", folder / "checkpoint")


def test_the_view_ends_with_what_the_query_has_said(spark: SparkSession, tmp_path: Path) -> None:
    """Batches, rows, and for each stage its panes by timing, its drops and its state, over all batches."""
    (job,) = (one for one in JOBS if one.name == "two stages")
    query = over_sales(spark, tmp_path, job.pipeline)
    shown = io.StringIO()
    try:
        watch(query, console=Console(file=shown, force_terminal=True, width=180))
    finally:
        query.stop()
    text = re.sub(r"\x1b\[[^m]*[a-zA-Z]", "", shown.getvalue())
    last = text[text.rindex(f"batch {len(BATCHES)}:") :]
    stored = spark.read.parquet(str(tmp_path / "out"))
    panes = collect(job.pipeline, stored)
    assert f"batch {len(BATCHES)}: {sum(map(len, BATCHES)) + 1} rows so far" in last
    first, second = (
        re.split(r"\s{2,}", line.strip()) for line in last.splitlines() if line.strip().startswith("combine_")
    )
    counts = [sum(pane.timing.value == timing for pane in panes) for timing in ("early", "on_time", "late")]
    assert second[1:3] == ["the end", "0"]
    assert [int(cell) for cell in second[4:7]] == counts
    dropped = stored.agg(F.sum("drop.count")).collect()[0][0] or 0
    assert dropped == sum(int(cells[8]) for cells in (first, second))


def test_it_is_quiet_without_a_terminal_and_passes_failures_on(spark: SparkSession, tmp_path: Path) -> None:
    """A log file gets nothing, and whoever waits hears what went wrong."""

    def wrong(sale: Sale) -> str:
        raise LookupError("no such shop")

    (job,) = (one for one in JOBS if one.name == "two stages")
    shown = io.StringIO()
    query = over_sales(spark, tmp_path / "one", job.pipeline)
    try:
        watch(query, console=Console(file=shown))
    finally:
        query.stop()
    failing = SALES.key_by(wrong).group_by_key()
    query = over_sales(spark, tmp_path / "two", failing)
    try:
        with pytest.raises(StreamingQueryException, match="no such shop"):
            watch(query, console=Console(file=shown))
    finally:
        query.stop()
    assert shown.getvalue() == ""
    with pytest.raises(ArgumentError, match="query must be a StreamingQuery, .*; got 'q'"):
        watch("q")  # type: ignore[arg-type]  # a fault on purpose
