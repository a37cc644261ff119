"""Programs that tests run: one that hangs, or leaves a process behind, must not keep the tests waiting."""

from __future__ import annotations

import sys

import pytest

from tests.support.programs import run_code, run_program

LEAVES = """
import subprocess, sys
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print(left.pid)
"""
HANGS = f"""{LEAVES}
print("waiting", flush=True)
left.wait()
"""


def test_a_process_that_a_program_leaves_behind_is_not_waited_for() -> None:
    """The program ends with its output, although a process that it has started still has the output open."""
    assert run_code(LEAVES).strip().isdigit()


def test_a_program_that_hangs_is_an_error_with_its_processes_and_output() -> None:
    """After its time the program is killed; the error has what was running, and what was printed."""
    with pytest.raises(
        AssertionError, match=r"has not ended after 2 s; running: .*time\.sleep\(1000\)(.|\n)*waiting"
    ):
        run_program([sys.executable, "-c", HANGS], seconds=2)


def test_a_program_that_fails_is_an_error_with_its_output() -> None:
    """With ``check`` the error has the exit code and the output."""
    with pytest.raises(AssertionError, match=r"has ended with 3(.|\n)*some output"):
        run_program([sys.executable, "-c", "print('some output'); exit(3)"], check=True)
