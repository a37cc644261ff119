"""Files of text on Spark: the records and bad records that the other engines read.

The tests catch a text that Spark reads as another value, passes over, or loses with a line beside it.
"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from attrs import frozen
from flowalg_columns.tables import record_table
from flowalg_polars import streaming as local
from flowalg_polars.streaming import Files
from flowalg_spark import (
    SparkStreaming,
    StreamInput,
    batch,
    collect_bad_records,
    collect_elements,
    read_files,
    stream_files,
    streaming,
)
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.streaming.interpreter import run_to_end
from pyspark.sql import SparkSession

from flowalg import BoundedOutOfOrderness, Source
from flowalg.errors import ArgumentError, ElementError

POLICY = BoundedOutOfOrderness(timedelta(0))
T = "2024-01-01T12:00:00Z"


@frozen
class Item:
    """A record of a line."""

    key: str | None
    value: float | None
    at: datetime


ITEMS = Source("items", Item, event_time=lambda item: item.at)
ALL = ITEMS.map(lambda item: (item.key, item.value))
DEEP = "[" * 2_000 + "]" * 2_000
FILES = {
    "csv": (
        f"\ufeffkey,value,at\nNA,nan,{T}\nnull,1,{T}\n".encode(),
        f'at,other,key,value\n{T},x,"a\nb",\r\n{T},x,"a,2\n{T},"",\u2028,3\n2024-01-01,x,b,4\n'.encode()
        + f"{T},x,caf\xe9,5\n{T},x,{'y' * 200_000},6\n".encode("latin-1"),
        b"",
    ),
    "json": (
        f'{{"key": "a\u2028b", "value": 1, "at": "{T}", "x": {DEEP}}}\n\n'.encode(),
        f'{{"key": "c", "at": "2024-01-01T12:00:00"}}\n{{"value": {"9" * 400}, "at": "{T}"}}\nnope\n'.encode()
        + f'{{"key": "caf\xe9", "at": "{T}"}}\n{{"at": "2024-01-01T12:00:00.123456789Z", "x": 1}}'.encode(
            "latin-1"
        ),
        b"",
    ),
}


def write_files(folder: Path, kind: str) -> None:
    """Writes the files of a kind, and others that are no data."""
    folder.mkdir()
    suffix = "csv" if kind == "csv" else "jsonl"
    for number, data in enumerate(FILES[kind]):
        (folder / f"{number}.{suffix}").write_bytes(data)
    for name in ("_hidden", ".hidden", "0.tmp", "1.jsonl.crc", "2.csv._COPYING_"):
        (folder / name).write_bytes(b"nothing that is read")


def read_locally(folder: Path, kind: str) -> tuple[list[object], list[str]]:
    """Returns the elements and the texts of bad records that the local engine reads."""
    files = Files(folder, "csv" if kind == "csv" else "jsonl", per_batch=10)
    inputs = {ITEMS: local.StreamInput(files, POLICY)}
    batches = list(local.batches(ALL, inputs, dead_letters=True, drain=True))
    elements: list[object] = [element.element for batch in batches for element in batch.elements]
    return elements, [json.loads(bad.record)["text"] for batch in batches for bad in batch.bad_records]


@pytest.mark.parametrize("kind", FILES)
def test_files_of_text_are_read_as_on_the_local_engine(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """A batch and a stream have the same elements and bad records, and pass over what is no data."""
    folder = tmp_path / "in %20\u00e9"  # no URL
    write_files(folder, kind)
    elements, texts = read_locally(folder, kind)
    assert (len(elements), len(texts)) == {"csv": (5, 3), "json": (2, 4)}[kind]
    frame = read_files(spark, ITEMS, str(folder), format=kind, dead_letters=True)
    run = batch.run(ALL, {ITEMS: frame}, dead_letters=True)
    assert sorted(repr(element.element) for element in run.elements) == sorted(map(repr, elements))
    assert sorted(json.loads(bad.record)["text"] for bad in run.bad_records) == sorted(texts)
    assert all(str(folder) in bad.error for bad in run.bad_records)
    stream = stream_files(spark, ITEMS, str(folder), format=kind, dead_letters=True, per_batch=2)
    rows = streaming.compile(ALL, {ITEMS: StreamInput(stream, POLICY)}, dead_letters=True).with_drops()
    run_to_end(rows, tmp_path / "out", tmp_path / "checkpoint")
    stored = spark.read.parquet(str(tmp_path / "out"))
    streamed = collect_elements(ALL, stored)
    assert sorted(repr(element.element) for element in streamed) == sorted(map(repr, elements))
    assert collect_bad_records(stored) == run.bad_records


@pytest.mark.parametrize("kind", FILES)
def test_a_text_that_is_no_record_fails_the_query(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """The error names the file, whether the frame or the query finds it."""
    write_files(tmp_path / "in", kind)
    for dead_letters in (False, True):
        frame = read_files(spark, ITEMS, str(tmp_path / "in"), format=kind, dead_letters=dead_letters)
        with pytest.raises(ElementError, match=r"source 'items': .*/in/1\."):
            batch.run(ALL, {ITEMS: frame})


def test_folders_of_partitions_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    """A folder NAME=VALUE is an error that names it, and never passed over."""
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "0.jsonl").write_text(f'{{"key": "a", "at": "{T}"}}\n')
    with pytest.raises(ElementError, match="day=1/0.jsonl is in a folder of a partition"):
        batch.run(ALL, {ITEMS: read_files(spark, ITEMS, str(tmp_path), format="json")})
    inside = read_files(spark, ITEMS, str(tmp_path / "day=1"), format="json")
    assert [element.element for element in batch.run(ALL, {ITEMS: inside}).elements] == [("a", None)]


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_folders_of_partitions_with_several_names_are_rejected(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """Folders NAME=VALUE of two names beside each other are an error of the data, in one line, not one of the JVM."""
    for name in ("day=1", "hour=1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0").write_bytes(b"")
    with pytest.raises(ElementError, match=r"must have the same names at each level.*day.*hour"):
        batch.run(ALL, {ITEMS: read_files(spark, ITEMS, str(tmp_path), format=kind)})


@pytest.mark.parametrize("name", ["_a.jsonl", ".a.jsonl", "a.jsonl.tmp", "_*.jsonl", "a.jsonl._COPYING_"])
def test_a_file_that_is_passed_over_is_an_error(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """A file whose name says that it is hidden or temporary is not read in a folder, and never without a word."""
    (tmp_path / "_in").mkdir()
    for file in ("_a.jsonl", ".a.jsonl", "a.jsonl.tmp", "a.jsonl._COPYING_", "a.jsonl"):
        (tmp_path / "_in" / file).write_text(f'{{"key": "a", "at": "{T}"}}\n')
    with pytest.raises(
        ArgumentError, match="path must be the path of files with records; got .*another name"
    ):
        read_files(spark, ITEMS, str(tmp_path / "_in" / name), format="json")
    folder = read_files(spark, ITEMS, str(tmp_path / "_in"), format="json")
    assert [element.element for element in batch.run(ALL, {ITEMS: folder}).elements] == [("a", None)]


def test_an_unknown_format_is_an_error_of_the_argument(spark: SparkSession, tmp_path: Path) -> None:
    """It names the format, as that of a stream does."""
    with pytest.raises(ArgumentError, match="format must be a format that this session reads.*got 'nope'"):
        read_files(spark, ITEMS, str(tmp_path), format="nope")
    with pytest.raises(ArgumentError, match="format must be 'parquet', 'csv' or 'json'; got 'nope'"):
        stream_files(spark, ITEMS, str(tmp_path), format="nope")


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(spark: SparkSession, tmp_path: Path) -> None:
    """It is one of Spark's readers, or has bytes of gzip instead of lines; dead letters or not."""
    line = f'{{"key": "a", "at": "{T}"}}\n'.encode()
    contents = {
        "0.jsonl.gz": (line, "not a gzip file"),
        "1.jsonl": (gzip.compress(line), "compressed by gzip"),
    }
    for dead_letters, (name, (data, why)) in product((False, True), contents.items()):
        folder = tmp_path / f"{name} {dead_letters}"
        folder.mkdir()
        (folder / name).write_bytes(data)
        frame = read_files(spark, ITEMS, str(folder), format="json", dead_letters=dead_letters)
        with pytest.raises(ElementError, match=f"{name}.*{why}"):
            batch.run(ALL, {ITEMS: frame}, dead_letters=dead_letters)


