"""Compares all engines with the reference on generated pipelines, for as long as it is given: ``make agree``.

``python -m tests.differential.agree [--minutes M] [--seed N]`` generates pipelines and the input of their sources. A
process for each core runs some of them on the local engine, as batches and as streams that stop and start again;
another runs others on Spark, as batches and as streaming queries of one to four shards. Each engine must give the
panes, the drops and the final result of the reference, or reject what it declares missing. A case that differs is
shrunk, printed, and kept in ``tests/corpus``; the cases there are compared first, and by the tests. The last line is
``agree: N pipelines on the local engine, M on Spark; all equal``. It exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

# The tables are tiny, so more threads than processes only cost time. Polars reads the variable at its import.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

from tests.differential.agree.case import CORPUS
from tests.differential.agree.comparing import Comparison
from tests.differential.agree.engines import ENGINES, LOCAL, compare

MINUTES: Final = 10.0


def main(arguments: list[str]) -> int:
    """Compares all engines, keeps what differs, and prints a summary."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.agree", description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--only", choices=ENGINES, help="run only these engines")
    parser.add_argument(
        "--local",
        type=int,
        default=os.cpu_count() or 1,
        help="the processes of the local engine (%(default)s)",
    )
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}")
    names = [options.only] if options.only else list(ENGINES)
    processes = [name for name in names for _ in range(options.local if name == LOCAL else 1)]
    results = {name: Comparison() for name in names}
    # Spark's JVM must not be shared with a copy of this process.
    with ProcessPoolExecutor(len(processes), get_context("spawn")) as pool:
        running = [
            (name, pool.submit(compare, name, options.minutes, options.seed + 2**32 * number, CORPUS))
            for number, name in enumerate(processes)
        ]
        for name, future in running:
            results[name] += future.result()
    differences = [difference for result in results.values() for difference in result.differences]
    for difference in differences:
        print(f"\n{difference}\nkept in {difference.case.save(CORPUS)}")
    counts = ", ".join(f"{result.cases:,} on {name}" for name, result in results.items())
    outcome = f"{len(differences)} different" if differences else "all equal"
    print(f"agree: {counts}; {outcome}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
