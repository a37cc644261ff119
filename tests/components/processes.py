"""Processes that lead a group of their own, with all processes below them."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

import psutil


def children_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Returns all processes below a process; none if it has ended."""
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def command_of(process: psutil.Process) -> str:
    """Returns the command line of a process; nothing if it has ended."""
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kills a process that leads a group, and all processes below it."""
    children = children_of(process)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    process.wait()
    psutil.wait_procs(children, timeout=30)
