"""Every pipeline of the corpus through real Spark, batch and streaming, against the reference, pane by pane.

This family catches faults of the lowering, of lifting, and of the passage through the engine.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import flowalg_reference as reference
import pytest
from flowalg_spark import batch, streaming
from pyspark.sql import SparkSession

from flowalg import BoundedDisorder, Drop, Pane, Source, Timeline
from flowalg.time import event_time
from flowalg.values import order_key
from tests.corpus import BATCHES, ODD_TIMES, PIPELINES, SALES, TWO_STAGES, Sale
from tests.scores import NOON
from tests.spark_replay import Replayed, read_back, replay, run_to_end, stream_of, table_of, write_batches

POLICY = BoundedDisorder(timedelta(minutes=2))
EVERYTHING = [sale for one in BATCHES for sale in one]


def source_of(name: str) -> Source[Sale]:
    """The source that a pipeline of the corpus reads."""
    return ODD_TIMES if name == "event times from Python" else SALES


def in_order(panes: tuple[Pane[object], ...]) -> list[Pane[object]]:
    """Panes in one order, since Spark gives them in none."""
    return sorted(panes, key=lambda one: (one.processing_time, one.window, order_key(one.element), one.index))


def timeline() -> Timeline[Sale]:
    """What the replayed source did."""
    return Timeline.micro_batches(SALES, BATCHES, processing_time=lambda s: s.seen, watermark=POLICY)


@pytest.mark.parametrize("name", PIPELINES)
def test_batch_equals_the_reference(spark: SparkSession, name: str) -> None:
    """Spark batch gives the panes of the reference's batch: values, windows, and what a pane says of itself."""
    pipeline = PIPELINES[name]
    frame = spark.createDataFrame(table_of(Sale, EVERYTHING))
    panes = batch.run(pipeline, {source_of(name): frame}, time=NOON)
    expected = reference.run_batch(pipeline, {source_of(name): EVERYTHING}, time=NOON).panes
    assert in_order(panes) == in_order(expected)


@pytest.mark.parametrize("name", PIPELINES)
def test_streaming_equals_the_reference(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """Spark streaming gives the reference's panes over its own timeline, and its drops, by key and window."""
    pipeline = PIPELINES[name]
    replayed = replay(spark, tmp_path, pipeline, source_of(name), Sale, BATCHES, POLICY)
    run = reference.run(pipeline, {source_of(name): timeline()})
    assert in_order(replayed.panes) == in_order(run.panes)
    assert drop_counts(replayed) == reference_drops(run.dropped)


def drop_counts(replayed: Replayed) -> Counter[tuple[object, ...]]:
    """How many elements were dropped, by reason and window."""
    counts: Counter[tuple[object, ...]] = Counter()
    for drop in replayed.drops:
        window = drop["window"]
        assert isinstance(window, dict)
        start, end = (event_time(window[one].replace(tzinfo=UTC)) for one in ("start", "end"))
        counts[(drop["reason"], start, end)] += int(str(drop["count"]))
    return counts


def reference_drops(dropped: tuple[Drop, ...]) -> Counter[tuple[object, ...]]:
    """The same of the reference's drops."""
    return Counter((one.reason.value, one.window.start, one.window.end) for one in dropped)


def test_two_stages_in_batch(spark: SparkSession) -> None:
    """A second grouping groups by the windows of the first."""
    frame = spark.createDataFrame(table_of(Sale, EVERYTHING))
    panes = batch.run(TWO_STAGES, {SALES: frame}, time=NOON)
    assert in_order(panes) == in_order(reference.run_batch(TWO_STAGES, {SALES: EVERYTHING}, time=NOON).panes)


@pytest.mark.parametrize("shards", [1, 3, 5])
def test_the_number_of_shards_does_not_matter(spark: SparkSession, tmp_path: Path, shards: int) -> None:
    """Shards are an engine's business; the panes are the same."""
    pipeline = PIPELINES["a sum per key"]
    replayed = replay(spark, tmp_path, pipeline, SALES, Sale, BATCHES, POLICY, shards=shards)
    assert in_order(replayed.panes) == in_order(reference.run(pipeline, {SALES: timeline()}).panes)


@pytest.mark.parametrize("stop", [1, 4])
def test_a_restart_changes_nothing(spark: SparkSession, tmp_path: Path, stop: int) -> None:
    """A query stopped in the middle of a replay, and started again from its checkpoint, ends at the same panes."""
    pipeline = PIPELINES["several results as a record"]
    source, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    for batches, first, ends in ((BATCHES[:stop], 0, False), (BATCHES[stop:], stop, True)):
        write_batches(source, Sale, batches, ends=ends, first=first)
        frame = streaming.compile(pipeline, {SALES: stream_of(spark, source, POLICY)})
        run_to_end(frame.with_drops(), out, checkpoint)
    replayed = read_back(spark, pipeline, out)
    run = reference.run(pipeline, {SALES: timeline()})
    assert in_order(replayed.panes) == in_order(run.panes)
    assert drop_counts(replayed) == reference_drops(run.dropped)


def test_an_unfinished_stream_keeps_what_is_open(spark: SparkSession, tmp_path: Path) -> None:
    """Without an end of input the last windows stay open: only what the watermark has passed comes out."""
    pipeline = PIPELINES["a sum per key"]
    write_batches(tmp_path / "in", Sale, BATCHES, ends=False)
    frame = streaming.compile(pipeline, {SALES: stream_of(spark, tmp_path / "in", POLICY)})
    run_to_end(frame.with_drops(), tmp_path / "out", tmp_path / "checkpoint")
    run = reference.run(pipeline, {SALES: timeline().without_end()})
    assert in_order(read_back(spark, pipeline, tmp_path / "out").panes) == in_order(run.panes)


def test_the_batch_timestamp_is_the_processing_time(spark: SparkSession, tmp_path: Path) -> None:
    """A source without processing times of its own is clocked by Spark: one instant a micro-batch, in order."""
    pipeline = PIPELINES["a sum per key"]
    write_batches(tmp_path / "in", Sale, BATCHES, ends=True)
    before = event_time(datetime.now(UTC))
    frame = streaming.compile(pipeline, {SALES: stream_of(spark, tmp_path / "in", POLICY, seen=None)})
    run_to_end(frame.with_drops(), tmp_path / "out", tmp_path / "checkpoint")
    panes = read_back(spark, pipeline, tmp_path / "out").panes
    times = [one.processing_time for one in sorted(panes, key=lambda one: one.watermark)]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= event_time(datetime.now(UTC))
    expected = reference.run(pipeline, {SALES: timeline()}).panes

    def rest(pane: Pane[object]) -> tuple[object, ...]:
        return (repr(pane.element), pane.window, pane.timing, pane.index, pane.is_last, pane.watermark)

    assert Counter(map(rest, panes)) == Counter(map(rest, expected))


def test_the_frame_is_an_ordinary_one(spark: SparkSession) -> None:
    """Its columns are the fields of the element and of the pane; it joins, and is a view, like any other."""
    frame = batch.compile(
        PIPELINES["several results as a record"], {SALES: spark.createDataFrame(table_of(Sale, EVERYTHING))}
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
        PIPELINES["an argument from Python"], {SALES: spark.createDataFrame(table_of(Sale, EVERYTHING))}
    )
    frame.explain()
    printed = capsys.readouterr().out
    assert "Source('sales').event_time: lifted to Spark columns" in printed
    assert "key_by(initial at tests/corpus.py:" in printed
    assert "runs in Python, because of it is more than one return statement" in printed
    assert "Physical Plan" in printed
