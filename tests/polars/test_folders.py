"""Folders of files of a stream: which files have records, empty ones, and those that change.

The tests catch a file that is passed over without a word, and one that is read though it is not complete.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from attrs import frozen
from flowalg_polars import batch, streaming
from flowalg_polars.streaming import Files, StreamInput
from flowalg_polars.streaming.storage import file_log

from flowalg import BoundedOutOfOrderness, Source
from flowalg.errors import ElementError, SchemaMismatchError

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
POLICY = BoundedOutOfOrderness(timedelta(0))


@frozen
class Item:
    """A record of a file."""

    key: str
    at: datetime


ITEMS = Source("items", Item, event_time=lambda item: item.at)
KEYS = ITEMS.map(lambda item: item.key)


def put(folder: Path, name: str, key: str) -> None:
    """Writes a file of JSON lines with one record."""
    (folder / name).write_text(f'{{"key": "{key}", "at": "{NOON.isoformat()}"}}\n')


def keys_of(folder: Path, format: Literal["csv", "jsonl", "parquet"] = "jsonl") -> list[str]:
    """Returns the keys of the records that a stream reads now."""
    inputs = {ITEMS: StreamInput(Files(folder, format), POLICY)}
    return [element.element for batch in streaming.batches(KEYS, inputs) for element in batch.elements]


@pytest.mark.parametrize("name", ["_a", ".a", "a.tmp", "a.jsonl.crc", "a.jsonl._COPYING_", "A.TMP"])
def test_hidden_and_temporary_files_are_not_read(tmp_path: Path, name: str) -> None:
    """Names that Spark and others give to files that are not complete, or no data, are passed over."""
    put(tmp_path, name, "hidden")
    put(tmp_path, "b.jsonl", "b")
    assert keys_of(tmp_path) == ["b"]


def test_a_folder_of_a_partition_is_an_error(tmp_path: Path) -> None:
    """A folder NAME=VALUE is an error that names it; other folders are no files."""
    put(tmp_path, "a", "a")
    (tmp_path / "archive").mkdir()
    assert keys_of(tmp_path) == ["a"]
    (tmp_path / "day=1").mkdir()
    with pytest.raises(ElementError, match="source 'items': .* got the folder day=1 in it"):
        keys_of(tmp_path)


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_an_empty_file_has_no_records(tmp_path: Path, format: Literal["csv", "jsonl", "parquet"]) -> None:
    """Of each format, alone or beside a file with records."""
    (tmp_path / "0").write_bytes(b"")
    assert keys_of(tmp_path, format) == []
    frame = pl.DataFrame({"key": ["a"], "at": [NOON]})
    match format:
        case "csv":
            (tmp_path / "1").write_text(f"key,at\na,{NOON.isoformat()}\n")
        case "jsonl":
            put(tmp_path, "1", "a")
        case "parquet":
            frame.write_parquet(tmp_path / "1")
    assert keys_of(tmp_path, format) == ["a"]


def test_a_file_that_changed_after_it_was_read_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """In the log, with its path, and in the metrics of the next micro-batch; its new content is not read."""
    put(tmp_path, "0", "a")
    put(tmp_path, "1", "b")
    os.utime(tmp_path / "0", (1, 1))
    inputs = {ITEMS: StreamInput(Files(tmp_path, "jsonl"), POLICY)}
    batches = streaming.batches(KEYS, inputs, metrics=True)
    keys, changed = [], []
    with caplog.at_level(logging.WARNING, "flowalg.files"):
        for number, batch in enumerate(batches):
            keys += [element.element for element in batch.elements]
            changed += [source.changed_files for source in batch.sources]
            if number == 1:
                put(tmp_path, "0", "changed")
                put(tmp_path, "2", "c")
            elif number == 2:
                put(tmp_path, "3", "d")
    assert (keys, changed) == (["a", "b", "c", "d"], [0, 0, 1, 0])
    (warning,) = [record.getMessage() for record in caplog.records]
    assert f"source 'items': the file {tmp_path / '0'} has changed after it was read" in warning


@pytest.mark.parametrize("in_manifest", [256, 0])
def test_a_changed_file_is_reported_once_over_restarts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, in_manifest: int
) -> None:
    """A query that starts again reports files that changed meanwhile, in the next micro-batch, and not after it."""
    monkeypatch.setattr(file_log, "_LATEST", in_manifest)
    folder = tmp_path / "in"
    folder.mkdir()
    put(folder, "0", "a")
    put(folder, "1", "b")
    keys, changed, warned = [], [], []
    for run in range(4):
        inputs = {ITEMS: StreamInput(Files(folder, "jsonl", per_batch=2), POLICY)}
        caplog.clear()
        with caplog.at_level(logging.WARNING, "flowalg.files"):
            for batch in streaming.batches(KEYS, inputs, metrics=True, checkpoint=tmp_path / "checkpoint"):
                keys += [element.element for element in batch.elements]
                changed += [source.changed_files for source in batch.sources]
        warned.append(len(caplog.records))
        if run == 0:
            put(folder, "0", "changed")
            os.utime(folder / "1", (1, 1))
        put(folder, str(run + 2), "c")
    assert (keys, changed, warned) == (["a", "b", "c", "c", "c"], [0, 2, 0, 0], [0, 1, 0, 0])


@frozen
class Daily:
    """A record with the column of a folder."""

    key: str
    day: int
    at: datetime


def test_a_batch_reads_folders_of_partitions_with_their_column(tmp_path: Path) -> None:
    """Of Parquet, in any depth, without hidden, temporary and empty files."""
    source = Source("daily", Daily, event_time=lambda item: item.at)
    for day, key in enumerate("ab"):
        (tmp_path / f"day={day}").mkdir()
        pl.DataFrame({"key": [key], "at": [NOON]}).write_parquet(tmp_path / f"day={day}" / "0.parquet")
    for name in ("_0.parquet", "1.parquet"):
        (tmp_path / "day=0" / name).write_bytes(b"" if name == "1.parquet" else b"nothing")
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "0.parquet").write_bytes(b"nothing")
    run = batch.run(source.map(lambda item: (item.key, item.day)), {source: str(tmp_path)})
    assert [element.element for element in run.elements] == [("a", 0), ("b", 1)]


def test_a_batch_of_empty_files_has_no_records(tmp_path: Path) -> None:
    """Parquet files without a byte are an empty batch: in a folder, as a pattern, and alone."""
    (tmp_path / "0.parquet").write_bytes(b"")
    for path in (tmp_path, tmp_path / "*.parquet", tmp_path / "0.parquet"):
        assert batch.run(KEYS, {ITEMS: path}).elements == ()


def test_a_batch_of_a_folder_without_files_is_an_error(tmp_path: Path) -> None:
    """A folder that has none, or only hidden ones, is an error that names it; hidden files are never read."""
    pl.DataFrame({"key": ["a"], "at": [NOON]}).write_parquet(tmp_path / "_0.parquet")
    with pytest.raises(ElementError, match=rf"source 'items': the folder {tmp_path} must have files"):
        batch.run(KEYS, {ITEMS: tmp_path})


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_columns_that_an_input_names_are_read_besides_the_fields(
    tmp_path: Path, format: Literal["csv", "jsonl"]
) -> None:
    """A column has the type of its argument, and those in an expression the type of their texts; others are skipped."""
    if format == "csv":
        text = "key,at,seen,device,ms,more\n" + "".join(
            f"{key},{NOON.isoformat()},2024-01-01T12:0{key}:00Z,{key},{1_704_110_400_000 + key},x\n"
            for key in (1, 2)
        )
    else:
        text = "".join(
            f'{{"key":"{key}","at":"{NOON.isoformat()}","seen":"2024-01-01T12:0{key}:00Z","device":{key},'
            f'"ms":{1_704_110_400_000 + key},"more":[{{}}]}}\n'
            for key in (1, 2)
        )
    (tmp_path / "0").write_text(text)
    times = {"seen": NOON + timedelta(minutes=2), "ms": NOON + timedelta(milliseconds=2)}
    for column, expected in times.items():
        time = column if column == "seen" else pl.from_epoch(column, "ms").dt.replace_time_zone("UTC")
        stream = StreamInput(Files(tmp_path, format), POLICY, processing_time=time, partition="device")
        (batch,) = streaming.batches(KEYS, {ITEMS: stream}, metrics=True)
        assert [element.element for element in batch.elements] == ["1", "2"]
        assert batch.processing_time.datetime == expected
        assert [sorted(source.reached) for source in batch.sources] == [["1", "2"]]
    lacking = StreamInput(Files(tmp_path, format), POLICY, processing_time="sent")
    with pytest.raises(
        SchemaMismatchError, match="processing_time is 'sent', which is no column of its rows"
    ):
        list(streaming.batches(KEYS, {ITEMS: lacking}))
