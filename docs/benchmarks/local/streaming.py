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

from docs.benchmarks.local.rivals import BUILD
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
from docs.benchmarks.results import Results
from docs.benchmarks.stream.data import KEYS, files, seed_file

DATA: Final = BUILD / "bench" / "data"
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

NAMES: Final = [
    *(case.name for case in STREAMS),
    *(f"{name}, {count:,}" for name in GROWTHS for count in OPEN),
    *(f"Spark streaming, {rows:,} rows" for rows in (LARGE, MEDIUM, SMALL)),
]
RESULTS: Final = Results(BUILD / "bench" / "local-streams.json", "case", NAMES)


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
        found = [batch.sort(batch.columns) for batch in batches]
        if not all(found[0].equals(other) for other in found[1:]):
            raise ValueError(f"{case.name}: the panes of batch {number} differ: {list(runs)}")


def peak_memory(case: Stream, rival: str, folder: Path) -> int:
    """Returns the peak resident memory, in MiB, of a process that runs a stream once."""
    command = [sys.executable, "-m", "docs.benchmarks.local.streams", case.name, rival, str(folder)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(finished.stdout.split()[-1]) >> 20


def compare(case: Stream, rounds: int) -> dict[str, object]:
    """Times all rivals of a case."""
    inputs = files(DATA, case.rows, case.files, LATE)
    check(case, inputs)
    times = run_in_turns(case.rivals, dict.fromkeys(case.rivals, inputs), rounds)
    batches = {name: [batch for run in runs for batch in run] for name, runs in times.items()}
    # The ratio is that of whole runs, so that it includes the batches with much output.
    totals = {name: statistics.median(map(sum, runs)) for name, runs in times.items()}
    other = list(case.rivals)[1]
    return {
        "case": case.name,
        "rows": case.rows,
        "rounds": rounds,
        "ratio": round(totals["flowalg"] / totals[other], 3),
        "rival": other,
        **{f"{name}_p50_ms": round(1000 * statistics.median(all_), 1) for name, all_ in batches.items()},
        **{
            f"{name}_p99_ms": round(1000 * statistics.quantiles(all_, n=100)[98], 1)
            for name, all_ in batches.items()
        },
        **{f"{name}_peak_mib": peak_memory(case, name, inputs[0].parent) for name in case.rivals},
        "load": round(os.getloadavg()[0], 1),
        "run_s": {name: [round(sum(run), 3) for run in runs] for name, runs in times.items()},
    }


def measure_growth(name: str, rounds: int) -> Iterator[dict[str, object]]:
    """Yields the times of a batch with few and with many live windows that it does not affect."""
    pipeline, first_key = GROWTHS[name]
    inputs = {}
    for count in OPEN:
        folder = DATA / f"growth-{count}-{first_key}"
        folder.mkdir(exist_ok=True)
        for file in (seed_file(DATA, count, first_key), *files(DATA, MEDIUM, FILES)):
            if not (folder / file.name).exists():
                os.link(file, folder / file.name)
        inputs[str(count)] = sorted(folder.iterdir())
    times = run_in_turns({str(count): with_flowalg(pipeline) for count in OPEN}, inputs, rounds)
    medians = {count: statistics.median(b for run in runs for b in run) for count, runs in times.items()}
    for count in OPEN:
        yield {
            "case": f"{name}, {count:,}",
            "rows": MEDIUM,
            "rounds": rounds,
            "flowalg_p50_ms": round(1000 * medians[str(count)], 1),
            "growth": round(medians[str(count)] / medians[str(OPEN[0])], 3),
        }


def compare_with_spark() -> Iterator[dict[str, object]]:
    """Yields the time of a micro-batch on Spark streaming, and its ratio to that of the local engine."""
    from docs.benchmarks.local.on_spark import median_seconds

    cases = [case for case in STREAMS if case.name.startswith("on time")]
    inputs = [files(DATA, case.rows, case.files, LATE)[:FILES] for case in cases]
    known = {result["case"]: result for result in RESULTS.load()}
    for case, seconds in zip(cases, median_seconds(inputs), strict=True):
        local = known[case.name]["flowalg_p50_ms"]
        assert isinstance(local, float)
        spark = 1000 * seconds
        yield {
            "case": f"Spark streaming, {case.rows:,} rows",
            "rows": case.rows,
            "spark_p50_ms": round(spark),
            "flowalg_p50_ms": local,
            "times": round(spark / local, 1),
        }


def tables(results: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """The results as the tables of ``docs/performance.md``."""
    yield "| case | p50 ms | p99 ms | rival | p50 ms | p99 ms | ratio | peak MiB | rival |"
    yield f"| --- | ---: | ---: | --- |{' ---: |' * 5}"
    for result in results:
        if "ratio" in result:
            other = result["rival"]
            columns = [result["case"], result["flowalg_p50_ms"], result["flowalg_p99_ms"], other]
            columns += [result[f"{other}_p50_ms"], result[f"{other}_p99_ms"], result["ratio"]]
            columns += [result["flowalg_peak_mib"], result[f"{other}_peak_mib"]]
            yield f"| {' | '.join(map(str, columns))} |"
    yield ""
    yield "| live windows | p50 ms | growth |"
    yield "| --- | ---: | ---: |"
    for result in results:
        if "growth" in result:
            yield f"| {result['case']} | {result['flowalg_p50_ms']} | {result['growth']} |"
    yield ""
    yield "| case | ms on Spark | ms on the local engine | times |"
    yield "| --- | ---: | ---: | ---: |"
    for result in results:
        if "times" in result:
            columns = [result[name] for name in ("case", "spark_p50_ms", "flowalg_p50_ms", "times")]
            yield f"| {' | '.join(map(str, columns))} |"


def run(only: str, rounds: int, *, spark: bool) -> None:
    """Times the cases with a word in their name, perhaps also on Spark; prints a line for each, and all results."""
    for case in STREAMS:
        if only in case.name:
            result = compare(case, rounds)
            RESULTS.save(result)
            line = f"{result['flowalg_p50_ms']:>7} ms, {result['rival']} {result[str(result['rival']) + '_p50_ms']} ms"
            print(f"{case.name:40} {line}, ratio {result['ratio']}", flush=True)
    for name in GROWTHS:
        if only in name:
            for result in measure_growth(name, rounds):
                RESULTS.save(result)
                print(
                    f"{result['case']:55} {result['flowalg_p50_ms']:>7} ms, growth {result['growth']}",
                    flush=True,
                )
    if spark:
        for result in compare_with_spark():
            RESULTS.save(result)
            print(f"{result['case']:40} {result['spark_p50_ms']} ms, {result['times']} times", flush=True)
    print(*tables(RESULTS.load()), sep="\n")


__all__ = ["run"]
