"""Times micro-batches of every case for all its rivals, in turns: ``make bench-stream``.

``python -m docs.benchmarks.stream [--only WORD] [--rounds N] [--times] [--without RIVAL] [--small]``
writes ``build/bench/stream.json`` and keeps its results for other cases. ``comparing`` says how cases are timed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Final

from attrs import evolve
from flowalg_spark import local_session

from docs.benchmarks.small import Extent, add_small, extent
from docs.benchmarks.stream.comparing import BATCHES, CORES, compare, compare_states
from docs.benchmarks.stream.data import KEYS, files, seed_file
from docs.benchmarks.stream.growth import GROWTHS, OPEN, ROWS
from docs.benchmarks.stream.memory import peaks
from docs.benchmarks.stream.queries import CASES

NAMES: Final = [
    *(case.name for case in CASES),
    *(f"{growth.name}, {count:,}" for growth in GROWTHS for count in OPEN),
]


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each case, and saves the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="rounds that count (%(default)s)")
    parser.add_argument("--only", default="", help="only the cases with this word in their name")
    parser.add_argument(
        "--times", action="store_true", help="without peak memory, which takes a session each"
    )
    parser.add_argument("--without", default="", help="without this rival: native, tws or on time")
    add_small(parser)
    options = parser.parse_args(arguments)
    with extent(small=options.small) as run:
        measure(run, options.only, options.rounds, options.without, memory=not options.times)


def measure(run: Extent, only: str, rounds: int, without: str, *, memory: bool) -> None:
    """Measures the cases with a word in their name; of a small run, the peak memory of the first one."""
    results = run.results("stream.json", "case", NAMES)
    spark = local_session("flowalg bench", cores=CORES, memory="8g", log=run.folder / "stream.log")
    scratch = run.folder / "stream"
    keys, batches = run.at_most(KEYS, 20), run.at_most(BATCHES, 2)
    count = (run.at_most(rounds, 1) + 1) * batches
    try:
        for number, case in enumerate(CASES):
            if only in case.name:
                shutil.rmtree(scratch, ignore_errors=True)
                rivals = {name: rival for name, rival in case.rivals.items() if name != without}
                case = evolve(case, rivals=rivals, rows=run.at_most(case.rows, 400))
                inputs = files(run.data, case.rows, count, keys=keys, known_keys=keys)
                result = compare(spark, case, inputs, scratch / str(number), batches)
                if memory and not (run.small and number):
                    result["peak_mb"] = {
                        name: peaks(case.name, name, inputs[:batches], scratch / f"peak-{place}")
                        for place, name in enumerate(rivals)
                    }
                results.save(result)
                ratios = ", ".join(f"{name} {value}" for name, value in result.items() if "vs_" in name)
                print(f"{case.name:55} {result['flowalg_s']} s, {ratios}", flush=True)
        for growth in GROWTHS:
            if only in growth.name:
                shutil.rmtree(scratch, ignore_errors=True)
                rows = run.at_most(ROWS, 400)
                seeds = {
                    windows: [seed_file(run.data, run.at_most(windows, windows // 1_000), growth.first_key)]
                    for windows in OPEN
                }
                inputs = files(run.data, rows, count, keys=keys, known_keys=keys)
                for result in compare_states(
                    spark, growth.name, growth.rival, seeds, inputs, rows, scratch / "growth", batches
                ):
                    results.save(result)
                    summary = f"{result['flowalg_s']} s, vs_fewest {result['vs_fewest']}"
                    print(f"{result['case']:55} {summary}, recovery {result['recovery_s']} s", flush=True)
    finally:
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
