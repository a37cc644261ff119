"""Times the local engine: batches beside Polars and DuckDB, streams beside Polars by hand: ``make bench-local``.

``python -m docs.benchmarks.local [--rows N] [--rounds N] [--only WORD] [--spark] [--small]`` writes ``local.json``
and ``local-streams.json`` in ``build/bench``, and keeps the results of other cases.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

os.environ.setdefault("POLARS_MAX_THREADS", "2")

import polars as pl

from docs.benchmarks.batch.data import ROWS, files
from docs.benchmarks.batch.measuring import median_seconds, run_in_turns
from docs.benchmarks.local import streaming
from docs.benchmarks.local.by_hand import COLUMNS, numbered
from docs.benchmarks.local.rivals import peak_memory, rivals
from docs.benchmarks.small import add_small, extent

WARM: Final = 1.0
"""Warm-up seconds of each rival."""


def compare(
    query: str, data: Path, rows: int, rounds: int, seconds: float, *, memory: bool
) -> dict[str, object]:
    """Times all rivals of a query, with their peak ``memory``; raises ``ValueError`` if their results differ."""
    by_name = rivals(query, files(data, rows))
    summaries = {}
    for name, compute in by_name.items():
        answer = numbered(compute())
        summaries[name] = (answer.height, int(answer.hash_rows(seed=0).cast(pl.Int128()).sum()))
    if len(set(summaries.values())) > 1:
        raise ValueError(f"{query}: the results differ: {summaries} (rows, hash)")
    runs = run_in_turns(by_name, rounds, warm_up=min(WARM, seconds), least=seconds)
    medians = {name: median_seconds(measured) for name, measured in runs.items()}
    return {
        "query": query,
        "rows": rows,
        "rounds": len(runs["flowalg"]),
        **{f"{name}_s": round(median, 3) for name, median in medians.items()},
        "to_polars": round(medians["flowalg"] / medians["polars"], 3),
        "to_duckdb": round(medians["flowalg"] / medians["duckdb"], 3),
        **(
            {f"{name}_peak_mib": peak_memory(query, name, data, rows) >> 20 for name in by_name}
            if memory
            else {}
        ),
        "load": round(os.getloadavg()[0], 1),
        **{f"{name}_all_s": [round(run.seconds, 3) for run in measured] for name, measured in runs.items()},
    }


HEADINGS: Final = {
    "query": "query",
    "flowalg_s": "flowalg",
    "polars_s": "Polars",
    "duckdb_s": "DuckDB",
    "to_polars": "ratio to Polars",
    "to_duckdb": "ratio to DuckDB",
    "flowalg_peak_mib": "peak MiB",
    "polars_peak_mib": "Polars",
    "duckdb_peak_mib": "DuckDB",
}


def table(results: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """The results as the table of ``docs/performance.md``."""
    yield f"| {' | '.join(HEADINGS.values())} |"
    yield f"| --- |{' ---: |' * (len(HEADINGS) - 1)}"
    for result in results:
        yield f"| {' | '.join(str(result.get(name, '')) for name in HEADINGS)} |"


def main(arguments: Sequence[str]) -> None:
    """Prints a line for each query, and saves the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="sales in the data (%(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="timed runs of each, at least (%(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=10, help="timed seconds of each, at least (%(default)s)"
    )
    parser.add_argument("--only", default="", help="only the cases with this word in their name")
    parser.add_argument("--spark", action="store_true", help="run the streams on time on Spark too")
    add_small(parser)
    options = parser.parse_args(arguments)
    with extent(small=options.small) as run:
        results = run.results("local.json", "query", list(COLUMNS))
        rows, rounds = run.at_most(options.rows, 20_000), run.at_most(options.rounds, 1)
        for query in COLUMNS:
            if options.only in query:
                # Of a small run, only the first query has the peak memory, which takes a process each.
                memory = not run.small or query == next(iter(COLUMNS))
                seconds = run.at_most(options.seconds, 0)
                result = compare(query, run.data, rows, rounds, seconds, memory=memory)
                results.save(result)
                print(
                    f"{query:30} {result['flowalg_s']:>8} s, Polars {result['polars_s']:>8} s, "
                    f"DuckDB {result['duckdb_s']:>8} s, ratios {result['to_polars']}, {result['to_duckdb']}",
                    flush=True,
                )
        print(*table(results.load()), sep="\n")
        streaming.measure(run, options.only, rounds, spark=options.spark)


if __name__ == "__main__":
    main(sys.argv[1:])
