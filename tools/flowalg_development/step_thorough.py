"""Compares the shard step with the reference interpreter on thousands of generated (pipeline, timeline) pairs.

``python -m flowalg_development.step_thorough [N]`` runs N pairs, 10,000 by default, in one process per core. The
last line is ``step: K of N equal``. Each run generates new pairs unless ``--seed`` is given. If
any differ, it prints the shortest of these and exits with 1.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from attrs import frozen

# The tables are tiny, so more threads than processes only cost time. Polars reads the variable at its import.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

DEFAULT: Final = 10_000
CHUNK: Final = 250
SHOWN: Final = 3


@frozen
class Result:
    """The number of pairs that ran, and the texts of those that differ."""

    compared: int
    different: tuple[str, ...]


def compare_pairs(count: int, seed: int) -> Result:
    """Generates pairs and runs them in both interpreters."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    from tests.support.step_pairs import Pair, correction_pairs, pairs

    compared = 0
    different: list[str] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(pairs() | correction_pairs())
    def compare(pair: Pair) -> None:
        nonlocal compared
        compared += 1
        try:
            difference = pair.difference()
        except Exception:
            difference = traceback.format_exc()
        if difference:
            different.append(f"{pair}\n{difference}")

    compare()
    return Result(compared, tuple(different))


def main(arguments: list[str]) -> int:
    """Runs all pairs, and prints the differences and a summary."""
    parser = argparse.ArgumentParser(prog="python -m flowalg_development.step_thorough", description=__doc__)
    parser.add_argument("pairs", nargs="?", type=int, default=DEFAULT)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    sizes = [min(CHUNK, options.pairs - start) for start in range(0, options.pairs, CHUNK)]
    print(f"seed {options.seed}")
    compared = 0
    different: list[str] = []
    with ProcessPoolExecutor(options.processes) as pool:
        seeds = [options.seed + number for number in range(len(sizes))]
        for result in pool.map(compare_pairs, sizes, seeds):
            compared += result.compared
            different += result.different
            print(f"{compared} compared, {len(different)} different", flush=True)
    for text in sorted(different, key=len)[:SHOWN]:
        print(f"\n{text}")
    print(f"step: {compared - len(different)} of {compared} equal")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
