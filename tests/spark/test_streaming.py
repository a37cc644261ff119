"""Spark batch and Spark streaming as callers of the conformance suite, and what no other interpreter has.

This family catches faults of the lowering, of lifting, and of the passage through the engine.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from attrs import evolve
from flowalg_laws.conformance import BATCH_JOBS, JOBS, Job, check_interpreter, count_drops, covering
from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.conformance.jobs.sales import (
    a_sum_per_key,
    an_argument_from_Python,
    several_results_as_a_record,
)
from flowalg_laws.conformance.jobs.shop import BATCHES, POLICY, SALES, SOLD, Sale
from flowalg_reference import Reference
from flowalg_spark import SparkBatch, SparkStreaming, batch, collect, open_windows, streaming
from flowalg_spark.streaming.interpreter import run_to_end
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg import KV, ArgumentError, FixedWindows, Mode, Pane, Run, Sum, Timeout
from flowalg.analysis.features import Area
from flowalg.data.time import event_time
from tests.support.spark_replay import (
    read_back,
    stream_of,
    streamed,
    table_of,
    write_batches,
)

EVERYTHING = SOLD.records
ENGINE = (Area.RUNS, Area.WINDOWS, Area.TRANSFORMS, Area.WATERMARKS)
MICRO_BATCHES = Reference(Mode.MICRO_BATCH)


def test_batch_conforms(spark: SparkSession) -> None:
    """Every job that differs as a batch gives the reference's panes, or is refused as declared."""
    check_interpreter(SparkBatch(spark), jobs=BATCH_JOBS, generated=5)


def test_streaming_conforms(spark: SparkSession) -> None:
    """Jobs give the reference's panes and drops, or are rejected as declared; the query generates the watermarks.

    The jobs together use every feature that the passage through Spark concerns. Triggers, refinements and combiners are
    the step's, which ``tests/shard`` tests with all jobs; ``make streaming-thorough`` runs all jobs here, too.
    """
    check_interpreter(
        SparkStreaming(spark, generate_watermarks=True),
        jobs=covering(JOBS, ENGINE),
        generated=2,
        at_once=2,
    )


def same(run: Run[object], job: Job) -> bool:
    """Whether a run is the reference's."""
    wanted = MICRO_BATCHES.run(job.pipeline, job.replay.timelines)
    found = sorted(map(full_line, run.panes))
    drops_agree = count_drops(run.dropped) == count_drops(wanted.dropped)
    return found == sorted(map(full_line, wanted.panes)) and drops_agree


def job_called(name: str) -> Job:
    """The job of that name."""
    return next(one for one in JOBS if one.name == name)


@pytest.mark.parametrize(
    ("name", "shards", "partitions"),
    [
        ("a sum per key", 1, None),
        pytest.param("sessions that retract", 5, 3, marks=pytest.mark.thorough),
        ("three stages", 3, 2),
        pytest.param("a left join", 5, None, marks=pytest.mark.thorough),
        ("a map side input", 3, 2),
    ],
)
def test_the_division_does_not_matter(
    spark: SparkSession, tmp_path: Path, name: str, shards: int, partitions: int | None
) -> None:
    """Shards and partitions are an engine's business; panes and drops are the same, of any number of stages."""
    job = job_called(name)
    run = streamed(spark, tmp_path, job.pipeline, job.replay.timelines, shards=shards, partitions=partitions)
    assert same(run, job)


@pytest.mark.parametrize(
    ("name", "stops"),
    [
        pytest.param("several results as a record", (1, 4), marks=pytest.mark.thorough),
        pytest.param("sessions that retract", (3,), marks=pytest.mark.thorough),
        ("retractions downstream", (2, 3)),
        ("a map side input", (1,)),
    ],
)
def test_a_restart_changes_nothing(
    spark: SparkSession, tmp_path: Path, name: str, stops: tuple[int, ...]
) -> None:
    """A query stopped in the middle of a replay, and started again from its checkpoint, ends at the same panes."""
    job = job_called(name)
    assert same(streamed(spark, tmp_path, job.pipeline, job.replay.timelines, stops=stops), job)


