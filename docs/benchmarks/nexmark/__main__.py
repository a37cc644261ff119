"""Compares the answers to the queries of Nexmark on all engines, and then the times: ``make nexmark``.

``python -m docs.benchmarks.nexmark [--only 5 7] [--no-spark] [--events N] [--page]`` writes
``build/bench/nexmark.json``, and keeps the results of other queries. Times are only measured with ``--events``. An
answer that differs ends the program before a time is printed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

os.environ.setdefault("POLARS_MAX_THREADS", "2")

from docs.benchmarks.nexmark.agreement import FEW, Found, compare, open_engines
from docs.benchmarks.nexmark.engines import has_duckdb
from docs.benchmarks.nexmark.generator import tables
from docs.benchmarks.nexmark.on_flink import flink
from docs.benchmarks.nexmark.page import PAGE, page_with
from docs.benchmarks.nexmark.queries.all import QUERIES
from docs.benchmarks.nexmark.timing import Effort, measure_all, table
from docs.benchmarks.results import Result, Results

BUILD: Final = Path(__file__).parents[3] / "build"
DATA: Final = BUILD / "bench" / "data"
RESULTS: Final = Results(BUILD / "bench" / "nexmark.json", "query", [query.label for query in QUERIES])


def main(arguments: Sequence[str]) -> int:
    """Prints a line for each query, and saves the results; returns 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, nargs="+", default=range(len(QUERIES)), help="numbers of queries")
    parser.add_argument("--no-spark", action="store_true", help="only the engines that need no JVM")
    parser.add_argument("--events", type=int, help="also measure the times over so many events")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each, at least (%(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=5, help="timed seconds of each, at least (%(default)s)"
    )
    parser.add_argument("--page", action="store_true", help="update the table of docs/evaluation.md")
    options = parser.parse_args(arguments)
    if options.page:
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    if not has_duckdb():
        print("DuckDB is skipped: it is not installed; pip install duckdb")
    queries, spark = [query for query in QUERIES if query.number in options.only], not options.no_spark
    few, answers = tables(DATA, FEW), []
    with flink() as running:
        with open_engines(running.answer if running is not None else None, spark=spark) as (engines, rivals):
            for query in queries:
                found = compare(query, {**engines, **rivals}, few)
                answers.append(found)
                print(f"{query.label:32} {found.rows:>6} rows, {_outcome(found)}", flush=True)
                _save(
                    {
                        "query": query.label,
                        "rows": found.rows,
                        "equal": list(found.equal),
                        "rejected": dict(found.rejected),
                    }
                )
        agreed = sum(not found.different for found in answers)
        if agreed == len(queries) and options.events is not None:
            effort = Effort(options.events, options.rounds, options.seconds)
            for result in measure_all(answers, DATA, effort, running, spark=spark):
                _save(result)
            print(*table(RESULTS.load()), sep="\n")
    print(f"nexmark: {agreed} of {len(queries)} agree on {len(engines)} engines")
    return int(agreed < len(queries))


def _outcome(found: Found) -> str:
    different = f"DIFFERENT on {', '.join(found.different)}" if found.different else "equal"
    rejections = (f"; rejected by {name}: {error}" for name, error in found.rejected.items())
    return different + "".join(rejections)


def _save(result: Result) -> None:
    """Adds to what is known of a query."""
    known = {str(each["query"]): each for each in RESULTS.load()}
    RESULTS.save({**known.get(str(result["query"]), {}), **result})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
