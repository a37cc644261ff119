"""Dead letters: a stream reports each bad record once with its error instead of failing, and nothing else changes.

These tests catch a bad record that is lost, that removes good records, or that advances a clock.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import flowalg_reference as reference
import pyarrow.parquet as pq
import pytest
from attrs import evolve, frozen
from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.conformance.jobs.dead_letters import a_split_that_raises
from flowalg_polars import PolarsBatch
from flowalg_spark import (
    SparkStreaming,
    StreamInput,
    batch,
    collect,
    collect_bad_records,
    metrics,
    schema_of,
    streaming,
)
from flowalg_spark.streaming.interpreter import run_to_end
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flowalg import (
    FOREVER,
    KV,
    AtCount,
    BoundedOutOfOrderness,
    Count,
    Mode,
    PCollection,
    Repeat,
    Source,
    Sum,
    Timeline,
)
from flowalg.errors import ArgumentError, ElementError
from flowalg.runs import Outputs
from tests.spark.test_bad_rows import FIXED, GOOD, MINUTE, ROWS, TIMES, TYPES, Row, Stored
from tests.support import dirty, far_times
from tests.support.failing_steps import READINGS, STEPS, Reading
from tests.support.scores import NOON

POLICY = BoundedOutOfOrderness(MINUTE)
LATER = NOON + 5 * MINUTE

BAD_ROWS: list[tuple[Stored, str]] = [
    (evolve(GOOD, n=None), "n must be of type int; got null"),
    (evolve(GOOD, key=None), "key must be of type str; got null"),
    (evolve(GOOD, inner=("Rome", [1, None])), "inner.sizes[…] must be of type int; got null"),
    (evolve(GOOD, tags=["a", None]), "tags{…} must be of type str; got null"),
    (evolve(GOOD, inner=None), "inner must be of type Inner; got null"),
    (evolve(GOOD, maybe=("Rome", None)), "maybe.sizes must be of type list[int]; got null"),
    (evolve(GOOD, colour="GREEN"), "colour must be a member of Colour (RED, BLUE); got GREEN"),
    (evolve(GOOD, at=None), "at must be of type datetime; got null"),
    (evolve(GOOD, at=datetime(1, 1, 2, tzinfo=UTC)), f"{TIMES}0001-01-02T00:00:00.000000Z"),
    (evolve(GOOD, at=datetime(9999, 12, 31, tzinfo=UTC)), f"{TIMES}9999-12-31T00:00:00.000000Z"),
]


@frozen
class Number:
    """A number at a time."""

    n: int
    at: datetime


def stream(spark: SparkSession, folder: Path, batches: Sequence[Sequence[Stored]]) -> StreamInput:
    """Returns stored rows as a stream: a file for each micro-batch, and the end of the input."""
    for number, rows in enumerate([*batches, []]):
        frame = spark.createDataFrame([row.columns for row in rows], TYPES)
        ends = number == len(batches)
        whole = frame.withColumn("ends", F.lit(False))
        if ends:
            whole = spark.createDataFrame([(*(None for _ in frame.columns), True)], f"{TYPES}, ends boolean")
        whole.coalesce(1).write.mode("append").parquet(str(folder / "in" / f"{number:03}"))
    schema = f"{TYPES}, ends boolean"
    reader = spark.readStream.schema(schema).option("recursiveFileLookup", "true")
    frame = reader.option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    seen = F.timestamp_seconds(F.lit(NOON.timestamp()))
    return StreamInput(frame, POLICY, processing_time=seen, end_of_input=F.col("ends"))


def run_with_dead_letters(
    spark: SparkSession, folder: Path, pipeline: PCollection[object], source: StreamInput
) -> tuple[list[tuple[object, ...]], list[dict[str, object]], DataFrame]:
    """Returns the panes and the drops of a query with dead letters, and its stored output."""
    frame = streaming.compile(pipeline, {ROWS: source}, dead_letters=True, metrics=True)
    run_to_end(frame.with_metrics(), folder / "out", folder / "checkpoint")
    stored = spark.read.parquet(str(folder / "out"))
    panes: list[tuple[object, ...]] = [
        (pane.element, pane.window, pane.timing) for pane in collect(pipeline, stored)
    ]
    drops = stored.filter(F.col("drop").isNotNull()).select("drop.*").collect()
    return panes, [row.asDict() for row in drops], stored


def test_a_bad_record_of_a_source_is_a_dead_letter(spark: SparkSession, tmp_path: Path) -> None:
    """Nulls, unknown enum names and impossible times are dead letters with their field; good records are counted."""
    counts = ROWS.key_by(lambda row: row.key).window(FIXED, allowed_lateness=MINUTE).combine_per_key(Count())
    bad = [row for row, _ in BAD_ROWS]
    source = stream(spark, tmp_path, [[GOOD, *bad, GOOD], [*bad, evolve(GOOD, at=LATER)]])
    panes, drops, stored = run_with_dead_letters(spark, tmp_path, counts, source)
    assert [element for element, _, _ in panes] == [KV("a", 2), KV("a", 1)]
    assert Counter(drop["reason"] for drop in drops) == {"bad_record": 2 * len(bad)}
    assert {drop["stage"] for drop in drops} == {"Source('rows')"}
    assert {drop["count"] for drop in drops} == {1}
    for _, why in BAD_ROWS:
        assert sum(why in str(drop["error"]) for drop in drops) == 2
    records = [json.loads(str(drop["value"])) for drop in drops]
    assert sum(record.get("colour") == "GREEN" and record["n"] == 1 for record in records) == 2
    assert [row["elements"] for row in metrics(stored).collect()] == [2, 1, 0]


def fail_on_three(row: Row) -> Row:
    """Raises for one row."""
    if row.n == 3:
        raise LookupError("nothing about three")
    return row


def text_for_four(row: Row) -> float:
    """Returns a value that is not of the annotated type for one row."""
    return "four" if row.n == 4 else row.x  # type: ignore[return-value]  # a fault on purpose


def naive_time_for_five(row: Row) -> datetime:
    """Returns an event time without a time zone for one row."""
    return row.at.replace(tzinfo=None) if row.n == 5 else row.at


def twice_except_six(row: Row) -> list[Row]:
    """Returns a row twice, and raises for one row."""
    if row.n == 6:
        raise ValueError("not six")
    return [row, row]


def is_not_eight(row: Row) -> bool:
    """Raises for one row, and is false for another."""
    if row.n == 7:
        raise ValueError("not seven")
    return row.n != 8


def weight(row: Row) -> int:
    """Returns the argument of a combiner, and raises for one row."""
    if row.n == 9:
        raise ValueError("not nine")
    return row.n


READ = [
    Reading(text, n, m)
    for text, n, m in (
        ("1", 1, 1),
        ("x", 0, 0),
        ("22", 7, 0),
        ("", -3, 2),
        ("7", 0, 3),
        ("2", 9, 1),
        ("13", 8, 0),
    )
]


def readings(spark: SparkSession) -> DataFrame:
    """Returns readings as a frame."""
    return spark.createDataFrame([(r.text, r.n, r.m) for r in READ], "text string, n long, m long")


def read_outputs() -> dict[str, PCollection[object]]:
    """Returns an output for each kind of step that fails on some elements."""
    return {name: make(READINGS) for name, make in STEPS.items()}


def counted_elements(run: Outputs) -> dict[str, Counter[str]]:
    """Returns the elements of each output."""
    return {name: Counter(str(element.element) for element in run[name].elements) for name in STEPS}


def test_steps_that_fail_give_the_elements_and_bad_records_of_the_reference(spark: SparkSession) -> None:
    """This holds for each kind of step, whether a column says where it fails or Python finds it."""
    timelines = {READINGS: Timeline.batch(READ, time=NOON)}
    expected = reference.ReferenceBatch(dead_letters=True).run(read_outputs(), timelines)
    run = batch.run(read_outputs(), {READINGS: readings(spark)}, time=NOON, dead_letters=True)
    assert counted_elements(run) == counted_elements(expected)
    assert Counter(run.bad_records) == Counter(expected.bad_records)


def test_panes_read_no_column_of_bad_records(spark: SparkSession) -> None:
    """A lifted step that can fail starts no Python for the panes, and of the bad records it sends no others there."""
    sums = READINGS.key_by(lambda r: r.text).combine_per_key(Sum.of(lambda r: r.n // r.m))
    panes = batch.compile(sums, {READINGS: readings(spark)}, dead_letters=True)
    plan, letters = (
        shown._jdf.queryExecution().executedPlan().toString()  # pyright: ignore[reportOptionalCall]
        for shown in (panes, panes.dead_letters())
    )
    assert ("Python" in plan, "ArrowEvalPython" in letters) == (False, True)
    assert letters.index("ArrowEvalPython") < letters.index("Filter")


def test_an_element_on_which_a_function_fails_is_a_dead_letter(spark: SparkSession, tmp_path: Path) -> None:
    """This holds for each kind of step and for a combiner; the panes are as if the bad elements were filtered out."""
    bad = (0, 3, 4, 5, 6, 7, 9)
    checked = (
        ROWS.filter(is_not_eight)
        .with_timestamps(naive_time_for_five)
        .filter(lambda row: 10 // row.n > 0)
        .filter(lambda row: text_for_four(row) > 0)
        .map(fail_on_three)
        .flat_map(twice_except_six)
        .key_by(lambda row: row.key)
    )
    plain = (
        ROWS.filter(lambda row: row.n != 8 and row.n not in bad)
        .flat_map(lambda row: [row, row])
        .key_by(lambda row: row.key)
    )
    every = Repeat(AtCount(1))

    def sums(pairs: PCollection[KV[str, Row]]) -> PCollection[KV[str, tuple[int, int]]]:
        windowed = pairs.window(FIXED, trigger=every, allowed_lateness=FOREVER)
        return windowed.combine_per_key(Sum.of(weight), Count())

    rows = [evolve(GOOD, n=n) for n in (1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10)]
    rows.append(evolve(GOOD, n=0, at=LATER))
    source = stream(spark, tmp_path / "one", [rows])
    panes, drops, _ = run_with_dead_letters(
        spark, tmp_path / "one", sums(checked.map_values(lambda row: row)), source
    )
    expected, no_drops, _ = run_with_dead_letters(spark, tmp_path / "two", sums(plain), source)
    assert panes == expected
    assert not no_drops
    errors = Counter(
        str(drop["error"]).split(": ", 1)[1].partition("; its argument was")[0][:60] for drop in drops
    )
    assert {drop["reason"] for drop in drops} == {"bad_record"}
    assert len(drops) == 9, errors
    stages = Counter(str(drop["stage"]).partition("(")[0] for drop in drops)
    assert stages == {"filter": 4, "with_timestamps": 1, "map": 1, "flat_map": 1, "combine_per_key": 2}


def test_a_pane_on_which_a_step_fails_is_one_dead_letter(spark: SparkSession, tmp_path: Path) -> None:
    """A failing step between two groupings has one dead letter, with the element of the pane."""

    def inverse(count: int) -> float:
        return 1 / (count - 2)

    counts = ROWS.key_by(lambda row: row.key).window(FIXED, allowed_lateness=MINUTE)
    again = counts.combine_per_key(Count()).map_values(inverse).key_by(lambda pair: 0)
    pipeline = again.combine_per_key(Count())
    rows = [evolve(GOOD, key=key) for key in "aabc"]
    panes, drops, _ = run_with_dead_letters(spark, tmp_path, pipeline, stream(spark, tmp_path, [rows]))
    assert [element for element, _, _ in panes] == [KV(0, 2)]
    (drop,) = drops
    assert json.loads(str(drop["value"])) == {"key": "a", "value": 2}
    assert "ZeroDivisionError" in str(drop["error"])


def test_a_record_whose_event_time_function_raises_is_a_dead_letter(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The record is a dead letter of its source, and does not advance the clocks."""

    def at(row: Row) -> datetime:
        words = row.key.split()
        return row.at + int(words[0]) * MINUTE

    rows = Source("rows", Row, event_time=at)
    counts = (
        rows.key_by(lambda row: row.colour).window(FIXED, allowed_lateness=MINUTE).combine_per_key(Count())
    )
    stored = [evolve(GOOD, key=key) for key in ("0", "x", "3")]
    source = stream(spark, tmp_path, [stored])
    frame = streaming.compile(counts, {rows: source}, dead_letters=True)
    run_to_end(frame.with_drops(), tmp_path / "out", tmp_path / "checkpoint")
    output = spark.read.parquet(str(tmp_path / "out"))
    assert [pane.element.value for pane in collect(counts, output)] == [1, 1]
    (drop,) = output.filter("drop is not null").select("drop.*").collect()
    assert drop["stage"].startswith("Source('rows').event_time(at at ")
    assert "invalid literal for int()" in drop["error"]
    assert json.loads(drop["value"])["key"] == "x"