def test_the_batch_timestamp_is_the_processing_time(spark: SparkSession, tmp_path: Path) -> None:
    """A source without processing times of its own is clocked by Spark: one instant a micro-batch, in order."""
    pipeline = a_sum_per_key.pipeline
    write_batches(tmp_path / "in", Sale, BATCHES, ends=True)
    before = event_time(datetime.now(UTC))
    frame = streaming.compile(pipeline, {SALES: stream_of(spark, tmp_path / "in", POLICY, seen=None)})
    run_to_end(frame.with_drops(), tmp_path / "out", tmp_path / "checkpoint")
    panes = read_back(spark, pipeline, tmp_path / "out").panes
    times = [one.processing_time for one in sorted(panes, key=lambda one: one.watermark)]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= event_time(datetime.now(UTC))
    expected = MICRO_BATCHES.run(pipeline, a_sum_per_key.replay.timelines).panes

    def rest(pane: Pane[object]) -> tuple[object, ...]:
        return (repr(pane.element), pane.window, pane.timing, pane.index, pane.is_last, pane.watermark)

    assert Counter(map(rest, panes)) == Counter(map(rest, expected))


def test_an_idle_query_wakes_up(spark: SparkSession, tmp_path: Path) -> None:
    """The clock goes on without data: what waits for the time comes, though no other record ever does."""
    pipeline = a_sum_per_key.pipeline
    write_batches(tmp_path / "in", Sale, BATCHES[:1], ends=False)
    sales = stream_of(spark, tmp_path / "in", Timeout(timedelta(seconds=1)), seen=None)
    frame = streaming.compile(pipeline, {SALES: sales}, tick_when_idle=True)
    query = frame.writeStream.format("memory").queryName("waking").start()
    try:
        give_up = time.monotonic() + 120
        while not (panes := spark.sql("select * from waking").collect()) and time.monotonic() < give_up:
            time.sleep(0.2)
    finally:
        query.stop()
    assert panes
    with pytest.raises(ArgumentError, match="False if a source carries processing times, as 'sales' does"):
        streaming.compile(
            pipeline, {SALES: evolve(sales, processing_time=F.col("seen"))}, tick_when_idle=True
        )


@pytest.mark.parametrize("seen", ["seen", None], ids=["times of its own", "Spark's times"])
def test_a_drained_query_says_all_that_is_left(spark: SparkSession, tmp_path: Path, seen: str | None) -> None:
    """A run that ends keeps what is open; the run after ``drain`` has the panes of an input that has ended."""
    pipeline, folder = a_sum_per_key.pipeline, tmp_path / "drain"
    write_batches(tmp_path / "in", Sale, BATCHES, ends=False)

    def panes_after_a_run() -> tuple[Pane[object], ...]:
        sales = stream_of(spark, tmp_path / "in", POLICY, seen=seen, ends=False)
        frame = streaming.compile(pipeline, {SALES: sales}, drain_signal_path=folder)
        run_to_end(frame, tmp_path / "out", tmp_path / "checkpoint")
        return collect(pipeline, spark.read.parquet(str(tmp_path / "out")))

    def told(panes: Iterable[Pane[object]]) -> list[tuple[object, ...]]:
        return [(one.element, one.window, one.timing, one.is_last) for one in panes]

    def expected(*, ends: bool) -> list[tuple[object, ...]]:
        return told(MICRO_BATCHES.run(pipeline, evolve(a_sum_per_key.replay, ends=ends).timelines).panes)

    first = panes_after_a_run()
    assert told(first) == expected(ends=False)
    assert panes_after_a_run() == first
    waiting = open_windows(spark, tmp_path / "checkpoint").filter("pending")
    open_now = Counter((row["key"], row["window"]["end"].timestamp()) for row in waiting.collect())
    streaming.drain(spark, folder)
    whole = panes_after_a_run()
    assert told(whole) == expected(ends=True)
    assert len(whole) > len(first)
    assert open_now == ends_of(whole) - ends_of(first)


