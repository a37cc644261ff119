"""Validation of a checkpoint's logs: a truncated file is reported with its name, and complete files are valid.

These tests catch a validation that accepts a damaged log, or rejects one that Spark reads.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flowalg_laws.conformance.jobs.sales import a_sum_per_key
from flowalg_laws.kit.shop import BATCHES, POLICY, SALES, Sale
from flowalg_spark import check_checkpoint, open_state, plan, reshard, streaming
from flowalg_spark.sinks import Delta
from flowalg_spark.state.checkpoints import problem_of_id, problem_of_log, problem_of_source
from flowalg_spark.streaming.interpreter import run_to_end
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row, SparkSession

from flowalg.errors import ArgumentError, CheckpointError
from tests.support.full_disk import filled, small_disk
from tests.support.spark_replay import stream_of, write_batches

OFFSETS = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":17,"conf":{"a.b":"c"}}\n{"logOffset":0}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'
FILES = 'v1\n{"path":"file:///in/0.parquet","timestamp":10,"batchId":0}'
ID = '{"id":"a3757d7b-8b68-4c59-b77a-5229004cc3eb"}'


@given(st.data())
def test_a_truncated_log_is_reported(data: st.DataObject) -> None:
    """Every proper prefix of a log has a problem; for the file of a source, every prefix that ends within a line."""
    cut = data.draw(st.integers(0, len(OFFSETS) - 1))
    assert problem_of_log(OFFSETS[:cut], 2) is not None
    assert problem_of_log(COMMIT[: cut % len(COMMIT)], 1) is not None
    assert problem_of_id(ID[: cut % len(ID)]) is not None
    assert problem_of_source(FILES[: data.draw(st.integers(len("v1\n{"), len(FILES) - 1))]) is not None
    assert problem_of_source("") is not None


@pytest.mark.parametrize("offset", ["-", "17", '{"0":{"1":5}}', '{"logOffset":0}\n-', '"a"', "null"])
def test_logs_of_spark_are_valid(offset: str) -> None:
    """Offsets are valid for sources without data, with a count or with partitions, and with a final line end."""
    for end in ("", "\n"):
        assert problem_of_log(f'v1\n{{"batchTimestampMs":17}}\n{offset}{end}', 2) is None
        assert problem_of_log(COMMIT + end, 1) is None
        assert problem_of_id(ID + end) is None
        assert problem_of_source(FILES + end) is None


@pytest.mark.parametrize("text", ['\0v1\n{"topic":{"0":1}}', "v1\nanother format", "no version", "v1\n17"])
def test_a_source_file_in_an_unknown_format_is_valid(text: str) -> None:
    """A file in a format that only its source knows has no problem."""
    assert problem_of_source(text) is None


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a query of one stage after two micro-batches."""
    root = tmp_path_factory.mktemp("query")
    write_batches(root / "in", Sale, BATCHES[:2], ends=False)
    panes = streaming.compile(
        a_sum_per_key.pipeline, {SALES: stream_of(spark, root / "in", POLICY, ends=False)}
    )
    folder = root / "of [some] query"
    run_to_end(panes, root / "out", folder)
    return folder


