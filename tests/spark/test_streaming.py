"""Spark batch and Spark streaming in the conformance suite, and features that only they have.

These tests catch faults of lowering, of lifting, and of the encoding of values within Spark.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
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
from flowalg_laws.kit.shop import BATCHES, POLICY, SALES, SOLD, Sale
from flowalg_reference import Reference
from flowalg_spark import SparkBatch, SparkStreaming, batch, collect, open_state, streaming
from flowalg_spark.frames.pane_frame import PaneFrame
from flowalg_spark.streaming.interpreter import run_to_end
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg import (
    KV,
    Accumulation,
    AtWatermark,
    BoundedOutOfOrderness,
    CalendarDays,
    FixedWindows,
    Mode,
    Pane,
    Perfect,
    Run,
    Sessions,
    Sum,
)
from flowalg.analysis.features import AREA_OF, AnyFeature, Area, Feature
from flowalg.data.time import event_time
from flowalg.errors import ArgumentError
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import Process
from flowalg.pipeline.side_inputs import AsMap
from flowalg.triggers import AfterDelay, AtSignal, AtValue, CustomTrigger, Trigger
from flowalg.windows import CustomWindows
from tests.support.depth import a_few
from tests.support.spark_replay import (
    read_back,
    run_as_query,
    stream_of,
    table_of,
    write_batches,
)

EVERYTHING = SOLD.records
ENGINE: set[AnyFeature] = {
    *(feature for feature, area in AREA_OF.items() if area in (Area.RUNS, Area.TRANSFORMS)),
    *(Sessions, CalendarDays, CustomWindows, AtSignal),
    Feature.SIGNALS_TO_KEYS,
    *(AtValue, CustomTrigger),
    *(Feature.PARTITIONS, Feature.PERCENTILES, Feature.IDLE_AFTER, Feature.CUSTOM_POLICY),
    *(Perfect, Feature.UNSET_LATENESS),
    Feature.SEVERAL_OUTPUTS,
}
"""The features that are not the step's alone: what the passage through Spark transports, and what is rejected."""
PASSAGE: set[AnyFeature] = {
    *(Sessions, CustomWindows, Feature.SIGNALS_TO_KEYS, CustomTrigger),
    *(Feature.PARTITIONS, Feature.PERCENTILES, Feature.IDLE_AFTER, Perfect, Feature.UNSET_LATENESS),
    *(Feature.SEVERAL_OUTPUTS, Process, AsMap, JoinKind, Accumulation.RETRACTING),
}
"""What a stream can lose on its way through Spark: clocks, signals, drops, state, several sources and outputs."""
MICRO_BATCHES = Reference(Mode.MICRO_BATCH)


def test_batch_conforms(spark: SparkSession) -> None:
    """Jobs that use every feature have the panes of the reference as a batch, or are rejected as declared."""
    check_interpreter(SparkBatch(spark), jobs=covering(BATCH_JOBS), ordered=True, generated=2)


@pytest.mark.thorough
def test_batch_conforms_in_all_jobs(spark: SparkSession) -> None:
    """Each job that differs as a batch has the panes of the reference, or is rejected as declared."""
    check_interpreter(SparkBatch(spark), jobs=BATCH_JOBS, ordered=True, generated=5)


def test_streaming_conforms(spark: SparkSession) -> None:
    """Jobs have the panes and drops of the reference, or are rejected as declared; the query generates the watermarks.

    The jobs cover what only the passage through Spark's state and clocks can lose. The others of ``ENGINE`` are
    thorough; ``tests/shard`` runs all jobs on the step, and ``make streaming-thorough`` in Spark.
    """
    jobs = covering(JOBS, PASSAGE)
    check_interpreter(SparkStreaming(spark, generate_watermarks=True), jobs=jobs, at_once=2)


@pytest.mark.thorough
def test_streaming_conforms_in_every_feature_of_the_engine(spark: SparkSession) -> None:
    """Jobs with every feature that depends on Spark, and generated pipelines, conform as well."""
    check_interpreter(
        SparkStreaming(spark, generate_watermarks=True),
        jobs=covering(JOBS, ENGINE),
        generated=2,
        at_once=2,
    )


def agrees(run: Run[object], job: Job) -> bool:
    """Whether a run has the panes or elements of the reference, and its drops."""
    expected = MICRO_BATCHES.run(job.pipeline, job.replay.timelines)
    drops_agree = count_drops(run.dropped) == count_drops(expected.dropped)
    return lines_of(run) == lines_of(expected) and drops_agree


def lines_of(run: Run[object]) -> list[str]:
    """Returns the panes of a run, or its elements."""
    return sorted([*map(full_line, run.panes), *map(repr, run.elements)])


def job_called(name: str) -> Job:
    """Returns the job with a name."""
    return next(job for job in JOBS if job.name == name)


