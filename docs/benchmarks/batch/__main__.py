"""Times every query as compiled by flowalg and as written by hand, in turns: ``make bench-batch``.

``python -m docs.benchmarks.batch [--rows N] [--rounds N] [--only WORD] [--more] [--small]`` writes
``build/bench/batch.json`` and keeps its results for other queries. With ``--more`` it also times the query by hand over
checked rows, and all columns of flowalg's result.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from flowalg_spark import batch, local_session
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from docs.benchmarks.batch import others
from docs.benchmarks.batch.data import ROWS, Files, Offer, Sale, files
from docs.benchmarks.batch.measuring import WARM, median_seconds, run_in_turns
from docs.benchmarks.batch.pipelines import OFFERS, SALES
from docs.benchmarks.batch.queries import QUERIES, Query, summary
from docs.benchmarks.small import Extent, add_small, extent
from flowalg import Source

CORES: Final = 2


def execute(frame: DataFrame) -> None:
    """Computes a frame and discards the result."""
    frame.write.format("noop").mode("overwrite").save()


def reject_nulls(frame: DataFrame) -> DataFrame:
    """Returns the frame with an error for each null: the checks of a source, written by hand."""
    return frame.select(
        *(F.coalesce(name, F.raise_error(F.lit(f"{name} is null"))).alias(name) for name in frame.columns)
    )


def compare(
    query: Query, spark: SparkSession, where: Files, rows: int, rounds: int, *, more: bool, small: bool
) -> dict[str, object]:
    """Times both versions of a query; raises ``ValueError`` if their results differ."""
    sales, offers = (spark.read.parquet(str(path)) for path in (where.sales, where.offers))

    def compiled() -> DataFrame:
        inputs: dict[Source[Sale] | Source[Offer], DataFrame] = {SALES: sales}
        if query.joins:
            inputs[OFFERS] = offers
        return batch.compile(query.pipeline, inputs)

    summaries = summary(compiled(), query.of_panes), summary(query.by_hand(sales, offers), query.of_rows)
    if summaries[0] != summaries[1]:
        raise ValueError(
            f"{query.name}: flowalg returns {summaries[0]}, and the query by hand {summaries[1]} (rows, hash)"
        )
    versions: dict[str, Callable[[], None]] = {
        "flowalg": lambda: execute(compiled().select(*query.output)),
        "by_hand": lambda: execute(query.by_hand(sales, offers)),
    }
    if more:
        versions["all_columns"] = lambda: execute(compiled())
        versions["by_hand_checked"] = lambda: execute(
            query.by_hand(reject_nulls(sales), reject_nulls(offers))
        )
    runs = run_in_turns(versions, rounds, warm_up=0 if small else WARM, least=0 if small else None)
    medians = {f"{name}_s": round(median_seconds(summaries), 3) for name, summaries in runs.items()}
    flowalg_seconds, by_hand_seconds = median_seconds(runs["flowalg"]), median_seconds(runs["by_hand"])
    return {
        "query": query.name,
        "rows": rows,
        "rounds": len(runs["flowalg"]),
        "lifted": query.lifted,
        **medians,
        "ratio": round(flowalg_seconds / by_hand_seconds, 3),
        "rows_per_s": round(rows / flowalg_seconds),
        "flowalg_peak_mib": max(run.memory for run in runs["flowalg"]) >> 20,
        "by_hand_peak_mib": max(run.memory for run in runs["by_hand"]) >> 20,
        **{
            f"{engine.lower()}_s": round(others.seconds(engine, query.name, where.sales, CORES, rounds), 3)
            for engine in ("Polars", "DuckDB")
            if query.name in others.QUERIES
        },
        "flowalg_all_s": [round(run.seconds, 3) for run in runs["flowalg"]],
        "by_hand_all_s": [round(run.seconds, 3) for run in runs["by_hand"]],
    }


COLUMNS: Final = {
    "query": "query",
    "rows": "rows",
    "flowalg_s": "flowalg",
    "by_hand_s": "by hand",
    "ratio": "ratio",
    "by_hand_checked_s": "by hand with checks",
    "all_columns_s": "with all columns",
    "rows_per_s": "rows per second",
    "flowalg_peak_mib": "peak MiB",
    "by_hand_peak_mib": "by hand",
    "polars_s": "Polars",
    "duckdb_s": "DuckDB",
}


def table(results: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """The results as the table of ``docs/performance.md``."""
    yield f"| {' | '.join(COLUMNS.values())} |"
    yield f"| --- |{' ---: |' * (len(COLUMNS) - 1)}"
    for result in results:
        cells = (result.get(name, "") for name in COLUMNS)
        yield f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else str(cell) for cell in cells)} |"


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each query, and saves the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="sales in the data (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each, at least (%(default)s)")
    parser.add_argument("--only", default="", help="only the queries with this word in their name")
    parser.add_argument("--more", action="store_true", help="also by hand with checks, and with all columns")
    add_small(parser)
    options = parser.parse_args(arguments)
    with extent(small=options.small) as run:
        measure(run, options.only, options.rows, options.rounds, more=options.more)


def measure(run: Extent, only: str, rows: int, rounds: int, *, more: bool) -> None:
    """Measures the queries with a word in their name, and prints all results."""
    results = run.results("batch.json", "query", [query.name for query in QUERIES])
    rows, rounds = run.at_most(rows, 2_000), run.at_most(rounds, 1)
    where = files(run.data, rows)
    spark = local_session("flowalg bench", cores=CORES, memory="8g")
    try:
        for query in QUERIES:
            if only in query.name:
                result = compare(query, spark, where, rows, rounds, more=more, small=run.small)
                results.save(result)
                print(
                    f"{query.name:30} {result['flowalg_s']:>8} s, by hand {result['by_hand_s']:>8} s, "
                    f"ratio {result['ratio']}",
                    flush=True,
                )
    finally:
        spark.stop()
    print(*table(results.load()), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
