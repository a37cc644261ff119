"""Metrics of a streaming run: they suffice to replay the run, and agree with its panes.

These tests catch a clock or a count that is wrong, lost on its way through later stages, or reported twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, timedelta
from pathlib import Path
from threading import Event
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from attrs import asdict, evolve
from flowalg_laws.conformance import JOBS, Job, count_drops
from flowalg_laws.conformance.jobs.sales import a_sum_per_key
from flowalg_laws.kit.shop import BATCHES, POLICY, SALES, Sale
from flowalg_reference import Reference
from flowalg_spark import (
    StageMetrics,
    batch,
    collect,
    listener,
    metrics,
    open_state,
    replay_log,
    stage_metrics,
    streaming,
)
from flowalg_spark.streaming.interpreter import run_to_end, start_to_files
from flowalg_tools.monitoring.windows import describe_row, spark_windows
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import QueryTerminatedEvent

from flowalg import FOREVER, Count, FixedWindows, Max, Mode, Source, Timeline
from flowalg.errors import ArgumentError, UnsupportedError, UserFunctionError
from flowalg.runs import Instant
from flowalg.runs.events import QueryAdvanced, QueryEnded, QueryEvent, QueryStarted
from flowalg.runs.instants import PipelineInstant, pipeline_instants
from tests.support.spark_replay import (
    run_as_query,
    stream_of,
    write_batches,
)


def job_called(name: str) -> Job:
    """Returns the job with a name."""
    return next(job for job in JOBS if job.name == name)


def timeline_of(name: str, run: Iterable[PipelineInstant]) -> Timeline[object]:
    """Returns the micro-batches of a run for one source, including those without its records."""
    instants: list[Instant[object]] = []
    for now in run:
        clocks = now.clocks[name]
        empty = Instant[object](now.processing_time, (), clocks.watermark, clocks.percentiles)
        instants.append(now.instants.get(name, empty))
    return Timeline(tuple(instants))


@pytest.mark.parametrize(
    ("name", "stops"),
    [
        pytest.param("the least advanced partition", (), marks=pytest.mark.thorough),
        ("the median watermark", (2,)),
        pytest.param("when a signal arrives", (), marks=pytest.mark.thorough),
        pytest.param("three stages", (1,), marks=pytest.mark.thorough),
        pytest.param("an alert on silence", (1,), marks=pytest.mark.thorough),
        pytest.param("a left join", (), marks=pytest.mark.thorough),
        pytest.param("a map side input", (), marks=pytest.mark.thorough),
        pytest.param("flat map in Python", (), marks=pytest.mark.thorough),
    ],
)
def test_a_run_is_replayed_from_its_metrics(
    spark: SparkSession, tmp_path: Path, name: str, stops: tuple[int, ...]
) -> None:
    """The replay log has the timelines of the run, over which the reference has the panes and drops of the run."""
    job = job_called(name)
    timelines = job.replay.timelines
    streaming_run = run_as_query(spark, tmp_path, job.pipeline, timelines, stops=stops, metrics=True)
    log = replay_log(spark.read.parquet(str(tmp_path / "out")))
    replayed = {source: log.timeline(source, timeline.elements) for source, timeline in timelines.items()}
    instants = list(pipeline_instants({source.name: timeline for source, timeline in timelines.items()}))
    for source, timeline in replayed.items():
        assert timeline == timeline_of(source.name, instants)
    run = Reference(Mode.MICRO_BATCH).run(job.pipeline, replayed)
    assert Counter(map(repr, run.panes)) == Counter(map(repr, streaming_run.panes))
    assert Counter(map(repr, run.elements)) == Counter(map(repr, streaming_run.elements))
    assert count_drops(run.dropped) == count_drops(streaming_run.dropped)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("a sum per key", marks=pytest.mark.thorough),
        pytest.param("sessions that retract", marks=pytest.mark.thorough),
        "retractions downstream",
    ],
)
def test_metrics_agree_with_panes_and_drops(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Counts are those of the stored panes and drops, and the number of windows is that in the checkpoint."""
    job = job_called(name)
    (feed,) = job.replay.feeds
    run_as_query(spark, tmp_path, job.pipeline, evolve(job.replay, ends=False).timelines, metrics=True)
    stored = spark.read.parquet(str(tmp_path / "out"))
    panes = collect(job.pipeline, stored)
    rows = [row.asDict() for row in metrics(stored).collect()]
    stages = sorted({(row["number"], row["stage"]) for row in rows})
    assert [(row["batch"], row["number"]) for row in rows] == [
        (number, stage) for number in range(len(feed.batches)) for stage, _ in stages
    ]
    last = [row for row in rows if row["number"] == stages[-1][0]]
    values = Counter(pane.timing.value for pane in panes if pane.change.value == "value")
    for timing in ("early", "on_time", "late"):
        assert sum(row[timing] for row in last) == values[timing]
    assert sum(row["retraction"] for row in last) == len(panes) - values.total()
    first = [row for row in rows if row["number"] == 0]
    assert [row["elements"] for row in first] == list(map(len, feed.batches))
    reasons = Counter[str]()
    for drop in stored.filter(F.col("drop").isNotNull()).select("drop.*").collect():
        reasons[drop["reason"]] += drop["count"]
    for reason in ("expired", "closed"):
        assert sum(row[reason] for row in rows) == reasons[reason]
    for number, _ in stages:
        # Spark numbers stateful operators from the last stage.
        operator = len(stages) - 1 - number
        open_now = open_state(spark, tmp_path / "checkpoint", stage=operator).count()
        assert [row for row in rows if row["number"] == number][-1]["windows"] == open_now
    for row in rows:
        lag = (row["processing_time"] - row["watermark"]).total_seconds()
        assert row["watermark_lag"] == pytest.approx(lag)
        assert row["step_seconds"] > 0
    assert all((row["state_bytes"] > 0) == (row["windows"] > 0) for row in rows)


