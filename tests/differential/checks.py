"""The checks that compare generated cases in several processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from math import inf
from multiprocessing import get_context
from typing import Final

from tests.differential.case import CORPUS, Case
from tests.differential.comparing import Comparison, Share
from tests.differential.settings import compare

CASES: Final = 10_000
CORES: Final = os.cpu_count() or 1
SHOWN: Final = 3


def _run(
    processes: Sequence[str], seed: int, cases: int = sys.maxsize, minutes: float = inf
) -> dict[str, Comparison]:
    """Compares cases in a process for each name of a setting, or in this one for a single name.

    Returns the sum by the name.
    """
    if len(processes) == 1:
        return {processes[0]: compare(processes[0], Share(0, 1, cases, minutes, seed))}
    results = dict.fromkeys(processes, Comparison())
    # The tables are tiny, so more threads than processes only cost time. Polars reads the variable at its import.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    # A fork would copy locks that threads of Polars hold, and Spark's connection.
    with ProcessPoolExecutor(len(processes), get_context("spawn")) as pool:
        running = [
            (name, pool.submit(compare, name, Share(number, len(processes), cases, minutes, seed)))
            for number, name in enumerate(processes)
        ]
        for name, future in running:
            results[name] += future.result()
    return results


def _count(name: str, verb: str, cases: int, processes: int, seed: int) -> int:
    """Runs a number of cases, and prints the shortest of those that differ, and how many ``verb``."""
    result = _run([name] * processes, seed, cases)[name]
    different = len(result.differences)
    for text in sorted(map(str, result.differences), key=len)[:SHOWN]:
        print(f"\n{text}")
    print(f"{name}: {result.cases - different} of {result.cases} {verb}")
    return 1 if different else 0


def chains(cases: int = CASES, processes: int = CORES, seed: int = 0) -> int:
    """Compares chains of two and three groupings with their recomputation in plain Python.

    They run on the reference and the step. The last line is ``chains: K of N converge``.
    """
    return _count("chains", "converge", cases, processes, seed)


def step(cases: int = CASES, processes: int = CORES, seed: int = 0) -> int:
    """Compares the shard step with the reference on generated (pipeline, timeline) pairs.

    The last line is ``step: K of N equal``.
    """
    return _count("step", "equal", cases, processes, seed)


def local(cases: int = CASES, processes: int = CORES, seed: int = 0) -> int:
    """Compares the local engine with the reference on generated pipelines.

    A case is a batch, or a query over a stream with one to three shards, which is stopped up to three times and starts
    again from its checkpoint on disk. The last line is ``local: K of N equal``.
    """
    return _count("local", "equal", cases, processes, seed)


def evolution(cases: int = CASES, processes: int = CORES, seed: int = 0) -> int:
    """Changes pipelines between two starts of a query: record classes, combiners, triggers and windows.

    Each change must continue with the panes of a fresh run, or be refused by the plan and the start alike. The last
    line is ``evolution: N changes, M continued, K refused, 0 silent``.
    """
    result = _run(["evolution"] * processes, seed, cases)["evolution"]
    for text in sorted(map(str, result.differences), key=len)[:SHOWN]:
        print(f"\n{text}")
    silent, tally = len(result.differences), result.tally
    continued, refused = tally["continued"], tally["refused"]
    print(f"evolution: {result.cases} changes, {continued} continued, {refused} refused, {silent} silent")
    return 1 if silent else 0


def agree(
    minutes: float = 10.0,
    engines: tuple[str, ...] = ("local", "spark"),
    processes: int = CORES,
    seed: int = 0,
) -> int:
    """Compares all engines with the reference on generated pipelines, for some minutes.

    Some processes run cases on the local engine, as batches and as streams that stop and start again; another runs
    others on Spark, as batches and as streaming queries of one to four shards. Each engine must give the panes, the
    drops and the final result of the reference, or reject what it declares missing. A case that differs is shrunk,
    printed, and kept in ``tests/corpus``; the cases there are compared first, and by the tests. The last line is
    ``agree: N on the local engine, M on Spark; all equal``.
    """
    names = ["the local engine"] * processes * ("local" in engines) + ["Spark"] * ("spark" in engines)
    results = _run(names, seed, minutes=minutes)
    differences = [difference for result in results.values() for difference in result.differences]
    for difference in differences:
        assert isinstance(difference.case, Case)
        print(f"\n{difference}\nkept in {difference.case.save(CORPUS)}")
    counts = ", ".join(f"{result.cases:,} on {name}" for name, result in results.items())
    print(f"agree: {counts}; {f'{len(differences)} different' if differences else 'all equal'}")
    return 1 if differences else 0
