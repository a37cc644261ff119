"""Exactly once, by killing: what tables have after kills of the whole process is what an undisturbed query writes.

This family catches rows that are written twice or never, which only a process that dies can show. ``make faults`` does
the same many times over.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from flowalg_development.faults.__main__ import kill_query
from flowalg_development.faults.query import make_input
from flowalg_development.faults.sinks import AT_RANDOM, BEFORE_SPARK, kill_queries


@pytest.mark.thorough
@pytest.mark.spark
def test_kills_change_no_table(tmp_path: Path) -> None:
    """One at a random moment, and one right after a table has taken a batch and before Spark has noted it."""
    files = tmp_path / "in"
    make_input(files)
    for file in sorted(files.glob("*.parquet"))[4:-1]:
        file.unlink()
    results = list(kill_queries(tmp_path, files, 1, 1, random.Random(20_150_831), kill_query))
    assert all(result.survived for result in results)
    assert sum(result.count for result in results if result.fault == AT_RANDOM) == 1
    assert sum(result.count for result in results if result.fault == BEFORE_SPARK) == 1
