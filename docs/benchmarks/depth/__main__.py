"""Measures the latency of windows through chains of groupings: ``make bench-depth``.

``python -m docs.benchmarks.depth [--only WORD] [--rounds N] [--seconds S] [--missing] [--page] [--small]`` measures the
time from the end of a window of a second to its panes, as Figures 3 to 5 of the watermarks paper do: by the number of
groupings, by the partitions of the state, and by the records per second. The counts of every run are compared with
those of the records before a time is printed. It writes ``build/bench/depth.json``, keeps its results for other cases,
and draws ``docs/pictures/depth.svg`` with ``--page``, which measures nothing.

There are two series, one by the number of groupings and one by the other two. Both have the usual load, so that each
can be read by itself when they are measured at different times.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from functools import partial, reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Final

os.environ.setdefault("POLARS_MAX_THREADS", "2")

import numpy as np
from flowalg_spark import local_session

from docs.benchmarks.depth.chains import Delays, delays_of
from docs.benchmarks.depth.engines import CHECKPOINTED, LOCAL, NATIVE, SPARK, Load, Run, engines
from docs.benchmarks.depth.on_flink import FLINK, FLINK_CHECKPOINTED, run_on_flink
from docs.benchmarks.depth.picture import BY_DEPTH, BY_LOAD, PICTURE, USUAL, draw, table
from docs.benchmarks.results import Result, Results
from docs.benchmarks.small import BENCH, add_small, extent
from tests.peers.claims.flink import FLINK as PEER
from tests.peers.environments import MissingPeer, python_of

ENGINES: Final = (LOCAL, CHECKPOINTED, SPARK, NATIVE, FLINK, FLINK_CHECKPOINTED)
DEPTH: Final = USUAL["depth"]
SHARDS: Final = USUAL["shards"]
RATE: Final = USUAL["rate"]

BY_SHARDS: Final = tuple((DEPTH, shards, RATE) for shards in (1, 2, 4))
BY_RATE: Final = tuple((DEPTH, SHARDS, rate) for rate in (1_000, 5_000, 20_000, 50_000))
LOADS: Final = (
    *((BY_DEPTH, (depth, SHARDS, RATE)) for depth in (1, 2, 3, 4, 5)),
    *((BY_LOAD, load) for load in dict.fromkeys((*BY_SHARDS, *BY_RATE))),
)
"""Each series with each of its loads: groupings, partitions and records per second."""
SMALL_LOADS: Final = (LOADS[0], LOADS[4], LOADS[5], LOADS[-1])
"""The first and the last load of each series."""
SMALL_SECONDS: Final = 2.0
"""The shortest run in which a window ends after the warm-up."""
RUNS_OF_FLINK: Final = 3
"""The greatest number of runs of Flink for a case; the first one with right counts is its result."""
LONGER: Final = 3
"""How much longer than on the local engine records arrive on Spark, whose micro-batches are longer."""


def case_of(series: str, engine: str, load: tuple[int, int, int]) -> str:
    """Returns the name of a case."""
    depth, shards, rate = load
    return f"{series}: {engine}, depth {depth}, {shards} shards, {rate:,} records a second"


def results_in(folder: Path) -> Results:
    """Returns the file of results."""
    cases = [case_of(series, engine, load) for series, load in LOADS for engine in ENGINES]
    return Results(folder / "depth.json", "case", cases)


def measure(
    series: str,
    runs: Mapping[str, Run],
    load: tuple[int, int, int],
    rounds: int,
    seconds: float,
    scratch: Path,
) -> list[Result]:
    """Runs each engine in turns, and returns the distribution of the delays of each."""
    depth, shards, rate = load
    delays: dict[str, list[Delays]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in list(runs) if number % 2 else reversed(list(runs)):
            taking = seconds * (1 if name in (LOCAL, CHECKPOINTED) else LONGER)
            delays[name] += _delays(name, runs[name], Load(depth, shards, rate, taking), scratch)
    return [
        result_of(series, name, load, reduce(add, per_round))
        for name, per_round in delays.items()
        if per_round
    ]


def _delays(name: str, run: Run, load: Load, scratch: Path) -> list[Delays]:
    """Returns the delays of a run.

    One of Flink is repeated, at most twice, if its counts are wrong: it reads files that it finds at the same moment in
    any order, so if it pauses for more than a tenth of a second, records can be late. If the counts of all its runs are
    wrong, there are no delays.
    """
    of_flink = name in (FLINK, FLINK_CHECKPOINTED)
    for _ in range(RUNS_OF_FLINK if of_flink else 1):
        ran = run(load, Path(mkdtemp(dir=scratch)))
        try:
            return [delays_of(name, ran, load.depth)]
        except ValueError as wrong:
            if not of_flink:
                raise
            print(f"wrong: {wrong}", flush=True)
    return []


def result_of(series: str, engine: str, load: tuple[int, int, int], delays: Delays) -> Result:
    """Returns the distribution of the delays of an engine."""
    depth, shards, rate = load
    p50, p95 = np.percentile(delays.milliseconds, (50, 95))
    return {
        "case": case_of(series, engine, load),
        "series": series,
        "engine": engine,
        "depth": depth,
        "shards": shards,
        "rate": rate,
        "panes": len(delays.milliseconds),
        "p50_ms": round(float(p50), 1),
        "p95_ms": round(float(p95), 1),
        "batches": float(np.median(delays.batches)) if delays.batches else None,
        "load": round(os.getloadavg()[0], 1),
    }


def flink() -> dict[str, Run]:
    """Returns the runs of Flink; none, with a line that says how to install it, if it is missing."""
    try:
        python = python_of(PEER)
    except MissingPeer as missing:
        print(f"Flink is skipped: {missing}")
        return {}
    return {
        FLINK: partial(run_on_flink, python, checkpoint=False),
        FLINK_CHECKPOINTED: partial(run_on_flink, python, checkpoint=True),
    }


def main(arguments: list[str]) -> None:
    """Measures, prints a line for each case, and saves the results."""
    parser = argparse.ArgumentParser(prog="python -m docs.benchmarks.depth", description=__doc__)
    parser.add_argument("--only", default="", help="only the engines with this word in their name")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each case (%(default)s)")
    parser.add_argument("--seconds", type=float, default=8, help="of a run on the local engine (%(default)s)")
    parser.add_argument("--missing", action="store_true", help="only the cases without a result")
    parser.add_argument("--page", action="store_true", help="draw the results that there are")
    add_small(parser)
    options = parser.parse_args(arguments)
    if options.page:
        results = results_in(BENCH)
        draw(results.load(), PICTURE)
        print(*table(results.load()), sep="\n")
        return
    with extent(small=options.small) as run, TemporaryDirectory(prefix="flowalg-") as name:
        results = results_in(run.folder)
        spark = local_session("depth", log=Path(name) / "spark.log")
        runs = {
            engine: engine_run
            for engine, engine_run in {**engines(spark), **flink()}.items()
            if options.only in engine
        }
        try:
            measured = {str(result["case"]) for result in results.load()} if options.missing else set()
            for series, load in SMALL_LOADS if run.small else LOADS:
                wanted = {
                    engine: engine_run
                    for engine, engine_run in runs.items()
                    if case_of(series, engine, load) not in measured
                }
                rounds, seconds = run.at_most(options.rounds, 1), run.at_most(options.seconds, SMALL_SECONDS)
                for result in measure(series, wanted, load, rounds, seconds, Path(name)):
                    results.save(result)
                    print(
                        f"{result['case']}: p50 {result['p50_ms']} ms, p95 {result['p95_ms']} ms", flush=True
                    )
        finally:
            spark.stop()
        print(*table(results.load()), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
