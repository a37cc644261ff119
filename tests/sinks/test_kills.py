"""Exactly-once writing under kills: after the process is killed, tables have the rows of an undisturbed query.

These tests detect rows that are written twice or never, which only killing the process shows. ``make faults`` repeats
it many times.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.files import make_input
from tests.faults.harness import Tally
from tests.faults.spark import DIE, KILL_WRITING, kill_tables


@pytest.mark.thorough
@pytest.mark.spark
def test_kills_change_no_table(tmp_path: Path) -> None:
    """A kill at a random moment, and one between the table's and Spark's commit of a batch, change no table."""
    files = tmp_path / "in"
    make_input(files)
    for file in sorted(files.glob("*.parquet"))[4:-1]:
        file.unlink()
    tally = Tally()
    kill_tables(tally, tmp_path, files, 1, 1, random.Random(20_150_831))
    assert tally.survived == tally.faults
    assert tally.kinds == {KILL_WRITING.name: 1, DIE.name: 1}
