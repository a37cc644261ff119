"""The benchmark of depth: its counts are those of the reference, and a run with others is an error."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from attrs import evolve
from flowalg_reference import ReferenceBatch
from pyspark.sql import SparkSession

from docs.benchmarks.arrivals import MICROS, RECORDS, Arrivals, Record
from docs.benchmarks.depth.__main__ import measure, results_in
from docs.benchmarks.depth.chains import Delays, Emitted, Ran, chain, delays_of, expected
from docs.benchmarks.depth.engines import CHECKPOINTED, LOCAL, NATIVE, SPARK, engines
from docs.benchmarks.depth.picture import BY_DEPTH, draw, table
from flowalg import Timeline

BEGIN = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * MICROS


def emitted(arrivals: Arrivals, depth: int) -> Emitted:
    """Returns the panes of the reference, emitted at once two seconds after the last record."""
    frame = arrivals.frame(0, arrivals.total)
    records = [Record(**row) for row in frame.iter_rows(named=True)]
    timeline = Timeline.batch(records, time=records[-1].at)
    panes = ReferenceBatch().run(chain(depth), {RECORDS: timeline}).panes
    rows = [(pane.element.key, int(pane.window.end), pane.element.value) for pane in panes]
    frame = pl.DataFrame(rows, schema=["key", "end", "value"], orient="row")
    return Emitted(4, arrivals.begin + 5 * MICROS, frame)


@pytest.mark.long
@pytest.mark.parametrize("depth", [1, 3])
def test_the_expected_counts_are_those_of_the_reference(depth: int) -> None:
    """The counts by plain columns are the panes of the reference, except those of the last window."""
    arrivals = Arrivals(rate=1_500, seconds=2.5, delay=timedelta(0), begin=BEGIN)
    wanted = expected(arrivals, depth)
    rows = emitted(arrivals, depth).rows.filter(pl.col("end") <= wanted["end"].max())
    assert wanted.height == 2_000
    assert sorted(rows.select("key", "end", "value").rows()) == sorted(
        wanted.select("key", "end", "value").rows()
    )


@pytest.mark.long
def test_delays_are_from_the_end_of_a_window_and_other_counts_are_an_error() -> None:
    """The delays of the windows after the warm-up are known; a count that differs raises, and so does a lost pane."""
    arrivals = Arrivals(rate=1_500, seconds=2.5, delay=timedelta(0), begin=BEGIN)
    micro_batch = emitted(arrivals, 2)
    read = {0: 1_500, 1: 1_501, 2: 2_000, 3: 3_001}
    assert set(delays_of("it", Ran(arrivals, [micro_batch], read), 2).milliseconds) == {3_000.0, 4_000.0}
    assert sorted(delays_of("it", Ran(arrivals, [micro_batch], read), 2).batches) == [1, 3]
    for rows in (micro_batch.rows.with_columns(pl.col("value") + 1), micro_batch.rows[1:]):
        with pytest.raises(ValueError, match="are not the 2000 counts"):
            delays_of("it", Ran(arrivals, [evolve(micro_batch, rows=rows)], read), 2)


def test_the_local_engine_is_measured_and_drawn(tmp_path: Path, spark: SparkSession) -> None:
    """A result of each engine is in the table and in the picture."""
    runs = {name: run for name, run in engines(spark).items() if name in (LOCAL, CHECKPOINTED)}
    results = measure(BY_DEPTH, runs, (3, 2, 5_000), 1, 2.5, tmp_path)
    assert [result["engine"] for result in results] == [LOCAL, CHECKPOINTED]
    assert all(result["batches"] == 0 for result in results)
    saved = results_in(tmp_path)
    for result in results:
        saved.save(result)
    assert saved.load() == results
    assert len(list(table(results))) == 3
    draw(results, tmp_path / "depth.svg")
    assert LOCAL in (tmp_path / "depth.svg").read_text()


@pytest.mark.thorough
def test_a_grouping_adds_no_micro_batch_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    """flowalg emits a window in the micro-batch that reads its end; Spark's own operators need one more."""
    runs = {name: run for name, run in engines(spark).items() if name in (SPARK, NATIVE)}
    results = measure(BY_DEPTH, runs, (3, 2, 1_000), 1, 1.2, tmp_path)
    assert {result["engine"]: result["batches"] for result in results} == {SPARK: 0, NATIVE: 1}


def test_delays_add_up() -> None:
    """Delays of several rounds are one distribution."""
    assert Delays((1.0,), (0,)) + Delays((2.0,), (1,)) == Delays((1.0, 2.0), (0, 1))
