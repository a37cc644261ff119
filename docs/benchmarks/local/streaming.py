"""Times every stream on the local engine and by hand, in turns, batch by batch.

A round runs each rival from an empty state over all files. The first round does not count, nor do the first two batches
of a run.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from docs.benchmarks.local.streams import (
    EVERYTHING,
    FILES,
    HOURS,
    LARGE,
    MEDIUM,
    SMALL,
    STREAMS,
    Batches,
    Rival,
    Stream,
    with_flowalg,
)
from docs.benchmarks.results import Result
from docs.benchmarks.small import Extent
from docs.benchmarks.stream.data import KEYS, files, seed_file

LATE: Final = 0.02
"""The share of late rows."""

OPEN: Final = (10_000, 1_000_000, 5_000_000)
GROWTHS: Final = {
    "growth: fixed windows that are open": (HOURS, KEYS),
    "growth: keys of the global window": (EVERYTHING, 0),
}
"""Pipelines that keep many windows live, and the first key of these."""

WARM: Final = 2
"""The batches of a run that do not count."""

SMALL_ROWS: Final = 200
SMALL_FILES: Final = WARM + 3
"""The rows of a file and the files of a case in a small run."""

NAMES: Final = [
    *(case.name for case in STREAMS),
    *(f"{name}, {count:,}" for name in GROWTHS for count in OPEN),
    *(f"Spark streaming, {rows:,} rows" for rows in (LARGE, MEDIUM, SMALL)),
]

Times: TypeAlias = dict[str, list[list[float]]]
"""The seconds of batches, by rival and round."""


def seconds_of(batches: Batches) -> list[float]:
    """Returns the seconds of each batch."""
    seconds, started = [], time.perf_counter()
    for _ in batches:
        ended = time.perf_counter()
        seconds.append(ended - started)
        started = ended
    return seconds


def run_in_turns(rivals: Mapping[str, Rival], inputs: Mapping[str, Sequence[Path]], rounds: int) -> Times:
    """Returns the seconds of the batches that count, for each rival and round."""
    times: Times = {name: [] for name in rivals}
    for number in range(rounds + 1):
        for name in list(rivals) if number % 2 else list(rivals)[::-1]:
            seconds = seconds_of(rivals[name](inputs[name]))
            if number:
                times[name].append(seconds[WARM:])
    return times


def check(case: Stream, inputs: Sequence[Path]) -> None:
    """Raises ``ValueError`` if the panes of a batch differ between rivals."""
    runs = {name: rival(inputs) for name, rival in case.rivals.items()}
    for number, batches in enumerate(zip(*runs.values(), strict=True)):
        panes = [batch.sort(batch.columns) for batch in batches]
        if not all(panes[0].equals(other) for other in panes[1:]):
            raise ValueError(f"{case.name}: the panes of batch {number} differ: {list(runs)}")


def inputs_of(case: Stream, extent: Extent) -> list[Path]:
    """Returns the files of a case; those of a small run have few rows, and few keys."""
    keys, count = extent.at_most(KEYS, 20), extent.at_most(case.files, SMALL_FILES)
    return files(extent.data, extent.at_most(case.rows, SMALL_ROWS), count, LATE, keys=keys, known_keys=keys)


def peak_memory(case: Stream, rival: str, folder: Path) -> int:
    """Returns the peak resident memory, in MiB, of a process that runs a stream once."""
    command = [sys.executable, "-m", "docs.benchmarks.local.streams", case.name, rival, str(folder)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(finished.stdout.split()[-1]) >> 20


def compare(case: Stream, extent: Extent, rounds: int) -> Result:
    """Times all rivals of a case; of a small run, only the first case has the peak memory, which takes processes."""
    inputs = inputs_of(case, extent)
    check(case, inputs)
    times = run_in_turns(case.rivals, dict.fromkeys(case.rivals, inputs), rounds)
    batches = {name: [batch for run in runs for batch in run] for name, runs in times.items()}
    # The ratio is that of whole runs, so that it includes the batches with much output.
    totals = {name: statistics.median(map(sum, runs)) for name, runs in times.items()}
    other = list(case.rivals)[1]
    return {
        "case": case.name,
        "rows": extent.at_most(case.rows, SMALL_ROWS),
        "rounds": rounds,
        "ratio": round(totals["flowalg"] / totals[other], 3),
        "rival": other,
        **{f"{name}_p50_ms": round(1000 * statistics.median(all_), 1) for name, all_ in batches.items()},
        **{
            f"{name}_p99_ms": round(1000 * statistics.quantiles(all_, n=100)[98], 1)
            for name, all_ in batches.items()
        },
        **(
            {f"{name}_peak_mib": peak_memory(case, name, inputs[0].parent) for name in case.rivals}
            if case == STREAMS[0] or not extent.small
            else {}
        ),
        "load": round(os.getloadavg()[0], 1),
        "run_s": {name: [round(sum(run), 3) for run in runs] for name, runs in times.items()},
    }


def measure_growth(name: str, extent: Extent, rounds: int) -> Iterator[Result]:
    """Yields the times of a batch with few and with many live windows that it does not affect."""
    pipeline, first_key = GROWTHS[name]
    rows, keys = extent.at_most(MEDIUM, SMALL_ROWS), extent.at_most(KEYS, 20)
    inputs = {}
    for count in OPEN:
        folder = extent.data / f"growth-{count}-{first_key}"
        folder.mkdir(parents=True, exist_ok=True)
        seeds = seed_file(extent.data, extent.at_most(count, count // 1_000), first_key)
        batches = files(extent.data, rows, extent.at_most(FILES, SMALL_FILES), keys=keys, known_keys=keys)
        for file in (seeds, *batches):
            if not (folder / file.name).exists():
                os.link(file, folder / file.name)
        inputs[str(count)] = sorted(folder.iterdir())
    times = run_in_turns({str(count): with_flowalg(pipeline) for count in OPEN}, inputs, rounds)
    medians = {count: statistics.median(b for run in runs for b in run) for count, runs in times.items()}
    for count in OPEN:
        yield {
            "case": f"{name}, {count:,}",
            "rows": rows,
            "rounds": rounds,
            "flowalg_p50_ms": round(1000 * medians[str(count)], 1),
            "growth": round(medians[str(count)] / medians[str(OPEN[0])], 3),
        }


def compare_with_spark(extent: Extent, results: Sequence[Result]) -> Iterator[Result]:
    """Yields the time of a micro-batch on Spark streaming, and its ratio to that of the local engine."""
    from docs.benchmarks.local.on_spark import median_seconds

    cases = [case for case in STREAMS if case.name.startswith("on time")]
    inputs = [inputs_of(case, extent)[:FILES] for case in cases]
    medians = {result["case"]: result.get("flowalg_p50_ms") for result in results}
    for case, seconds in zip(cases, median_seconds(inputs, extent.folder), strict=True):
        local = medians[case.name]
        assert isinstance(local, float)
        spark = 1000 * seconds
        yield {
            "case": f"Spark streaming, {case.rows:,} rows",
            "rows": extent.at_most(case.rows, SMALL_ROWS),
            "spark_p50_ms": round(spark),
            "flowalg_p50_ms": local,
            "times": round(spark / local, 1),
        }


def tables(results: Sequence[Result]) -> Iterator[str]:
    """The results as the tables of ``docs/performance.md``; a table without results is left out."""
    compared = [_compared(result, str(result["rival"])) for result in results if "ratio" in result]
    yield from _table("case, p50 ms, p99 ms, rival, p50 ms, p99 ms, ratio, peak MiB, rival", compared)
    growing = [
        [result[name] for name in ("case", "flowalg_p50_ms", "growth")]
        for result in results
        if "growth" in result
    ]
    yield from _table("live windows, p50 ms, growth", growing)
    on_spark = [
        [result[name] for name in ("case", "spark_p50_ms", "flowalg_p50_ms", "times")]
        for result in results
        if "times" in result
    ]
    yield from _table("case, ms on Spark, ms on the local engine, times", on_spark)


def _compared(result: Result, rival: str) -> list[object]:
    own, others = ([result[f"{name}_{part}_ms"] for part in ("p50", "p99")] for name in ("flowalg", rival))
    memory = [result.get(f"{name}_peak_mib", "") for name in ("flowalg", rival)]
    return [result["case"], *own, rival, *others, result["ratio"], *memory]


LEFT: Final = ("case", "live windows", "rival")
"""The columns of text."""


def _table(headings: str, rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yields the lines of a table, after an empty one; nothing without rows."""
    if rows:
        names = headings.split(", ")
        yield ""
        yield f"| {' | '.join(names)} |"
        yield f"|{'|'.join(' --- ' if name in LEFT else ' ---: ' for name in names)}|"
        yield from (f"| {' | '.join(map(str, row))} |" for row in rows)


def measure(extent: Extent, only: str, rounds: int, *, spark: bool) -> None:
    """Times the cases with a word in their name, perhaps also on Spark; prints a line for each, and all results."""
    results = extent.results("local-streams.json", "case", NAMES)
    for case in STREAMS:
        if only in case.name:
            result = compare(case, extent, rounds)
            results.save(result)
            line = f"{result['flowalg_p50_ms']:>7} ms, {result['rival']} {result[str(result['rival']) + '_p50_ms']} ms"
            print(f"{case.name:40} {line}, ratio {result['ratio']}", flush=True)
    for name in GROWTHS:
        if only in name:
            for result in measure_growth(name, extent, rounds):
                results.save(result)
                print(
                    f"{result['case']:55} {result['flowalg_p50_ms']:>7} ms, growth {result['growth']}",
                    flush=True,
                )
    if spark:
        for result in compare_with_spark(extent, results.load()):
            results.save(result)
            print(f"{result['case']:40} {result['spark_p50_ms']} ms, {result['times']} times", flush=True)
    for line in tables(results.load()):
        print(line)
