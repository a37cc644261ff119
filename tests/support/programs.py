"""Programs that tests run in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psutil

SECONDS: Final = 240
"""How long a program of a test may run: one that takes longer hangs."""

HOURS: Final = 4 * 3600
"""How long one of a thorough test may run, in seconds."""


def run_program(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = False,
    seconds: float = SECONDS,
) -> subprocess.CompletedProcess[str]:
    """Runs a program and returns what it printed; with ``check`` it must end well.

    The program and the processes of its group are killed at the end of its time: the ``AssertionError`` names them and
    has what was printed. The output goes to files, since a process that the program leaves behind keeps a pipe open.
    """
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
            running: list[str] = []
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                below = psutil.Process(process.pid).children(recursive=True)
                running = [_described(member) for member in (psutil.Process(process.pid), *below)]
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        printed, failed = out.read_text(errors="replace"), err.read_text(errors="replace")
    texts = f"{printed[-3000:]}\n{failed[-6000:]}"
    assert not running, f"{command} has not ended after {seconds} s; running: {running}\n{texts}"
    assert not check or process.returncode == 0, f"{command} has ended with {process.returncode}\n{texts}"
    return subprocess.CompletedProcess(command, process.returncode, printed, failed)


def run_code(code: str) -> str:
    """Returns what a program of Python prints, which must end well."""
    return run_program([sys.executable, "-c", code], check=True).stdout


def _described(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return f"{process.pid} {process.status()} {' '.join(process.cmdline())[:300]}"
    return f"{process.pid} ended"