def test_a_line_that_does_not_parse_is_a_dead_letter_or_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """With dead letters it is one with its text; otherwise it fails the query. It is never a record of nulls."""
    lines = [
        '{"n": 1, "at": "2026-01-01T00:00:00Z"}',
        '{"n": "one"',
        '{"n": 2, "at": "2026-01-01T00:00:30Z"}',
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text("\n".join(lines))
    numbers = Source("numbers", Number, event_time=lambda number: number.at)
    sums = (
        numbers.key_by(lambda number: 0)
        .window(FIXED, allowed_lateness=MINUTE)
        .combine_per_key(Sum.of(lambda number: number.n))
    )
    frame = spark.readStream.schema("n long, at timestamp, _corrupt_record string").json(str(tmp_path / "in"))
    source = StreamInput(frame, POLICY, corrupt_record=F.col("_corrupt_record"))
    streaming.drain(spark, tmp_path / "drain")
    with_letters = streaming.compile(
        sums, {numbers: source}, dead_letters=True, drain_signal_path=tmp_path / "drain"
    )
    run_to_end(with_letters.with_drops(), tmp_path / "out", tmp_path / "checkpoint")
    output = spark.read.parquet(str(tmp_path / "out"))
    assert [pane.element.value for pane in collect(sums, output)] == [3]
    (drop,) = output.filter("drop is not null").select("drop.*").collect()
    assert json.loads(drop["value"]) == {"text": lines[1]}
    assert "must parse" in drop["error"]
    lines_of_file = {numbers: spark.read.schema(frame.schema).json(str(tmp_path / "in"))}
    in_batch = batch.compile(sums, lines_of_file, dead_letters=True, corrupt_record="_corrupt_record")
    assert collect_bad_records(in_batch.with_drops()) == collect_bad_records(output)
    assert [pane.element.value for pane in collect(sums, in_batch)] == [3]
    with pytest.raises(ElementError, match="source 'numbers': a record must parse"):
        collect(sums, batch.compile(sums, lines_of_file, corrupt_record="_corrupt_record"))
    with pytest.raises(ArgumentError, match="corrupt_record must be the name of a column of an input"):
        batch.compile(sums, lines_of_file, corrupt_record="other")
    failing = streaming.compile(sums, {numbers: source})
    with pytest.raises(StreamingQueryException, match="source 'numbers': a record must parse"):
        run_to_end(failing.with_drops(), tmp_path / "out-2", tmp_path / "checkpoint-2")


def table_of(spark: SparkSession, folder: Path, rows: list[dict[str, object]]) -> str:
    """Returns the folder of a Parquet file with rows."""
    (folder / "table").mkdir()
    pq.write_table(dirty.table(rows), folder / "table" / "0.parquet")
    return str(folder / "table")


def test_times_that_python_lacks_are_bad_records(spark: SparkSession, tmp_path: Path) -> None:
    """In every field they are bad records, with the reasons and the JSON of the local engine."""
    pq.write_table(far_times.table(), tmp_path / "0.parquet")
    frame = spark.read.parquet(str(tmp_path / "0.parquet"))
    local = PolarsBatch(dead_letters=True).run(
        far_times.LISTED, {far_times.SPANS: str(tmp_path / "0.parquet")}
    )
    run = batch.run(far_times.LISTED, {far_times.SPANS: frame}, dead_letters=True)
    assert [pane.element for pane in run.panes] == [pane.element for pane in local.panes]
    assert run.bad_records == local.bad_records
    with pytest.raises(ElementError, match="must be in the years 1 to 9999"):
        batch.run(far_times.LISTED, {far_times.SPANS: frame})


def test_a_text_that_is_not_utf_8_is_a_bad_record(spark: SparkSession, tmp_path: Path) -> None:
    """A cast of bytes makes such a text: it is a dead letter or an error, and no key that nothing can read."""
    counts = ROWS.key_by(lambda row: row.key).window(FIXED, allowed_lateness=MINUTE).combine_per_key(Count())
    is_latin = F.col("key") == F.lit("latin")
    key = F.when(is_latin, F.unhex(F.lit("636166E9")).cast("string")).otherwise(F.col("key"))
    source = stream(spark, tmp_path, [[GOOD, evolve(GOOD, key="latin")]])
    source = evolve(source, data=source.frame.withColumn("key", key))
    panes, (drop,), _ = run_with_dead_letters(spark, tmp_path, counts, source)
    assert [element for element, _, _ in panes] == [KV("a", 1)]
    error = "source 'rows': key must be text in UTF-8; got, with U+FFFD for what is not, caf\ufffd"
    assert (drop["error"], json.loads(str(drop["value"]))["key"]) == (error, "caf\ufffd")
    rows = spark.createDataFrame([evolve(GOOD, key="latin").columns], TYPES).withColumn("key", key)
    with pytest.raises(ElementError, match=re.escape(error)):
        batch.run(counts, {ROWS: rows})


def test_all_engines_reject_the_same_rows_of_a_file(spark: SparkSession, tmp_path: Path) -> None:
    """Spark batch and stream give the panes of the good rows, and the bad records of the reference with its reasons."""
    wanted = reference.run_batch(
        dirty.TOTALS, {dirty.SALES: map(dirty.record_of, dirty.DIRTY)}, dead_letters=True
    )
    path = table_of(spark, tmp_path, dirty.DIRTY)
    run = batch.run(dirty.TOTALS, {dirty.SALES: spark.read.parquet(path)}, dead_letters=True)
    assert [(pane.element, pane.window) for pane in run.panes] == [
        (pane.element, pane.window) for pane in wanted.panes
    ]
    assert run.bad_records == wanted.bad_records
    assert dirty.counted(run.bad_records) == dirty.EXPECTED
    frame = spark.readStream.schema(schema_of(dirty.SALES)).parquet(path)
    inputs = {dirty.SALES: StreamInput(frame, BoundedOutOfOrderness(timedelta(0)))}
    streamed = SparkStreaming(spark, shards=2, dead_letters=True).run(dirty.TOTALS, inputs)
    assert streamed.bad_records == wanted.bad_records
    closed = [(pane.element, pane.window) for pane in streamed.panes]
    assert closed == [(pane.element, pane.window) for pane in wanted.panes][: len(closed)]
    assert len(closed) == 2


def test_the_frames_of_a_batch_with_dead_letters(spark: SparkSession, tmp_path: Path) -> None:
    """Bad records are a frame with the columns of drops, whose query groups nothing, and rows of ``with_drops``."""
    path = table_of(spark, tmp_path, dirty.DIRTY)
    inputs = {dirty.SALES: spark.read.parquet(path)}
    panes = batch.compile(dirty.TOTALS, inputs, time=dirty.NOON, dead_letters=True)
    letters = panes.dead_letters()
    together = panes.with_drops().persist()
    assert letters.columns == [field.name for field in together.schema["drop"].dataType.fields]  # type: ignore[attr-defined]  # a struct
    assert letters.count() == sum(dirty.EXPECTED.values())
    assert collect(dirty.TOTALS, together) == collect(dirty.TOTALS, panes)
    assert dirty.counted(collect_bad_records(together)) == dirty.EXPECTED
    together.unpersist()
    plan = letters._jdf.queryExecution().executedPlan().toString()  # pyright: ignore[reportOptionalCall]
    assert "Exchange" not in plan
    with pytest.raises(ArgumentError, match="dead_letters must be True in batch.compile"):
        batch.compile(dirty.TOTALS, {dirty.SALES: spark.read.parquet(path)}).dead_letters()


def test_a_batch_of_good_rows_has_no_dead_letters(spark: SparkSession, tmp_path: Path) -> None:
    """Over good rows, a batch with dead letters is the batch without."""
    path = table_of(spark, tmp_path, dirty.GOOD)
    inputs = {dirty.SALES: spark.read.parquet(path)}
    run = batch.run(dirty.TOTALS, inputs, dead_letters=True)
    assert not run.bad_records
    assert [pane.element for pane in run.panes] == [
        pane.element for pane in batch.run(dirty.TOTALS, inputs).panes
    ]


def test_a_shared_step_of_two_outputs_has_one_dead_letter(spark: SparkSession, tmp_path: Path) -> None:
    """A step that two outputs share fails once for an element; each output has its other elements."""
    cleaned = dirty.SALES.filter(lambda sale: sale.cents // sale.parts < 1_000).map(dirty.checked)
    outputs: dict[str, PCollection[object]] = {
        "by shop": cleaned.key_by(lambda sale: sale.shop).combine_per_key(Count()),
        "sales": cleaned.map(lambda sale: sale.cents),
    }
    inputs = {dirty.SALES: spark.read.parquet(table_of(spark, tmp_path, dirty.DIRTY))}
    run = batch.run(outputs, inputs, dead_letters=True)
    assert dirty.counted(run.bad_records) == {"Source": 6, "filter": 1, "map": 1}
    good = [cells for cells in dirty.DIRTY if cells in dirty.GOOD or cells["cents"] in (666, 777)]
    assert Counter(element.element for element in run["sales"].elements) == Counter(
        cells["cents"] for cells in good
    )


def test_an_element_on_which_a_shared_step_fails_advances_the_clock_of_each_reader(
    spark: SparkSession,
) -> None:
    """The function of a split fails once for both of its collections, and their union has the watermark of all."""
    timelines = a_split_that_raises.replay.timelines
    expected = reference.Reference(Mode.MICRO_BATCH, dead_letters=True).run(
        a_split_that_raises.pipeline, timelines
    )
    engine = SparkStreaming(spark, generate_watermarks=True, dead_letters=True)
    run = engine.run(a_split_that_raises.pipeline, timelines)
    assert sorted(map(full_line, run.panes)) == sorted(map(full_line, expected.panes))
    assert run.bad_records == expected.bad_records


def test_a_bad_record_fails_the_query_by_default(spark: SparkSession, tmp_path: Path) -> None:
    """Without dead letters a bad record fails the query, also if drops are stored."""
    counts = ROWS.key_by(lambda row: row.key).window(FIXED, allowed_lateness=MINUTE).combine_per_key(Count())
    source = stream(spark, tmp_path, [[GOOD, evolve(GOOD, key=None)]])
    frame = streaming.compile(counts, {ROWS: source}).with_drops()
    with pytest.raises(StreamingQueryException, match="source 'rows': key must be of type str; got null"):
        run_to_end(frame, tmp_path / "out", tmp_path / "checkpoint")
