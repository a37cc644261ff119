"""Times micro-batches of every case for all its rivals, in turns: ``make bench-stream``.

``python -m docs.benchmarks.stream [--only WORD] [--rounds N] [--times] [--without RIVAL]`` writes
``build/bench/stream.json`` and keeps its results for other cases. In each round every rival's query continues from its
checkpoint for a few batches over the same files. The first batch after each start and the whole first round do not
count.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from attrs import evolve
from flowalg_spark import local_session
from pyspark.sql import DataFrame, SparkSession

from docs.benchmarks.results import Results
from docs.benchmarks.stream.data import files, seed_file
from docs.benchmarks.stream.growth import GROWTHS, OPEN, ROWS, Growth
from docs.benchmarks.stream.memory import peaks
from docs.benchmarks.stream.queries import CASES, Case
from docs.benchmarks.stream.running import Phases, add_files, continue_query

N = TypeVar("N")
BUILD: Final = Path(__file__).parents[3] / "build"
NAMES: Final = [
    *(case.name for case in CASES),
    *(f"{growth.name}, {count:,}" for growth in GROWTHS for count in OPEN),
]
RESULTS: Final = Results(BUILD / "bench" / "stream.json", "case", NAMES)
CORES: Final = 2
COMPARED: Final = ("key", "value", "window", "event_time")
"""The columns of outputs that are compared, if all rivals have them."""
BATCHES: Final = 4
"""The number of batches in a round."""


def check(spark: SparkSession, case: Case, inputs: Sequence[Path], folder: Path) -> None:
    """Raises ``ValueError`` if a rival's output differs; the last windows may still be missing."""
    add_files(inputs[:BATCHES], folder)
    names = [name for name in case.rivals if name != "on time"]
    frames: dict[str, DataFrame] = {}
    for name in names:
        continue_query(spark, case.rivals[name], name, folder, sink="parquet")
        frames[name] = spark.read.parquet(str(folder / f"{name}-out"))
    compared = [column for column in COMPARED if all(column in frame.columns for frame in frames.values())]
    rows = {name: set(map(tuple, frame.select(compared).collect())) for name, frame in frames.items()}
    for name in names[1:]:
        if not rows[name] or not rows[name] <= rows["flowalg"]:
            raise ValueError(
                f"{case.name}: {name} has {len(rows[name] - rows['flowalg'])} rows that flowalg does not have"
            )


def run_in_turns(
    names: Sequence[N],
    inputs: Sequence[Path],
    folders: Iterable[Path],
    run: Callable[[N], list[Phases]],
) -> tuple[dict[N, list[Phases]], dict[N, list[float]]]:
    """Runs all rivals in turns over the files of each round.

    Returns for each rival the phases of its warm batches, and the seconds of its first batch in each round. The first
    round does not count.
    """
    warm: dict[N, list[Phases]] = {name: [] for name in names}
    first: dict[N, list[float]] = {name: [] for name in names}
    for number, start in enumerate(range(0, len(inputs), BATCHES)):
        for folder in folders:
            add_files(inputs[start : start + BATCHES], folder)
        for name in names if number % 2 else names[::-1]:
            batches = run(name)
            if number:
                first[name].append(batches[0]["triggerExecution"])
                warm[name] += batches[1:]
    return warm, first


def _median(batches: Iterable[Phases]) -> float:
    return statistics.median(batch["triggerExecution"] for batch in batches)


def compare(
    spark: SparkSession, case: Case, rounds: int, scratch: Path, *, memory: bool
) -> dict[str, object]:
    """Returns the times of the warm batches of all rivals, and with ``memory`` their peak memory."""
    inputs = files(BUILD / "bench" / "data", case.rows, (rounds + 1) * BATCHES)
    if case.rows:
        check(spark, case, inputs, scratch / "check")
    names = list(case.rivals)
    warm, first = run_in_turns(
        names, inputs, [scratch], lambda name: continue_query(spark, case.rivals[name], name, scratch)
    )
    seconds = {name: _median(found) for name, found in warm.items()}
    own_seconds = seconds["flowalg"]
    others = {name: took for name, took in seconds.items() if name != "flowalg"}
    return {
        "case": case.name,
        "rows": case.rows,
        "warm_batches": len(warm["flowalg"]),
        "flowalg_s": round(own_seconds, 3),
        **{f"{name.replace(' ', '_')}_s": round(took, 3) for name, took in others.items()},
        **{f"vs_{name.replace(' ', '_')}": round(own_seconds / took, 3) for name, took in others.items()},
        "rows_per_s": round(case.rows / own_seconds),
        "peak_mb": {
            name: peaks(case.name, name, inputs[:BATCHES], scratch / f"peak-{number}")
            for number, name in enumerate(names)
            if memory
        },
        "first_batch_s": {name: round(statistics.median(found), 3) for name, found in first.items()},
        "phases_s": {
            name: {
                phase: round(statistics.median(batch.get(phase, 0.0) for batch in found), 3)
                for phase in found[0]
            }
            for name, found in warm.items()
        },
    }


def measure_growth(
    spark: SparkSession, growth: Growth, rounds: int, scratch: Path
) -> list[dict[str, object]]:
    """Returns the times of warm batches with few and count live windows, and of the first batch after a restart."""
    data = BUILD / "bench" / "data"
    inputs = files(data, ROWS, (rounds + 1) * BATCHES)
    folders = {count: scratch / str(count) for count in OPEN}
    opening = {}
    for count, folder in folders.items():
        add_files([seed_file(data, count, growth.first_key)], folder)
        (batch,) = continue_query(spark, growth.rival, "flowalg", folder)
        opening[count] = batch["triggerExecution"]
    warm, first = run_in_turns(
        OPEN,
        inputs,
        folders.values(),
        lambda count: continue_query(spark, growth.rival, "flowalg", folders[count]),
    )
    seconds = {count: _median(found) for count, found in warm.items()}
    return [
        {
            "case": f"{growth.name}, {count:,}",
            "rows": ROWS,
            "open": count,
            "warm_batches": len(warm[count]),
            "flowalg_s": round(seconds[count], 3),
            "vs_fewest": round(seconds[count] / seconds[OPEN[0]], 3),
            "opening_s": round(opening[count], 3),
            "recovery_s": round(statistics.median(first[count]), 3),
        }
        for count in OPEN
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
    options = parser.parse_args(arguments)
    BUILD.joinpath("bench").mkdir(parents=True, exist_ok=True)
    spark = local_session("flowalg bench", cores=CORES, memory="8g", log=BUILD / "bench" / "stream.log")
    scratch = BUILD / "bench" / "stream"
    try:
        for number, case in enumerate(CASES):
            if options.only in case.name:
                shutil.rmtree(scratch, ignore_errors=True)
                rivals = {name: rival for name, rival in case.rivals.items() if name != options.without}
                case = evolve(case, rivals=rivals)
                result = compare(spark, case, options.rounds, scratch / str(number), memory=not options.times)
                RESULTS.save(result)
                ratios = ", ".join(f"{name} {value}" for name, value in result.items() if "vs_" in name)
                print(f"{case.name:55} {result['flowalg_s']} s, {ratios}", flush=True)
        for growth in GROWTHS:
            if options.only in growth.name:
                shutil.rmtree(scratch, ignore_errors=True)
                for result in measure_growth(spark, growth, options.rounds, scratch / "growth"):
                    RESULTS.save(result)
                    summary = f"{result['flowalg_s']} s, vs_fewest {result['vs_fewest']}"
                    print(f"{result['case']:55} {summary}, recovery {result['recovery_s']} s", flush=True)
    finally:
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
