"""Compares the shard step with the reference interpreter on thousands of generated (pipeline, timeline) pairs.

``python -m flowalg_development.step_thorough [N]`` tries N pairs, 10,000 by default, in a process for each core. The
last line is ``step: K of N equal``. The pairs are new each time, unless ``--seed`` is given. If any differ, it prints
the shortest of these and exits with 1.
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

# Tables here are tiny: more threads than processes only get into each other's way. Polars reads it when it is imported.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

DEFAULT: Final = 10_000
CHUNK: Final = 250
SHOWN: Final = 3


@frozen
class Found:
    """The number of pairs that were tried, and the texts of those that differ."""

    tried: int
    different: tuple[str, ...]


def attempt(count: int, seed: int) -> Found:
    """Tries a number of pairs."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    from tests.support.step_pairs import Pair, corrected, pairs

    tried = 0
    different: list[str] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(pairs() | corrected())
    def each(pair: Pair) -> None:
        nonlocal tried
        tried += 1
        try:
            difference = pair.difference()
        except Exception:
            difference = traceback.format_exc()
        if difference:
            different.append(f"{pair}\n{difference}")

    each()
    return Found(tried, tuple(different))


def main(arguments: list[str]) -> int:
    """Tries all pairs, and prints the differences and a summary."""
    parser = argparse.ArgumentParser(prog="python -m flowalg_development.step_thorough", description=__doc__)
    parser.add_argument("pairs", nargs="?", type=int, default=DEFAULT)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    sizes = [min(CHUNK, given.pairs - start) for start in range(0, given.pairs, CHUNK)]
    print(f"seed {given.seed}")
    tried = 0
    different: list[str] = []
    with ProcessPoolExecutor(given.processes) as pool:
        seeds = [given.seed + number for number in range(len(sizes))]
        for found in pool.map(attempt, sizes, seeds):
            tried += found.tried
            different += found.different
            print(f"{tried} tried, {len(different)} different", flush=True)
    for text in sorted(different, key=len)[:SHOWN]:
        print(f"\n{text}")
    print(f"step: {tried - len(different)} of {tried} equal")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
