"""The live view of a streaming query: its progress in a terminal, and no output without a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from flowalg_laws.conformance import JOBS
from flowalg_laws.kit.shop import BATCHES, POLICY, SALES, Sale
from flowalg_spark import collect, streaming
from flowalg_spark.streaming.interpreter import start_to_files
from flowalg_tools.live import watch
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from flowalg import PCollection
from flowalg.errors import ArgumentError
from flowalg.runs import Change
from tests.support.spark_replay import stream_of, write_batches


def start_over_sales(spark: SparkSession, folder: Path, pipeline: PCollection[object]) -> StreamingQuery:
    """Starts a query over the sales that writes Parquet."""
    folder.mkdir(exist_ok=True)
    write_batches(folder / "in", Sale, BATCHES, ends=True)
    frame = streaming.compile(pipeline, {SALES: stream_of(spark, folder / "in", POLICY)}, metrics=True)
    return start_to_files(frame.with_drops(), folder / "out", folder / "checkpoint")


def test_the_last_view_has_the_totals_of_the_query(spark: SparkSession, tmp_path: Path) -> None:
    """The last view has the number of batches and rows, and for each stage its panes by timing and its drops."""
    (job,) = (job for job in JOBS if job.name == "two stages")
    query = start_over_sales(spark, tmp_path, job.pipeline)
    output = io.StringIO()
    try:
        watch(query, console=Console(file=output, force_terminal=True, width=180))
    finally:
        query.stop()
    text = re.sub(r"\x1b\[[^m]*[a-zA-Z]", "", output.getvalue())
    last = text[text.rindex(f"batch {len(BATCHES)}:") :]
    stored = spark.read.parquet(str(tmp_path / "out"))
    panes = collect(job.pipeline, stored)
    assert f"batch {len(BATCHES)}: {sum(map(len, BATCHES))} elements so far" in last
    first, second = (
        re.split(r"\s{2,}", line.strip()) for line in last.splitlines() if line.strip().startswith("combine_")
    )
    values = [pane for pane in panes if pane.change is Change.VALUE]
    counts = [sum(pane.timing.value == timing for pane in values) for timing in ("early", "on_time", "late")]
    assert second[1:3] == ["the end", "0"]
    assert [int(cell) for cell in second[4:7]] == counts
    dropped = stored.agg(F.sum("drop.count")).collect()[0][0] or 0
    assert dropped == sum(int(cells[8]) for cells in (first, second))


@pytest.mark.thorough
def test_without_a_terminal_the_view_prints_nothing_and_raises_failures(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Output to a file stays empty, and ``watch`` raises the error of a failed query."""

    def fail(sale: Sale) -> str:
        raise LookupError("no such shop")

    (job,) = (job for job in JOBS if job.name == "two stages")
    output = io.StringIO()
    query = start_over_sales(spark, tmp_path / "good", job.pipeline)
    try:
        watch(query, console=Console(file=output))
    finally:
        query.stop()
    failing = SALES.key_by(fail).group_by_key()
    query = start_over_sales(spark, tmp_path / "failing", failing)
    try:
        with pytest.raises(StreamingQueryException, match="no such shop"):
            watch(query, console=Console(file=output))
    finally:
        query.stop()
    assert output.getvalue() == ""
    with pytest.raises(ArgumentError, match="query must be a StreamingQuery, .*; got 'q'"):
        watch("q")  # type: ignore[arg-type]  # deliberately wrong
