"""What bad rows cost a batch with dead letters, on the local engine and on Spark: ``make bench-dirty``.

A filter that divides, and a sum in windows, over the sales of ``make bench-batch``. In the dirty sales one row in 200
is bad, spread out: half of these have no user, and the filter divides by zero on the others. Each run computes the
panes and the dead letters. The rivals take turns: dirty sales, clean sales, and clean sales without dead letters.
``python -m docs.benchmarks.dirty [--rows N] [--rounds N] [--small]`` writes ``build/bench/dirty.json``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import flowalg_polars
import flowalg_spark
import polars as pl
from pyspark.sql import SparkSession

from docs.benchmarks.batch.data import files
from docs.benchmarks.batch.measuring import median_seconds, run_in_turns
from docs.benchmarks.batch.pipelines import MINUTE, SALES
from docs.benchmarks.small import Extent, add_small, extent
from flowalg import FixedWindows, Sum

ROWS: Final = 2_000_000
EVERY: Final = 200
ENGINES: Final = ("local", "Spark")

PIPELINE: Final = (
    SALES.filter(lambda s: 100_000 // s.amount > 110)
    .key_by(lambda s: s.user)
    .map_values(lambda s: s.amount)
    .window(FixedWindows(MINUTE))
    .combine_per_key(Sum())
)


def write_dirty(clean: Path, folder: Path) -> Path:
    """Returns a folder of the sales in which one row in ``EVERY`` is bad; writes it if it is missing."""
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        unfinished.mkdir(exist_ok=True)
        number = pl.int_range(pl.len())
        is_bad, is_odd = number % EVERY == 7, number // EVERY % 2 == 1
        for path in sorted(clean.glob("*.parquet")):
            user = pl.when(~is_bad | is_odd).then("user")
            amount = pl.when(~is_bad | ~is_odd).then("amount").otherwise(pl.lit(0, pl.Int64()))
            changed = pl.read_parquet(path).with_columns(user.alias("user"), amount.alias("amount"))
            changed.write_parquet(unfinished / path.name)
        unfinished.rename(folder)
    return folder


def rivals_of(engine: str, spark: SparkSession, dirty: Path, clean: Path) -> Mapping[str, Callable[[], int]]:
    """Returns the runs of an engine, by name. Each returns the number of dead letters."""

    def local(sales: Path, *, dead_letters: bool) -> int:
        frame = pl.scan_parquet(sales / "*.parquet")
        panes = flowalg_polars.batch.compile(PIPELINE, {SALES: frame}, dead_letters=dead_letters)
        if not dead_letters:
            panes.collect()
            return 0
        return pl.collect_all([panes, panes.dead_letters()])[1].height

    def on_spark(sales: Path, *, dead_letters: bool) -> int:
        frame = spark.read.parquet(str(sales))
        panes = flowalg_spark.batch.compile(PIPELINE, {SALES: frame}, dead_letters=dead_letters)
        panes.write.format("noop").mode("overwrite").save()
        return panes.dead_letters().count() if dead_letters else 0

    run = local if engine == "local" else on_spark
    return {
        "dirty": lambda: run(dirty, dead_letters=True),
        "clean": lambda: run(clean, dead_letters=True),
        "without": lambda: run(clean, dead_letters=False),
    }


def compare(
    engine: str, spark: SparkSession, dirty: Path, clean: Path, rounds: int, *, small: bool
) -> dict[str, object]:
    """Times the runs of an engine; raises ``ValueError`` if they find other bad rows than there are."""
    rivals = rivals_of(engine, spark, dirty, clean)
    is_bad = pl.col("user").is_null() | (pl.col("amount") == 0)
    bad = pl.scan_parquet(dirty / "*.parquet").select(is_bad.sum()).collect().item()
    found = {name: run() for name, run in rivals.items()}
    if not bad or found != {"dirty": bad, "clean": 0, "without": 0}:
        raise ValueError(f"{engine}: {found} dead letters, and {bad} bad rows")
    options = {"warm_up": 0.0, "least": 0.0} if small else {"warm_up": 5.0, "least": 10.0}
    runs = run_in_turns(rivals, rounds, **options)
    seconds = {name: median_seconds(measured) for name, measured in runs.items()}
    return {
        "engine": engine,
        **{f"{name}_s": round(median, 3) for name, median in seconds.items()},
        "to_clean": round(seconds["dirty"] / seconds["clean"], 3),
        "to_without": round(seconds["dirty"] / seconds["without"], 3),
    }


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each engine, and saves the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="sales in the data (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each, at least (%(default)s)")
    add_small(parser)
    options = parser.parse_args(arguments)
    with extent(small=options.small) as run:
        measure(run, options.rows, options.rounds)


def measure(run: Extent, rows: int, rounds: int) -> None:
    """Measures both engines."""
    results = run.results("dirty.json", "engine", ENGINES)
    rows, rounds = run.at_most(rows, 4_000), run.at_most(rounds, 1)
    clean = files(run.data, rows).sales
    dirty = write_dirty(clean, clean.with_name("dirty-sales"))
    spark = flowalg_spark.local_session("flowalg bench")
    try:
        for engine in ENGINES:
            result = compare(engine, spark, dirty, clean, rounds, small=run.small)
            results.save(result)
            print(", ".join(f"{name} {value}" for name, value in result.items()), flush=True)
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
