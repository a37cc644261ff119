"""Runs thousands of generated cases in one process per core, and prints those that differ."""

from __future__ import annotations

import argparse
import os
import random
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from typing import Final, Protocol, TypeAlias, TypeVar

from attrs import frozen
from hypothesis.strategies import SearchStrategy

# The tables are tiny, so more threads than processes only cost time. Polars reads the variable at its import.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

T = TypeVar("T")

DEFAULT: Final = 10_000
CHUNK: Final = 250
SHOWN: Final = 3


class Case(Protocol):
    """A generated case; its text describes it."""

    def difference(self) -> str:
        """Returns how the result differs from what is expected; empty if it does not."""
        ...


Cases: TypeAlias = Callable[[], SearchStrategy[Case]]


@frozen
class Result:
    """The number of cases that ran, and the texts of those that differ."""

    compared: int
    different: tuple[str, ...]


def generate(values: SearchStrategy[T], count: int, seed: int) -> list[T]:
    """Returns generated values."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    found: list[T] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(values)
    def collect(value: T) -> None:
        found.append(value)

    collect()
    return found


def compare_cases(cases: Cases, count: int, seed: int) -> Result:
    """Generates cases, and runs them."""
    generated = generate(cases(), count, seed)
    different: list[str] = []
    for case in generated:
        try:
            difference = case.difference()
        except Exception:
            difference = traceback.format_exc()
        if difference:
            different.append(f"{case}\n{difference}")
    return Result(len(generated), tuple(different))


def run_cases(
    name: str,
    program: str,
    description: str | None,
    cases: Cases,
    arguments: Sequence[str],
    *,
    verb: str = "equal",
) -> int:
    """Runs all cases, and prints the differences and a summary; returns 1 if any differs.

    The summary says how many of the cases ``verb``.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("cases", nargs="?", type=int, default=DEFAULT)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    sizes = [min(CHUNK, options.cases - start) for start in range(0, options.cases, CHUNK)]
    print(f"seed {options.seed}")
    compared = 0
    different: list[str] = []
    # A fork would copy locks that threads of Polars hold.
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        seeds = [options.seed + number for number in range(len(sizes))]
        for result in pool.map(compare_cases, repeat(cases), sizes, seeds):
            compared += result.compared
            different += result.different
            print(f"{compared} compared, {len(different)} different", flush=True)
    for text in sorted(different, key=len)[:SHOWN]:
        print(f"\n{text}")
    print(f"{name}: {compared - len(different)} of {compared} {verb}")
    return 1 if different else 0
