"""Bad records that a stream tells instead of failing: each is told once, with why, and nothing else changes.

This family catches a bad record that vanishes, takes good ones with it, or moves a clock by a time that is
none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from attrs import evolve, frozen
from flowalg_spark import StreamInput, collect, metrics, streaming
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
    PCollection,
    Repeat,
    Source,
    Sum,
)
from tests.spark.test_bad_rows import FIXED, GOOD, MINUTE, ROWS, TIMES, TYPES, Row, Stored
from tests.support.scores import NOON

POLICY = BoundedOutOfOrderness(MINUTE)
LATER = NOON + 5 * MINUTE

BAD_ROWS: list[tuple[Stored, str]] = [
    (evolve(GOOD, n=None), "a row has null in n, which must be of type int"),
    (evolve(GOOD, key=None), "a row has null in key, which must be of type str"),
    (evolve(GOOD, inner=("Rome", [1, None])), "a row has null in inner.sizes[…], which must be of type int"),
    (evolve(GOOD, tags=["a", None]), "a row has null in tags{…}, which must be of type str"),
    (evolve(GOOD, inner=None), "a row has null in inner, which must be of type Inner"),
    (evolve(GOOD, maybe=("Rome", None)), "a row has null in maybe.sizes, which must be of type list[int]"),
    (evolve(GOOD, colour="GREEN"), "a row has GREEN in colour, which is no member of Colour"),
    (evolve(GOOD, at=None), "a row has null in at, which must be of type datetime"),
    (evolve(GOOD, at=datetime(1, 1, 2, tzinfo=UTC)), f"{TIMES}-62135510400000000 us since 1970"),
    (evolve(GOOD, at=datetime(9999, 12, 31, tzinfo=UTC)), f"{TIMES}253402214400000000 us since 1970"),
]


@frozen
class Number:
    """A number at a time."""

    n: int
    at: datetime


def stream(spark: SparkSession, folder: Path, batches: Sequence[Sequence[Stored]]) -> StreamInput:
    """Stored rows as a stream, a file for each micro-batch, and the end."""
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


def told(
    spark: SparkSession, folder: Path, pipeline: PCollection[object], source: StreamInput
) -> tuple[list[tuple[object, ...]], list[dict[str, object]], DataFrame]:
    """The panes and the drops of a query that tells bad records, and all that it has stored."""
    frame = streaming.compile(pipeline, {ROWS: source}, dead_letters=True, metrics=True)
    run_to_end(frame.with_metrics(), folder / "out", folder / "checkpoint")
    stored = spark.read.parquet(str(folder / "out"))
    panes: list[tuple[object, ...]] = [
        (pane.element, pane.window, pane.timing) for pane in collect(pipeline, stored)
    ]
    drops = stored.filter(F.col("drop").isNotNull()).select("drop.*").collect()
    return panes, [row.asDict() for row in drops], stored


def test_records_that_are_none_are_told(spark: SparkSession, tmp_path: Path) -> None:
    """Nulls, unknown names and absurd times, each told with its field and its record; panes are those of the others."""
    counts = ROWS.key_by(lambda row: row.key).window(FIXED, allowed_lateness=MINUTE).combine_per_key(Count())
    bad = [row for row, _ in BAD_ROWS]
    source = stream(spark, tmp_path, [[GOOD, *bad, GOOD], [*bad, evolve(GOOD, at=LATER)]])
    panes, drops, stored = told(spark, tmp_path, counts, source)
    assert [element for element, _, _ in panes] == [KV("a", 2), KV("a", 1)]
    assert Counter(drop["reason"] for drop in drops) == {"bad_record": 2 * len(bad)}
    assert {drop["stage"] for drop in drops} == {"Source('rows')"}
    assert {drop["count"] for drop in drops} == {1}
    for _, why in BAD_ROWS:
        assert sum(why in str(drop["error"]) for drop in drops) == 2
    records = [json.loads(str(drop["value"])) for drop in drops]
    assert sum(record.get("colour") == "GREEN" and record["n"] == 1 for record in records) == 2
    assert [row["elements"] for row in metrics(stored).collect()] == [2, 1, 0]


def known(row: Row) -> Row:
    """A function that cannot take some rows."""
    if row.n == 3:
        raise LookupError("nothing about three")
    return row


def wrong(row: Row) -> float:
    """A function that once gives what it is not annotated with."""
    return "four" if row.n == 4 else row.x  # type: ignore[return-value]  # a fault on purpose


def when(row: Row) -> datetime:
    """An event time without a time zone, for one row."""
    return row.at.replace(tzinfo=None) if row.n == 5 else row.at


def several(row: Row) -> list[Row]:
    """A row twice."""
    if row.n == 6:
        raise ValueError("not six")
    return [row, row]


def fits(row: Row) -> bool:
    """A predicate that raises for one row, and drops another."""
    if row.n == 7:
        raise ValueError("not seven")
    return row.n != 8


def weight(row: Row) -> int:
    """What a combiner reads, which raises for one row."""
    if row.n == 9:
        raise ValueError("not nine")
    return row.n


def test_what_functions_cannot_take_is_told(spark: SparkSession, tmp_path: Path) -> None:
    """Each kind of step, and what a combiner reads; the panes are those of a pipeline that has filtered them out."""
    gone = (0, 3, 4, 5, 6, 7, 9)
    checked = (
        ROWS.filter(fits)
        .with_timestamps(when)
        .filter(lambda row: 10 // row.n > 0)
        .filter(lambda row: wrong(row) > 0)
        .map(known)
        .flat_map(several)
        .key_by(lambda row: row.key)
    )
    plain = (
        ROWS.filter(lambda row: row.n != 8 and row.n not in gone)
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
    found, drops, _ = told(spark, tmp_path / "one", sums(checked.map_values(lambda row: row)), source)
    wanted, none, _ = told(spark, tmp_path / "two", sums(plain), source)
    assert found == wanted
    assert not none
    errors = Counter(
        str(drop["error"]).split(": ", 1)[1].partition("; its argument was")[0][:60] for drop in drops
    )
    assert {drop["reason"] for drop in drops} == {"bad_record"}
    assert len(drops) == 9, errors
    stages = Counter(str(drop["stage"]).partition("(")[0] for drop in drops)
    assert stages == {"filter": 4, "with_timestamps": 1, "map": 1, "flat_map": 1, "Sum.of": 2}


def test_panes_that_a_step_cannot_take_are_told(spark: SparkSession, tmp_path: Path) -> None:
    """Behind a grouping too, and through another one: told once, by the step, with the pane's element."""

    def inverse(count: int) -> float:
        return 1 / (count - 2)

    counts = ROWS.key_by(lambda row: row.key).window(FIXED, allowed_lateness=MINUTE)
    again = counts.combine_per_key(Count()).map_values(inverse).key_by(lambda pair: 0)
    pipeline = again.combine_per_key(Count())
    rows = [evolve(GOOD, key=key) for key in "aabc"]
    panes, drops, _ = told(spark, tmp_path, pipeline, stream(spark, tmp_path, [rows]))
    assert [element for element, _, _ in panes] == [KV(0, 2)]
    (drop,) = drops
    assert json.loads(str(drop["value"])) == {"key": "a", "value": 2}
    assert "ZeroDivisionError" in str(drop["error"])