@pytest.mark.thorough
def test_progress_has_the_same_metrics(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's progress reports have the metrics of the table, whichever of the frames is written."""
    write_batches(tmp_path / "in", Sale, BATCHES, ends=True)
    stream = stream_of(spark, tmp_path / "in", POLICY)
    frame = streaming.compile(a_sum_per_key.pipeline, {SALES: stream}, metrics=True)
    reported: list[tuple[StageMetrics, ...]] = []
    for number, rows in enumerate((frame, frame.with_drops(), frame.with_metrics())):
        query = start_to_files(rows, tmp_path / f"out-{number}", tmp_path / f"checkpoint-{number}")
        try:
            query.awaitTermination()
            batches = [stage_metrics(progress) for progress in query.recentProgress]
        finally:
            query.stop()
        assert all(len(stages) == 1 for stages in batches)
        reported.append(tuple(evolve(stage, step_seconds=0) for (stage,) in batches))
    assert reported[0] == reported[1] == reported[2]
    table = [
        StageMetrics(**{**row.asDict(), "step_seconds": 0})
        for row in metrics(spark.read.parquet(str(tmp_path / "out-2"))).drop("batch").collect()
    ]
    assert list(reported[0]) == [
        evolve(
            stage,
            processing_time=stage.processing_time.astimezone(UTC),
            watermark=stage.watermark.astimezone(UTC),
        )
        for stage in table
    ]


class Events:
    """An observer that keeps the events of a query, and waits for its end."""

    def __init__(self) -> None:
        self.received: list[QueryEvent] = []
        self.ended = Event()

    def __call__(self, event: QueryEvent) -> None:
        """Receives an event."""
        self.received.append(event)
        if isinstance(event, QueryEnded):
            self.ended.set()


def observe_query(spark: SparkSession, folder: Path, frame: DataFrame) -> list[QueryEvent]:
    """Runs a query that writes Parquet and is called totals, and returns its events."""
    events = Events()
    reporting = listener(events)
    spark.streams.addListener(reporting)
    try:
        writer = frame.writeStream.queryName("totals").option(
            "checkpointLocation", str(folder / "checkpoint")
        )
        query = writer.trigger(availableNow=True).start(str(folder / "out"), format="parquet")
        with suppress(StreamingQueryException):
            query.awaitTermination()
        assert events.ended.wait(timeout=120), "the listener receives the end of the query"
    finally:
        spark.streams.removeListener(reporting)
    return events.received


def test_a_listener_reports_the_progress_of_a_query(spark: SparkSession, tmp_path: Path) -> None:
    """Observers receive the start, each micro-batch with the stored metrics of stages and sources, and the end."""
    windows = FixedWindows(timedelta(minutes=5))
    counts = (
        SALES.key_by(lambda sale: sale.shop)
        .window(windows, allowed_lateness=FOREVER)
        .combine_per_key(Count())
    )
    most = counts.map(lambda pair: pair.value).combine_globally(Max())
    write_batches(tmp_path / "in", Sale, BATCHES, ends=False)
    stream = stream_of(spark, tmp_path / "in", POLICY)
    frame = streaming.compile(most, {SALES: stream}, metrics=True).with_metrics()
    first, *advanced, last = observe_query(spark, tmp_path, frame)
    assert isinstance(first, QueryStarted)
    assert isinstance(last, QueryEnded)
    assert last.error is None
    assert {event.query for event in (first, *advanced, last)} == {"totals"}
    stored = spark.read.parquet(str(tmp_path / "out"))
    rows = [row.asDict() for row in metrics(stored).collect()]
    log = replay_log(stored)
    assert len(advanced) == len(log.batches) == len(BATCHES)
    for event, replayed in zip(advanced, log.batches, strict=True):
        assert isinstance(event, QueryAdvanced)
        progress = event.progress
        assert progress.batch == replayed.number
        assert progress.seconds > 0
        assert progress.processing_time == replayed.processing_time.datetime
        reported = [asdict(stage) for stage in progress.stages]
        assert [(stage["stage"], stage["windows"], stage["elements"]) for stage in reported] == [
            (row["stage"], row["windows"], row["elements"]) for row in rows if row["batch"] == progress.batch
        ]
        (source,) = progress.sources
        batch = replayed.sources["sales"]
        assert (source.source, source.elements, source.watermark) == (
            "sales",
            batch.elements,
            batch.watermark,
        )
        assert (source.reached, source.idle, frozenset(source.awaited)) == (
            batch.reached,
            batch.idle,
            batch.awaited,
        )
    counted = []
    last_progress = advanced[-1].progress if isinstance(advanced[-1], QueryAdvanced) else None
    assert last_progress is not None
    read = spark_windows(spark, tmp_path / "checkpoint")
    for stage in last_progress.stages:
        open_windows = read(stage.number, len(last_progress.stages))
        assert open_windows.total == len(open_windows.rows) == stage.windows
        counted.append(open_windows.total)
        assert all("waits" in describe_row(row, stage) for row in open_windows.rows)
    assert counted[0] > counted[1] > 0


def test_a_listener_reports_the_error_of_a_query(spark: SparkSession, tmp_path: Path) -> None:
    """A query that fails ends with its error."""

    def fail(sale: Sale) -> str:
        raise LookupError("no such shop")

    write_batches(tmp_path / "in", Sale, BATCHES, ends=True)
    stream = stream_of(spark, tmp_path / "in", POLICY)
    failing = (
        SALES.key_by(fail).window(FixedWindows(timedelta(hours=1)), allowed_lateness=FOREVER).group_by_key()
    )
    *_, last = observe_query(spark, tmp_path, streaming.compile(failing, {SALES: stream}, metrics=True))
    assert isinstance(last, QueryEnded)
    assert last.error is not None
    assert "no such shop" in last.error
    with pytest.raises(ArgumentError, match="observers must be functions of a QueryEvent; got 'all'"):
        listener("all")  # type: ignore[arg-type]  # a fault on purpose


def test_an_observer_of_a_listener_that_raises_keeps_no_event_from_the_others() -> None:
    """The observers before and after it receive the end of a query, and Spark receives its error, which it logs."""

    def fail(event: QueryEvent) -> None:
        raise LookupError("no such dashboard")

    before, after = list[QueryEvent](), list[QueryEvent]()
    reporting = listener(before.append, fail, after.append)
    with pytest.raises(LookupError, match="no such dashboard"):
        reporting.onQueryTerminated(QueryTerminatedEvent(uuid4(), uuid4(), "no such shop", None))
    (ended,) = after
    assert before == after
    assert isinstance(ended, QueryEnded)
    assert ended.error == "no such shop"


@pytest.mark.parametrize("stop", [SystemExit(3), GeneratorExit(), KeyboardInterrupt()])
def test_an_observer_of_a_listener_that_exits_raises_an_error(stop: BaseException) -> None:
    """Spark receives an ``Exception``: anything else ends the thread of py4j, and Spark waits for it forever."""

    def leave(event: QueryEvent) -> None:
        raise stop

    after = list[QueryEvent]()
    reporting = listener(leave, after.append)
    with pytest.raises(UserFunctionError, match=f"an observer raised {type(stop).__name__}"):
        reporting.onQueryTerminated(QueryTerminatedEvent(uuid4(), uuid4(), None, None))
    assert len(after) == 1


def test_missing_metrics_raise_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """Errors: a query or batch without metrics, another source, too few records, and a log without the first batch."""
    write_batches(tmp_path / "in", Sale, BATCHES, ends=True)
    pipeline = a_sum_per_key.pipeline
    stream = stream_of(spark, tmp_path / "in", POLICY)
    with pytest.raises(ArgumentError, match=r"metrics must be True in streaming.compile .*; got False"):
        streaming.compile(pipeline, {SALES: stream}).with_metrics()
    bounded = spark.read.parquet(str(tmp_path / "in"))
    with pytest.raises(UnsupportedError, match="batch has no metrics"):
        batch.compile(pipeline, {SALES: bounded}).with_metrics()
    with pytest.raises(
        ArgumentError, match="stored must be a DataFrame with the column stage_metrics, .*; got .*"
    ):
        metrics(bounded)
    with pytest.raises(ArgumentError, match="metrics must be a bool; got 'yes'"):
        streaming.compile(pipeline, {SALES: stream}, metrics="yes")  # type: ignore[call-overload]  # a fault on purpose
    frame = streaming.compile(pipeline, {SALES: stream}, metrics=True).with_metrics()
    run_to_end(frame, tmp_path / "out", tmp_path / "checkpoint")
    stored = spark.read.parquet(str(tmp_path / "out"))
    log = replay_log(stored)
    assert replay_log(stored.toArrow()) == log
    records = [sale for batch in BATCHES for sale in batch]
    assert len(log.timeline(SALES, records)) == len(BATCHES) + 1
    with pytest.raises(
        ArgumentError, match=f"records must be all {len(records)} elements .*; got {len(records) - 1}"
    ):
        log.timeline(SALES, records[:-1])
    with pytest.raises(ArgumentError, match="one of the sources of the run: sales"):
        log.timeline(Source("others", Sale, event_time=lambda sale: sale.at), records)
    file = min((tmp_path / "out").glob("*.parquet"))
    with pytest.raises(ArgumentError, match="coerce_int96_timestamp_unit"):
        replay_log(pq.read_table(file))
    late = stored.filter(F.col("stage_metrics.batch") > 0)
    with pytest.raises(ArgumentError, match="0: metrics from the beginning on"):
        replay_log(late)