def test_a_checkpoint_is_the_path_of_a_folder(spark: SparkSession, checkpoint: Path, tmp_path: Path) -> None:
    """A path that is not text, begins with ~ or is a file is an error that names the argument; no folder is made.

    A path with a slash at its end is that of the folder.
    """
    pipeline = a_sum_per_key.pipeline
    calls: list[tuple[str, Callable[[Any], object]]] = [
        ("checkpoint", lambda path: check_checkpoint(spark, path)),
        ("checkpoint", lambda path: open_state(spark, path)),
        ("checkpoint", lambda path: plan(spark, pipeline, path)),
        ("checkpoint", lambda path: reshard(spark, path, tmp_path / "new")),
        ("into", lambda path: reshard(spark, checkpoint, path)),
        ("drain_signal_path", lambda path: streaming.drain(spark, path)),
        ("Delta.path", Delta),
    ]
    for argument, call in calls:
        for path in (b"folder", 5, "", "a\0b", "~/folder", Path("~")):
            with pytest.raises(ArgumentError, match=f"^{argument} must be a path"):
                call(path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("{}")
    with pytest.raises(ArgumentError, match=r"^checkpoint must be the path of a folder; .*: it is a file"):
        check_checkpoint(spark, tmp_path / "file")
    with pytest.raises(CheckpointError, match="give the checkpoint directory of a query"):
        plan(spark, pipeline, tmp_path / "file")
    for read in (open_state, lambda session, path: plan(session, pipeline, path)):
        with pytest.raises(
            CheckpointError, match=r"query/: Spark does not find the state in a path with spaces"
        ):
            read(spark, f"{checkpoint}/")
    check_checkpoint(spark, f"{checkpoint}/")
    copy = tmp_path / "copy"
    shutil.copytree(checkpoint, copy)
    assert plan(spark, pipeline, f"{copy}/")
    assert open_state(spark, f"{copy}/").columns


def test_a_checkpoint_names_the_file_that_is_damaged(
    spark: SparkSession, checkpoint: Path, tmp_path: Path
) -> None:
    """A missing or complete checkpoint is valid; a damaged one raises an error with the file."""
    check_checkpoint(spark, tmp_path / "missing")
    check_checkpoint(spark, checkpoint)
    folder = Path(shutil.copytree(checkpoint, tmp_path / checkpoint.name))
    for path in ("metadata", "offsets/1", "commits/0", "sources/0/1"):
        damaged = Path(shutil.copytree(folder, tmp_path / "damaged"))
        file = damaged / path
        file.with_name(f".{file.name}.crc").unlink()
        file.write_bytes(file.read_bytes()[:10])
        with pytest.raises(CheckpointError, match=rf"checkpoint is damaged: .*/damaged/{path}: .*restore"):
            check_checkpoint(spark, damaged)
        shutil.rmtree(damaged)
    shutil.rmtree(folder / "offsets")
    with pytest.raises(
        CheckpointError, match="commits/1: the offsets of this micro-batch, offsets/1, are missing"
    ):
        check_checkpoint(spark, folder)


def test_files_that_changed_after_they_were_read_are_a_warning(
    spark: SparkSession, checkpoint: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A check warns of the files that a source has read and that are others now; files that are gone are none."""
    check_checkpoint(spark, checkpoint)
    assert caplog.records == []
    changed, gone = sorted((checkpoint.parent / "in").glob("*.parquet"))
    os.utime(changed, (7, 7))
    gone.unlink()
    check_checkpoint(spark, checkpoint)
    (warning,) = [record.getMessage() for record in caplog.records]
    assert re.search(
        rf"the file file:{changed} has changed after it was read; its new content is not", warning
    )


@pytest.mark.thorough
def test_a_checkpoint_on_a_full_disk_loses_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's error names the reason; started again with room, the query gives what an undisturbed one gives."""

    files = tmp_path / "in"

    def run(checkpoint: Path, out: Path) -> list[Row]:
        stream = stream_of(spark, files, POLICY, ends=False)
        run_to_end(streaming.compile(a_sum_per_key.pipeline, {SALES: stream}), out, checkpoint)
        return sorted(spark.read.parquet(str(out)).select("key", "value", "window").collect())

    with small_disk(tmp_path / "disk", "16m") as disk:
        write_batches(files, Sale, BATCHES[:1], ends=False)
        run(disk / "checkpoint", tmp_path / "out")
        write_batches(files, Sale, BATCHES[1:], ends=False, first=1)
        with filled(disk), pytest.raises(StreamingQueryException, match="No space left on device"):
            run(disk / "checkpoint", tmp_path / "out")
        rows = run(disk / "checkpoint", tmp_path / "out")
    assert rows == run(tmp_path / "undisturbed", tmp_path / "whole")


def test_state_of_an_unreadable_checkpoint_raise_an_error(
    spark: SparkSession, checkpoint: Path, tmp_path: Path
) -> None:
    """A missing checkpoint, a missing stage and missing files raise an error with the cause."""
    whole = Path(shutil.copytree(checkpoint, tmp_path / "whole"))
    damaged = Path(shutil.copytree(checkpoint, tmp_path / "damaged"))
    for file in [*damaged.rglob("*.changelog"), *damaged.rglob("*.zip")]:
        file.unlink()
    for folder, stage, why in (
        (tmp_path / "missing", 0, "No committed batch found"),
        (whole, 1, "it has none"),
        (damaged, 0, "changelog does not exist"),
    ):
        where = re.escape(str(folder))
        with pytest.raises(
            CheckpointError, match=rf"state of stage {stage} .* checkpoint {where}: .*{why}.*; give"
        ):
            open_state(spark, folder, stage=stage)
