"""Times micro-batches of every case for all its rivals, in turns: ``make bench-stream``.

``python -m docs.benchmarks.stream [--only WORD] [--rounds N] [--times] [--without RIVAL]`` writes
``build/bench/stream.json`` and keeps its results for other cases. ``comparing`` says how cases are timed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Final

from attrs import evolve
from flowalg_spark import local_session

from docs.benchmarks.results import Results
from docs.benchmarks.stream.comparing import BATCHES, BUILD, CORES, compare, compare_states
from docs.benchmarks.stream.data import files, seed_file
from docs.benchmarks.stream.growth import GROWTHS, OPEN, ROWS
from docs.benchmarks.stream.memory import peaks
from docs.benchmarks.stream.queries import CASES

DATA: Final = BUILD / "bench" / "data"
NAMES: Final = [
    *(case.name for case in CASES),
    *(f"{growth.name}, {count:,}" for growth in GROWTHS for count in OPEN),
]
RESULTS: Final = Results(BUILD / "bench" / "stream.json", "case", NAMES)


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each case, and saves the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="rounds that count (%(default)s)")
    parser.add_argument("--only", default="", help="only the cases with this word in their name")
    parser.add_argument(
        "--times", action="store_true", help="without peak memory, which takes a session each"
    )
    parser.add_argument("--without", default="", help="without this rival: native, tws or on time")
    options = parser.parse_args(arguments)
    BUILD.joinpath("bench").mkdir(parents=True, exist_ok=True)
    spark = local_session("flowalg bench", cores=CORES, memory="8g", log=BUILD / "bench" / "stream.log")
    scratch = BUILD / "bench" / "stream"
    count = (options.rounds + 1) * BATCHES
    try:
        for number, case in enumerate(CASES):
            if options.only in case.name:
                shutil.rmtree(scratch, ignore_errors=True)
                rivals = {name: rival for name, rival in case.rivals.items() if name != options.without}
                case, inputs = evolve(case, rivals=rivals), files(DATA, case.rows, count)
                result = compare(spark, case, inputs, scratch / str(number))
                if not options.times:
                    result["peak_mb"] = {
                        name: peaks(case.name, name, inputs[:BATCHES], scratch / f"peak-{place}")
                        for place, name in enumerate(rivals)
                    }
                RESULTS.save(result)
                ratios = ", ".join(f"{name} {value}" for name, value in result.items() if "vs_" in name)
                print(f"{case.name:55} {result['flowalg_s']} s, {ratios}", flush=True)
        for growth in GROWTHS:
            if options.only in growth.name:
                shutil.rmtree(scratch, ignore_errors=True)
                seeds = {windows: [seed_file(DATA, windows, growth.first_key)] for windows in OPEN}
                inputs = files(DATA, ROWS, count)
                for result in compare_states(
                    spark, growth.name, growth.rival, seeds, inputs, ROWS, scratch / "growth"
                ):
                    RESULTS.save(result)
                    summary = f"{result['flowalg_s']} s, vs_fewest {result['vs_fewest']}"
                    print(f"{result['case']:55} {summary}, recovery {result['recovery_s']} s", flush=True)
    finally:
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