def test_a_parquet_file_of_a_stream_with_the_name_of_a_pattern_is_an_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark has the rows of the files beside it twice, if a micro-batch has several files; also if it has no rows."""
    folder = tmp_path / "in"
    folder.mkdir()

    def write(name: str, *keys: str) -> None:
        items = [Item(key, 1, datetime(2024, 1, 1, tzinfo=UTC)) for key in keys]
        pq.write_table(record_table(ITEMS, items), folder / f"{name}.parquet")

    run = SparkStreaming(spark, shards=1).run
    write("b", "b")
    stream = stream_files(spark, ITEMS, str(folder))
    write("a[1]", "a")
    with pytest.raises(
        ElementError, match=r"source 'items': .*in/a\[1\].parquet has the name of a pattern, so"
    ):
        run(ALL, {ITEMS: StreamInput(stream, POLICY)})
    for name in ("a[1]", "a]", "{}", "a*", "?", "a\\"):
        (folder / "a[1].parquet").unlink(missing_ok=True)
        write(name)
        with pytest.raises(ArgumentError, match="path must be a folder of files whose names are without"):
            stream_files(spark, ITEMS, str(folder))
        (folder / f"{name}.parquet").unlink()
    write("a[1]", "a")
    one = stream_files(spark, ITEMS, str(folder), per_batch=1)
    elements = run(ALL, {ITEMS: StreamInput(one, POLICY)}).elements
    assert sorted(str(element.element[0]) for element in elements) == ["a", "b"]


def test_a_path_with_characters_of_patterns_is_that_of_its_file(spark: SparkSession, tmp_path: Path) -> None:
    """A batch reads the file or folder that exists, and no other that its name matches; for a stream it is an error."""
    for name, key in (("a[1]", "own"), ("a1", "other")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "{b}?*.jsonl").write_text(f'{{"key": "{key}", "at": "{T}"}}\n')
    for path, keys in (("a[1]", ["own"]), ("a[1]/{b}?*.jsonl", ["own"]), ("a*", ["other", "own"])):
        run = batch.run(ALL, {ITEMS: read_files(spark, ITEMS, str(tmp_path / path), format="json")})
        assert sorted(repr(element.element[0]) for element in run.elements) == list(map(repr, keys))
    # Spark's stream has the rows of such a folder several times, if a micro-batch has several of its files.
    with pytest.raises(ArgumentError, match="path must be the path of a folder without"):
        stream_files(spark, ITEMS, str(tmp_path / "a[1]"), format="json")
    for name in ("b", "c"):
        (tmp_path / "a1" / f"{name}.jsonl").write_text(f'{{"key": "{name}", "at": "{T}"}}\n')
    with pytest.raises(ArgumentError, match="path must be a folder of files whose names are without"):
        stream_files(spark, ITEMS, str(tmp_path / "a1"), format="json")
    (tmp_path / "later").mkdir()
    several = stream_files(spark, ITEMS, str(tmp_path / "later"), format="json")
    (tmp_path / "later" / "{b}.jsonl").write_text(f'{{"key": "b", "at": "{T}"}}\n')
    with pytest.raises(ElementError, match=r"\{b\}.jsonl has the name of a pattern, so"), raise_causes():
        run_to_end(
            streaming.compile(ALL, {ITEMS: StreamInput(several, POLICY)}),
            tmp_path / "no",
            tmp_path / "no-2",
        )
    one = stream_files(spark, ITEMS, str(tmp_path / "a1"), format="json", per_batch=1)
    run_to_end(
        streaming.compile(ALL, {ITEMS: StreamInput(one, POLICY)}), tmp_path / "out", tmp_path / "checkpoint"
    )
    streamed = collect_elements(ALL, spark.read.parquet(str(tmp_path / "out")))
    assert sorted(str(element.element[0]) for element in streamed) == ["b", "c", "other"]
