"""Times micro-batches from topics, on a broker of their own: ``make bench-kafka``.

``python -m docs.benchmarks.kafka [--rows N ...] [--rounds N] [--only WORD] [--small]`` writes
``build/bench/kafka.json``, and keeps its results for other cases.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from docs.benchmarks.kafka import local, on_spark
from docs.benchmarks.small import Extent, add_small, extent
from tests.components.broker import broker
from tests.components.memory import scratch_folder
from tests.faults.kafka.on_spark import spark_session

ROWS: Final = (100_000, 500_000)
SMALL_ROWS: Final = (400,)
BATCHES: Final = 10
"""The micro-batches of a run of the local engine."""


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each case, and saves the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=int, nargs="*", default=ROWS, help="messages of a micro-batch (%(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=4, help="rounds that count (%(default)s)")
    parser.add_argument(
        "--only", default="", help="only the cases with this word in their name: local or Spark"
    )
    add_small(parser)
    options = parser.parse_args(arguments)
    with extent(small=options.small) as run:
        sizes = SMALL_ROWS if run.small else options.rows
        measure(run, options.only, sizes, run.at_most(options.rounds, 2))


def measure(run: Extent, only: str, sizes: Sequence[int], rounds: int) -> None:
    """Measures the cases with a word in their name."""
    names = [f"{engine}, {rows:,} messages" for engine in ("local engine", "Spark") for rows in sizes]
    results = run.results("kafka.json", "case", names)
    with broker() as started, TemporaryDirectory(dir=scratch_folder()) as scratch:
        if only in "local engine":
            for rows in sizes:
                folder = Path(scratch) / f"local-{rows}"
                result = local.measure(started.servers, folder, rows=rows, batches=BATCHES, rounds=rounds)
                results.save(result)
                print(result, flush=True)
        if only in "Spark":
            spark = spark_session()
            for rows in sizes:
                folder = Path(scratch) / f"spark-{rows}"
                result = on_spark.measure(spark, started.servers, folder, rows=rows, rounds=rounds)
                results.save(result)
                print(result, flush=True)
            spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
