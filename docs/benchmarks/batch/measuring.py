"""Time and memory of runs that take turns."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import psutil
from attrs import frozen

EVERY: Final = 0.05
"""Seconds between two looks at the memory."""


@frozen
class Run:
    """One run: its seconds, and the most memory that the process and all that it started held, in bytes."""

    seconds: float
    memory: int


def timed(work: Callable[[], object]) -> Run:
    """What a piece of work takes."""
    done = threading.Event()
    most = [_resident()]

    def watch() -> None:
        while not done.wait(EVERY):
            most[0] = max(most[0], _resident())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    began = time.perf_counter()
    try:
        work()
    finally:
        seconds = time.perf_counter() - began
        done.set()
        watcher.join()
    return Run(seconds, most[0])


def _resident() -> int:
    """The resident memory of this process and of everything below it: the JVM, and Python's workers."""
    total = 0
    here = psutil.Process()
    for one in (here, *here.children(recursive=True)):
        try:
            total += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def interleaved(rivals: Mapping[str, Callable[[], object]], rounds: int) -> Mapping[str, Sequence[Run]]:
    """Runs of all rivals in turn, each round in the other order, after one round that warms up and does not count."""
    found: dict[str, list[Run]] = {name: [] for name in rivals}
    for number in range(rounds + 1):
        names = list(rivals) if number % 2 else list(rivals)[::-1]
        for name in names:
            run = timed(rivals[name])
            if number:
                found[name].append(run)
    return found


def median_seconds(runs: Sequence[Run]) -> float:
    """The median of their times."""
    return statistics.median(one.seconds for one in runs)


__all__ = ["Run", "interleaved", "median_seconds", "timed"]
