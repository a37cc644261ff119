"""Measures the time and memory of alternating runs."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import psutil
from attrs import frozen

EVERY: Final = 0.05
"""Seconds between two memory samples."""
WARM: Final = 15.0
"""Warm-up seconds of each rival: Spark's query compiler is slow until Java has compiled it."""
LONG_ENOUGH: Final = 25.0
"""The minimum of measured seconds of each rival."""
LONGER: Final = 60.0
"""The minimum for runs of less than a second, whose times vary by more than 1%."""


@frozen
class Run:
    """A run: its seconds, and the peak memory of the process and its children, in bytes."""

    seconds: float
    memory: int


def measure(work: Callable[[], object]) -> Run:
    """Measures a function call."""
    finished = threading.Event()
    most = [_resident()]

    def watch() -> None:
        while not finished.wait(EVERY):
            most[0] = max(most[0], _resident())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    start = time.perf_counter()
    try:
        work()
    finally:
        seconds = time.perf_counter() - start
        finished.set()
        watcher.join()
    return Run(seconds, most[0])


def _resident() -> int:
    """The resident memory of this process and its children: the JVM and the Python workers."""
    total = 0
    this_process = psutil.Process()
    for process in (this_process, *this_process.children(recursive=True)):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def run_in_turns(
    rivals: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    warm_up: float = WARM,
    least: float | None = None,
) -> Mapping[str, Sequence[Run]]:
    """Runs all rivals in turns, in alternating order, for at least this number of rounds.

    After a warm-up that does not count, rounds continue until each rival has run for ``least`` seconds in total;
    this defaults to ``LONG_ENOUGH``, or ``LONGER`` for short runs.
    """
    warm = _run_rounds(rivals, 1, warm_up)
    if least is not None:
        return _run_rounds(rivals, rounds, least)
    short = min(median_seconds(runs) for runs in warm.values()) < 1
    return _run_rounds(rivals, rounds, LONGER if short else LONG_ENOUGH)


def _run_rounds(
    rivals: Mapping[str, Callable[[], object]], rounds: int, seconds: float
) -> Mapping[str, Sequence[Run]]:
    measured: dict[str, list[Run]] = {name: [] for name in rivals}
    number = 0
    while number < rounds or any(sum(run.seconds for run in runs) < seconds for runs in measured.values()):
        for name in list(rivals) if number % 2 else list(rivals)[::-1]:
            measured[name].append(measure(rivals[name]))
        number += 1
    return measured


def median_seconds(runs: Sequence[Run]) -> float:
    """The median of the times."""
    return statistics.median(run.seconds for run in runs)
