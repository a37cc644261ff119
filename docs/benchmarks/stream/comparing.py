"""Compares the rivals of a streaming query on Spark, in turns, over the same files.

In each round every rival's query continues from its checkpoint for a few batches. The first batch after each start and
the whole first round do not count.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from docs.benchmarks.results import Result
from docs.benchmarks.stream.queries import Case, Rival
from docs.benchmarks.stream.running import Phases, add_files, continue_query

N = TypeVar("N")
CORES: Final = 2
BATCHES: Final = 4
"""The number of batches in a round."""


def check(spark: SparkSession, case: Case, inputs: Sequence[Path], folder: Path) -> None:
    """Raises ``ValueError`` if the output of a rival over the files differs in a column that all have.

    Processing times are not compared. The last windows of a rival may still be missing, unless its case is
    ``complete``.
    """
    add_files(inputs, folder)
    names = [name for name in case.rivals if name != "on time"]
    frames: dict[str, DataFrame] = {}
    for name in names:
        continue_query(spark, case.rivals[name], name, folder, sink="parquet")
        frames[name] = spark.read.parquet(str(folder / f"{name}-out"))
    compared = [
        column
        for column in frames["flowalg"].columns
        if all(column in frame.columns for frame in frames.values())
    ]
    rows = {
        name: set(map(tuple, without_processing_time(frame.select(compared)).collect()))
        for name, frame in frames.items()
    }
    for name in names[1:]:
        if not rows[name]:
            raise ValueError(f"{case.name}: {name} has no rows")
        others, missing = rows[name] - rows["flowalg"], rows["flowalg"] - rows[name]
        if others or (case.complete and missing):
            raise ValueError(
                f"{case.name}: {name} has {len(others)} rows that flowalg does not have, and lacks {len(missing)}"
            )


def without_processing_time(output: DataFrame) -> DataFrame:
    """Returns output without processing times: a column of elements, and a field of the column ``pane`` of panes."""
    output = output.drop("processing_time")
    if "pane" not in output.columns:
        return output
    return output.withColumn("pane", F.col("pane").dropFields("processing_time"))


def run_in_turns(
    names: Sequence[N],
    inputs: Sequence[Path],
    folders: Iterable[Path],
    run: Callable[[N], list[Phases]],
    batches: int = BATCHES,
) -> tuple[dict[N, list[Phases]], dict[N, list[float]]]:
    """Runs all rivals in turns over the files of each round, which has a number of batches.

    Returns for each rival the phases of its warm batches, and the seconds of its first batch in each round. The first
    round does not count.
    """
    warm: dict[N, list[Phases]] = {name: [] for name in names}
    first: dict[N, list[float]] = {name: [] for name in names}
    for number, start in enumerate(range(0, len(inputs), batches)):
        for folder in folders:
            add_files(inputs[start : start + batches], folder)
        for name in names if number % 2 else names[::-1]:
            phases = run(name)
            if number:
                first[name].append(phases[0]["triggerExecution"])
                warm[name] += phases[1:]
    return warm, first


def median_seconds(batches: Iterable[Phases]) -> float:
    """Returns the median time of batches."""
    return statistics.median(batch["triggerExecution"] for batch in batches)


def compare(
    spark: SparkSession, case: Case, inputs: Sequence[Path], scratch: Path, batches: int = BATCHES
) -> Result:
    """Returns the times of the warm batches of all rivals over ``inputs``, after a check of their outputs."""
    if case.rows:
        check(spark, case, inputs[:batches], scratch / "check")
    names = list(case.rivals)
    warm, first = run_in_turns(
        names,
        inputs,
        [scratch],
        lambda name: continue_query(spark, case.rivals[name], name, scratch),
        batches,
    )
    seconds = {name: median_seconds(phases) for name, phases in warm.items()}
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
        "first_batch_s": {name: round(statistics.median(durations), 3) for name, durations in first.items()},
        "phases_s": {
            name: {
                phase: round(statistics.median(batch.get(phase, 0.0) for batch in phases), 3)
                for phase in phases[0]
            }
            for name, phases in warm.items()
        },
    }


def compare_states(
    spark: SparkSession,
    name: str,
    rival: Rival,
    seeds: Mapping[int, Sequence[Path]],
    inputs: Sequence[Path],
    rows: int,
    scratch: Path,
    batches: int = BATCHES,
) -> list[Result]:
    """Returns the times of warm batches, and of the first batch after a restart, for states of several sizes.

    ``seeds`` has the files that open the state, by the number of windows or keys in it. No batch of ``inputs``, which
    have ``rows`` rows each, affects these.
    """
    folders = {count: scratch / str(count) for count in seeds}
    opening = {}
    for count, folder in folders.items():
        add_files(seeds[count], folder)
        opened = continue_query(spark, rival, "flowalg", folder)
        opening[count] = sum(batch["triggerExecution"] for batch in opened)
    counts = list(seeds)
    warm, first = run_in_turns(
        counts,
        inputs,
        folders.values(),
        lambda count: continue_query(spark, rival, "flowalg", folders[count]),
        batches,
    )
    seconds = {count: median_seconds(phases) for count, phases in warm.items()}
    return [
        {
            "case": f"{name}, {count:,}",
            "rows": rows,
            "open": count,
            "warm_batches": len(warm[count]),
            "flowalg_s": round(seconds[count], 3),
            "vs_fewest": round(seconds[count] / seconds[counts[0]], 3),
            "opening_s": round(opening[count], 3),
            "recovery_s": round(statistics.median(first[count]), 3),
        }
        for count in counts
    ]
