"""Crashes of the local engine at every call to the file system and the database.

These tests catch an order of writes, or a file that is written half, after which a restart loses or doubles a row, or
does not start.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.programs import HOURS, SECONDS, run_program

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.parametrize("stride", [pytest.param(1, marks=pytest.mark.thorough), 211])
def test_a_crash_at_any_call_changes_no_table(stride: int) -> None:
    """A call that fails, or at which the process dies or is interrupted, changes none of four tables after a restart.

    The calls are every open, write, flush, truncation, rename, mkdir, unlink and statement of SQL; the process dies
    before, half-way and after, or gets an I/O error, a full disk, or Ctrl-C before and after.
    """
    done = run_program(
        [sys.executable, "-m", "tests.faults", "crashes", "--stride", str(stride)],
        cwd=ROOT,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
        seconds=HOURS if stride == 1 else SECONDS,
    )
    *failed, last = done.stdout.splitlines() or [""]
    assert failed == []
    assert done.returncode == 0, done.stderr
    _, _, count = last.removeprefix("crash points: ").partition(" of ")
    assert int(count) * stride > 1_464