@pytest.mark.parametrize(
    ("name", "shards", "partitions"),
    [
        pytest.param("a sum per key", 1, None, marks=pytest.mark.thorough),
        ("sessions that retract", 5, 3),
        pytest.param("three stages", 3, 2, marks=pytest.mark.thorough),
        pytest.param("a left join", 5, None, marks=pytest.mark.thorough),
        pytest.param("a computation after a computation", 3, 2, marks=pytest.mark.thorough),
        pytest.param("a map side input", 3, 2, marks=pytest.mark.thorough),
    ],
)
def test_shards_and_partitions_do_not_change_a_run(
    spark: SparkSession, tmp_path: Path, name: str, shards: int, partitions: int | None
) -> None:
    """Panes and drops are the same with any number of shards and partitions, for any number of stages."""
    job = job_called(name)
    run = run_as_query(
        spark, tmp_path, job.pipeline, job.replay.timelines, shards=shards, partitions=partitions
    )
    assert agrees(run, job)


@pytest.mark.parametrize(
    ("name", "stops"),
    [
        pytest.param("several results as a record", (1, 4), marks=pytest.mark.thorough),
        pytest.param("sessions that retract", (3,), marks=pytest.mark.thorough),
        ("retractions downstream", (2, 3)),
        pytest.param("a map side input", (1,), marks=pytest.mark.thorough),
        pytest.param("timers of processing time", (2,), marks=pytest.mark.thorough),
        pytest.param("a computation after a computation", (1, 2), marks=pytest.mark.thorough),
    ],
)
def test_a_restart_does_not_change_a_run(
    spark: SparkSession, tmp_path: Path, name: str, stops: tuple[int, ...]
) -> None:
    """A query that stops and restarts from its checkpoint has the panes and drops of the reference."""
    job = job_called(name)
    assert agrees(run_as_query(spark, tmp_path, job.pipeline, job.replay.timelines, stops=stops), job)


@pytest.mark.parametrize(
    "in_rows",
    a_few([((False, True),), ((False,),), ((True, False),)], 1),
    ids=["bundles first", "with bundles", "rows first"],
)
def test_the_batch_timestamp_is_the_processing_time(
    spark: SparkSession, tmp_path: Path, in_rows: tuple[bool, ...]
) -> None:
    """Without processing times of the source, an instant is at Spark's timestamp of its micro-batch, in order.

    The time is sent with the bundles, or in the rows if it is an expression; a checkpoint continues in the other way.
    """
    pipeline = a_sum_per_key.pipeline
    before = event_time(datetime.now(UTC))
    bounds = (0, *(2,) * (len(in_rows) - 1), len(BATCHES))
    for timed, (start, stop) in zip(in_rows, pairwise(bounds), strict=True):
        last = stop == len(BATCHES)
        write_batches(tmp_path / "in", Sale, BATCHES[start:stop], ends=last, first=start)
        sales = stream_of(spark, tmp_path / "in", POLICY, time_column=None, ends=True)
        if timed:
            sales = evolve(sales, processing_time=F.current_timestamp())
        frame = streaming.compile(pipeline, {SALES: sales})
        run_to_end(frame.with_drops(), tmp_path / "out", tmp_path / "checkpoint")
    panes = read_back(spark, pipeline, tmp_path / "out").panes
    times = [pane.processing_time for pane in sorted(panes, key=lambda pane: pane.watermark)]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= event_time(datetime.now(UTC))
    expected = MICRO_BATCHES.run(pipeline, a_sum_per_key.replay.timelines).panes

    def without_time(pane: Pane[object]) -> tuple[object, ...]:
        return (repr(pane.element), pane.window, pane.timing, pane.index, pane.is_last, pane.watermark)

    assert Counter(map(without_time, panes)) == Counter(map(without_time, expected))


