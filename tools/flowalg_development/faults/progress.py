"""The progress of a query that runs in a process of its own, by its checkpoint."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path


def count_commits(folder: Path) -> int:
    """Returns the number of micro-batches in the log of commits of the query of a folder."""
    return sum(1 for _ in (folder / "checkpoint" / "commits").glob("[0-9]*"))


def wait_for_commits(query: subprocess.Popen[bytes], folder: Path, more: int) -> None:
    """Waits until a query has committed some more micro-batches, or has ended."""
    wanted = count_commits(folder) + more
    while query.poll() is None and count_commits(folder) < wanted:
        time.sleep(0.05)


__all__ = ["count_commits", "wait_for_commits"]
