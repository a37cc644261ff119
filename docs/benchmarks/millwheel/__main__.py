"""Times computations on both streaming engines: ``make bench-millwheel``.

``python -m docs.benchmarks.millwheel [--only WORD] [--rounds N] [--page] [--small]`` writes
``build/bench/millwheel.json`` and keeps its results for other cases. With ``--page`` it measures nothing, but writes
the tables and the pictures of the page ``docs/millwheel.md`` from the results.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

os.environ.setdefault("POLARS_MAX_THREADS", "2")

from flowalg_spark import local_session
from pyspark.sql import SparkSession

from docs.benchmarks.millwheel import local, on_spark
from docs.benchmarks.millwheel.data import Scale
from docs.benchmarks.millwheel.latency import (
    LOCAL,
    PRODUCTIONS,
    lag_case,
    latency_case,
    local_lag,
    local_latency,
)
from docs.benchmarks.millwheel.latency_on_spark import SPARK, spark_lag, spark_latency
from docs.benchmarks.millwheel.pictures import draw
from docs.benchmarks.millwheel.pipelines import STAGES
from docs.benchmarks.millwheel.tables import PAGE, TABLES, page_with
from docs.benchmarks.results import Result, Results
from docs.benchmarks.small import add_small, extent
from docs.benchmarks.stream.comparing import CORES

ON_LOCAL: Final[Mapping[str, Callable[[Scale], list[Result]]]] = {
    local.THROUGHPUT: local.throughput,
    local.LATENCY: local.latency,
    local.GROWTH: local.growth,
    f"latency, {LOCAL}": local_latency,
    lag_case(LOCAL): local_lag,
}
ON_SPARK: Final = {
    on_spark.COUNTER: on_spark.counter,
    on_spark.DEDUPLICATE: on_spark.deduplicate,
    on_spark.GROWTH: on_spark.growth,
    on_spark.CACHE: on_spark.cache,
    f"latency, {SPARK}": spark_latency,
    lag_case(SPARK): spark_lag,
}


def results_of(scale: Scale) -> Results:
    """Returns the file of results."""
    names = [
        local.THROUGHPUT,
        local.LATENCY,
        *(f"{local.GROWTH}, {count:,}" for count in scale.dormant),
        *on_spark.names(scale.dormant),
        *(
            latency_case(engine, stages, production)
            for engine in (LOCAL, SPARK)
            for stages in STAGES
            for production in PRODUCTIONS
        ),
        *map(lag_case, (LOCAL, SPARK)),
    ]
    return Results(scale.folder / "millwheel.json", "case", names)


def measure(scale: Scale, only: str, results: Results) -> None:
    """Measures the cases with a word in their name, and saves and prints their results."""
    for case, run in ON_LOCAL.items():
        if only in case:
            _keep(run(scale), results)
    chosen = {case: run for case, run in ON_SPARK.items() if only in case}
    if not chosen:
        return
    spark = local_session("flowalg bench", cores=CORES, memory="8g", log=scale.folder / "millwheel.log")
    try:
        for run_on_spark in chosen.values():
            _keep(on_scratch(run_on_spark, spark, scale), results)
    finally:
        spark.stop()


def on_scratch(
    run: Callable[[SparkSession, Scale, Path], list[Result]], spark: SparkSession, scale: Scale
) -> list[Result]:
    """Runs a case in a folder of its own, which is removed."""
    scratch = scale.folder / "millwheel"
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        return run(spark, scale, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _keep(measured: Sequence[Result], results: Results) -> None:
    for result in measured:
        results.save({**result, "load": round(os.getloadavg()[0], 1)})
        shown = {name: value for name, value in result.items() if isinstance(value, int | float)}
        print(
            f"{result['case']:60} {', '.join(f'{name} {value}' for name, value in shown.items())}", flush=True
        )


def main(arguments: Sequence[str]) -> None:
    """Measures, and prints the tables; or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=Scale().rounds, help="rounds that count (%(default)s)")
    parser.add_argument("--only", default="", help="only the cases with this word in their name")
    parser.add_argument(
        "--page", action="store_true", help="write the page from the results, without measuring"
    )
    add_small(parser)
    options = parser.parse_args(arguments)
    if options.page:
        results = results_of(Scale())
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), results.load()), encoding="utf-8")
        print(*draw(results.load()), sep="\n")
        return
    with extent(small=options.small) as run:
        scale = Scale.of(run, options.rounds)
        results = results_of(scale)
        measure(scale, options.only, results)
        by_case = {str(result["case"]): result for result in results.load()}
        for table in TABLES.values():
            print("", *table(by_case), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