def test_an_event_time_that_a_function_cannot_tell(spark: SparkSession, tmp_path: Path) -> None:
    """A source whose own function raises: the record is told, and moves no clock."""

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
    found = spark.read.parquet(str(tmp_path / "out"))
    assert [pane.element.value for pane in collect(counts, found)] == [1, 1]
    (drop,) = found.filter("drop is not null").select("drop.*").collect()
    assert drop["stage"].startswith("Source('rows').event_time(at at ")
    assert "invalid literal for int()" in drop["error"]
    assert json.loads(drop["value"])["key"] == "x"


def test_lines_that_do_not_parse(spark: SparkSession, tmp_path: Path) -> None:
    """By choice they are told with their text, or fail the query; they are never nulls."""
    lines = [
        '{"n": 1, "at": "2026-01-01T00:00:00Z"}',
        '{"n": "one"',
        '{"n": 2, "at": "2026-01-01T00:00:30Z"}',
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text("\n".join(lines))
    numbers = Source("numbers", Number, event_time=lambda one: one.at)
    sums = (
        numbers.key_by(lambda one: 0)
        .window(FIXED, allowed_lateness=MINUTE)
        .combine_per_key(Sum.of(lambda one: one.n))
    )
    frame = spark.readStream.schema("n long, at timestamp, _corrupt_record string").json(str(tmp_path / "in"))
    source = StreamInput(frame, POLICY, corrupt_record=F.col("_corrupt_record"))
    streaming.drain(spark, tmp_path / "drain")
    telling = streaming.compile(
        sums, {numbers: source}, dead_letters=True, drain_signal_path=tmp_path / "drain"
    )
    run_to_end(telling.with_drops(), tmp_path / "out", tmp_path / "checkpoint")
    found = spark.read.parquet(str(tmp_path / "out"))
    assert [pane.element.value for pane in collect(sums, found)] == [3]
    (drop,) = found.filter("drop is not null").select("drop.*").collect()
    assert drop["value"] == lines[1]
    assert "does not parse" in drop["error"]
    failing = streaming.compile(sums, {numbers: source})
    with pytest.raises(StreamingQueryException, match="source 'numbers': a record does not parse"):
        run_to_end(failing.with_drops(), tmp_path / "out-2", tmp_path / "checkpoint-2")


def test_the_default_fails(spark: SparkSession, tmp_path: Path) -> None:
    """Without the choice a bad record fails the query, whatever is stored of it."""
    counts = ROWS.key_by(lambda row: row.key).window(FIXED, allowed_lateness=MINUTE).combine_per_key(Count())
    source = stream(spark, tmp_path, [[GOOD, evolve(GOOD, key=None)]])
    frame = streaming.compile(counts, {ROWS: source}).with_drops()
    with pytest.raises(StreamingQueryException, match="source 'rows': a row has null in key"):
        run_to_end(frame, tmp_path / "out", tmp_path / "checkpoint")
