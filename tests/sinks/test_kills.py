"""Exactly-once writing under kills: after the process is killed, tables have the rows of an undisturbed query.

These tests detect rows that are written twice or never, which only killing the process shows. ``make faults`` repeats
it many times.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.query import make_input
from tests.faults.sinks import AT_RANDOM, BEFORE_SPARK, kill_queries


@pytest.mark.thorough
@pytest.mark.spark
def test_kills_change_no_table(tmp_path: Path) -> None:
    """A kill at a random moment, and one between the table's and Spark's commit of a batch, change no table."""
    files = tmp_path / "in"
    make_input(files)
    for file in sorted(files.glob("*.parquet"))[4:-1]:
        file.unlink()
    reports = list(kill_queries(tmp_path, files, 1, 1, random.Random(20_150_831)))
    assert all(report.survived for report in reports)
    assert sum(report.count for report in reports if report.fault.startswith(AT_RANDOM)) == 1
    assert sum(report.count for report in reports if report.fault.startswith(BEFORE_SPARK)) == 1
