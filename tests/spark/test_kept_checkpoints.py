"""The checkpoints of earlier versions on Spark: this version continues each.

These tests catch a change of a format, or of what it has, without a way from the earlier one.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from flowalg_spark.state.state_format import FORMAT
from pyspark.sql import SparkSession

from tests.support.kept_checkpoints import BATCHES, KEPT, STOP, copy_of_spark, emitted_on_spark, run_on_spark

FOLDERS = sorted(path for path in KEPT.glob("spark-*") if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_kept_checkpoint_continues(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    """A query goes on from a checkpoint of an earlier version as that version did."""
    copy = copy_of_spark(folder, tmp_path / "checkpoint")
    emitted = run_on_spark(spark, tmp_path, copy, range(STOP, len(BATCHES)))
    assert emitted == emitted_on_spark(folder).read_text(encoding="utf-8").splitlines()


def test_the_format_of_this_version_is_kept() -> None:
    """``python -m tests.support.kept_checkpoints`` adds it."""
    assert KEPT / f"spark-{FORMAT}" in FOLDERS