def test_time_passes_without_data(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A query that waits for processing time gets ticks, also after a restart; one that does not keeps its plan."""
    minute = timedelta(minutes=1)
    early = AtWatermark().with_early_firings(AfterDelay(timedelta(seconds=1)))
    folder, out = tmp_path / "in", tmp_path / "out"

    def compiled(trigger: Trigger, *, tick: bool = True) -> PaneFrame[KV[str, int]]:
        sales = stream_of(spark, folder, BoundedOutOfOrderness(60 * minute), time_column=None)
        sold = SALES.key_by(lambda sale: sale.shop).map_values(lambda sale: sale.amount)
        sums = sold.window(FixedWindows(minute), trigger=trigger, allowed_lateness=60 * minute)
        return streaming.compile(sums.combine_per_key(Sum()), {SALES: sales}, tick=tick)

    def stored() -> int:
        return spark.read.schema("key string").parquet(str(out)).count() if out.exists() else 0

    for number in (0, 1):
        write_batches(folder, Sale, BATCHES[number : number + 1], ends=False, first=number)
        before = stored()
        writer = compiled(early).writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.start(str(out), format="parquet")
        try:
            deadline = time.monotonic() + 120
            while stored() == before and query.isActive and time.monotonic() < deadline:
                time.sleep(0.2)
        finally:
            query.stop()
        assert stored() > before
    plans = [
        frame._jdf.queryExecution().logical().toString()  # pyright: ignore[reportOptionalCall]
        for frame in (compiled(early), compiled(early, tick=False), compiled(AtWatermark().repeat()))
    ]
    assert ["RateStream" in plan for plan in plans] == [True, False, False]
    (warning,) = [record.getMessage() for record in caplog.records if record.name == "flowalg.streaming"]
    assert "ticks are off" in warning
    assert "combine_per_key(Sum), whose trigger fires by processing time" in warning
    sales = stream_of(spark, folder, POLICY, time_column="seen")
    with pytest.raises(ArgumentError, match="False if a source carries processing times, as 'sales' does"):
        streaming.compile(a_sum_per_key.pipeline, {SALES: sales}, tick_when_idle=True)


@pytest.mark.parametrize("time_column", a_few([None, "seen"], 1), ids=["Spark's times", "the source's times"])
def test_a_drained_query_emits_the_last_panes(
    spark: SparkSession, tmp_path: Path, time_column: str | None
) -> None:
    """A run that ends keeps open windows; the run after ``drain`` has the panes of an input that has ended."""
    pipeline, folder = a_sum_per_key.pipeline, tmp_path / "drain [1]"
    write_batches(tmp_path / "in", Sale, BATCHES, ends=False)

    def panes_after_a_run() -> tuple[Pane[object], ...]:
        sales = stream_of(spark, tmp_path / "in", POLICY, time_column=time_column, ends=False)
        frame = streaming.compile(pipeline, {SALES: sales}, drain_signal_path=folder)
        run_to_end(frame, tmp_path / "out", tmp_path / "checkpoint")
        return collect(pipeline, spark.read.parquet(str(tmp_path / "out")))

    def lines(panes: Iterable[Pane[object]]) -> list[tuple[object, ...]]:
        return [(pane.element, pane.window, pane.timing, pane.is_last) for pane in panes]

    def expected(*, ends: bool) -> list[tuple[object, ...]]:
        return lines(MICRO_BATCHES.run(pipeline, evolve(a_sum_per_key.replay, ends=ends).timelines).panes)

    first = panes_after_a_run()
    assert lines(first) == expected(ends=False)
    assert panes_after_a_run() == first
    waiting = open_state(spark, tmp_path / "checkpoint").filter("pending")
    open_now = Counter((row["key"], row["window"]["end"].timestamp()) for row in waiting.collect())
    streaming.drain(spark, folder)
    last = panes_after_a_run()
    assert lines(last) == expected(ends=True)
    assert len(last) > len(first)
    assert open_now == ends_of(last) - ends_of(first)
    # A new file in the folder of the drained source is an error, and nothing is written.
    write_batches(tmp_path / "in", Sale, BATCHES[:1], first=len(BATCHES), ends=False)
    message = r"source 'sales': by the state of the query its input has ended, .* it has \d+ further elements"
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match=message):
            panes_after_a_run()
    assert collect(pipeline, spark.read.parquet(str(tmp_path / "out"))) == last


def ends_of(panes: Iterable[Pane[object]]) -> Counter[tuple[object, float]]:
    """Returns the key and the end of the window of each pane."""
    return Counter(
        (pane.element.key, pane.window.end / 1e6) for pane in panes if isinstance(pane.element, KV)
    )


def test_a_query_restarts_after_a_compatible_change_only(spark: SparkSession, tmp_path: Path) -> None:
    """A query continues from its checkpoint with a longer lateness; other windows are rejected with both values."""
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


def test_negative_numbers_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    """``state_cache_bytes`` and ``stage`` must be 0 or more."""
    write_batches(tmp_path / "in", Sale, BATCHES[:1], ends=False)
    sales = stream_of(spark, tmp_path / "in", POLICY, ends=False)
    with pytest.raises(ArgumentError, match="state_cache_bytes must be .*; got -1"):
        streaming.compile(a_sum_per_key.pipeline, {SALES: sales}, state_cache_bytes=-1)
    with pytest.raises(ArgumentError, match="stage must be .*; got -1"):
        open_state(spark, tmp_path, stage=-1)


def test_a_compiled_frame_is_a_dataframe(spark: SparkSession) -> None:
    """Its columns are the fields of the element and of the pane; it can be joined, and used as a view."""
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
        ("Anna's", sum(sale.shop == "a" for sale in EVERYTHING))
    ]


def test_explain_shows_which_functions_are_lifted(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """``explain`` has each function with its file and line, and the reason if it runs in Python."""
    frame = batch.compile(
        an_argument_from_Python.pipeline, {SALES: spark.createDataFrame(table_of(Sale, EVERYTHING))}
    )
    frame.explain()
    printed = capsys.readouterr().out
    assert "Source('sales').event_time: lifted to Spark columns" in printed
    assert "key_by(initial at laws/flowalg_laws/kit/shop.py:" in printed
    assert "runs in Python: the method swapcase: engines differ beyond ASCII" in printed
    assert "Physical Plan" in printed