def ends_of(panes: Iterable[Pane[object]]) -> Counter[tuple[object, float]]:
    """The key and the end of the window of each pane."""
    return Counter((one.element.key, one.window.end / 1e6) for one in panes if isinstance(one.element, KV))


def test_a_state_is_not_read_by_another_stage(spark: SparkSession, tmp_path: Path) -> None:
    """A checkpoint goes on under a longer lateness; other windows are refused, with what they were."""
    amounts = SALES.key_by(lambda sale: sale.shop).map_values(lambda sale: sale.amount)
    first = amounts.window(FixedWindows(timedelta(minutes=10)), allowed_lateness=timedelta(minutes=5))
    longer = amounts.window(FixedWindows(timedelta(minutes=10)), allowed_lateness=timedelta(hours=5))
    other = amounts.window(FixedWindows(timedelta(minutes=20)), allowed_lateness=timedelta(hours=5))
    for number, windowed in enumerate((first, longer, other)):
        write_batches(tmp_path / f"in{number}", Sale, BATCHES[number : number + 1], ends=False)
        (tmp_path / "in").mkdir(exist_ok=True)
        for file in (tmp_path / f"in{number}").glob("*.parquet"):
            file.rename(tmp_path / "in" / f"{number}-{file.name}")
        sales = stream_of(spark, tmp_path / "in", POLICY, ends=False)
        frame = streaming.compile(windowed.combine_per_key(Sum()), {SALES: sales}, state_cache_bytes=0)
        if windowed is other:
            with pytest.raises(
                StreamingQueryException,
                match=r"combine_per_key.*windows was FixedWindows\(size=0:10:00.* is now FixedWindows\(size=0:20:00",
            ):
                run_to_end(frame, tmp_path / "out", tmp_path / "checkpoint")
        else:
            run_to_end(frame, tmp_path / "out", tmp_path / "checkpoint")


def test_kept_bytes_is_a_number_of_bytes(spark: SparkSession, tmp_path: Path) -> None:
    """None, or more."""
    write_batches(tmp_path / "in", Sale, BATCHES[:1], ends=False)
    sales = stream_of(spark, tmp_path / "in", POLICY, ends=False)
    with pytest.raises(ArgumentError, match="state_cache_bytes must be .*; got -1"):
        streaming.compile(a_sum_per_key.pipeline, {SALES: sales}, state_cache_bytes=-1)
    with pytest.raises(ArgumentError, match="stage must be .*; got -1"):
        open_windows(spark, tmp_path, stage=-1)


def test_the_frame_is_an_ordinary_one(spark: SparkSession) -> None:
    """Its columns are the fields of the element and of the pane; it joins, and is a view, like any other."""
    frame = batch.compile(
        several_results_as_a_record.pipeline, {SALES: spark.createDataFrame(table_of(Sale, EVERYTHING))}
    )
    assert frame.columns == ["key", "value", "window", "event_time", "change", "pane"]
    assert frame.select("value.*").columns == ["sales", "amount", "mean_price"]
    assert frame.select("pane.*").columns == [
        "timing",
        "index",
        "is_first",
        "is_last",
        "processing_time",
        "watermark",
    ]
    names = spark.createDataFrame([("a", "Anna's")], "key string, name string")
    frame.join(names, "key").createOrReplaceTempView("named")
    rows = spark.sql(
        "select name, sum(value.sales) as n from named where pane.timing = 'on_time' group by name"
    ).collect()
    assert [(row["name"], row["n"]) for row in rows] == [
        ("Anna's", sum(one.shop == "a" for one in EVERYTHING))
    ]


def test_explain_says_which_functions_were_lifted(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each function is named with its place, as lifted, or with the reason and the place why not."""
    frame = batch.compile(
        an_argument_from_Python.pipeline, {SALES: spark.createDataFrame(table_of(Sale, EVERYTHING))}
    )
    frame.explain()
    printed = capsys.readouterr().out
    assert "Source('sales').event_time: lifted to Spark columns" in printed
    assert "key_by(initial at laws/flowalg_laws/conformance/jobs/shop.py:" in printed
    assert "runs in Python: the method upper: engines differ beyond ASCII" in printed
    assert "Physical Plan" in printed
