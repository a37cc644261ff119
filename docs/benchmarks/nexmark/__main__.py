"""Compares the answers to the queries of Nexmark on all engines, and then the times: ``make nexmark``.

``python -m docs.benchmarks.nexmark [--only 5 7] [--no-spark] [--events N] [--stream-events M] [--compared] [--page]
[--small]`` writes ``build/bench/nexmark.json``, and keeps the results of other queries. Times are only measured with
``--events``, those of streams over ``M`` events, or with ``--small``. An answer that differs ends the program before a
time is printed. With ``--compared`` the answers are those of the last run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

os.environ.setdefault("POLARS_MAX_THREADS", "2")

from docs.benchmarks.nexmark.agreement import FEW, Agreement, compare, open_engines
from docs.benchmarks.nexmark.engines import has_duckdb
from docs.benchmarks.nexmark.generator import tables
from docs.benchmarks.nexmark.on_flink import Flink, flink
from docs.benchmarks.nexmark.page import PAGE, page_with
from docs.benchmarks.nexmark.queries.all import QUERIES
from docs.benchmarks.nexmark.query import Query
from docs.benchmarks.nexmark.timing import Effort, measure_all, table
from docs.benchmarks.results import Result, Results
from docs.benchmarks.small import Extent, add_small, extent

ANSWER: Final = ("rows", "equal", "different", "rejected")
"""What is saved of the answers to a query."""
SMALL_EVENTS: Final = 2_300
"""The events whose times a small run measures."""


def main(arguments: Sequence[str]) -> int:
    """Prints a line for each query, and saves the results; returns 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, nargs="+", default=range(len(QUERIES)), help="numbers of queries")
    parser.add_argument("--no-spark", action="store_true", help="only the engines that need no JVM")
    parser.add_argument("--events", type=int, help="also measure the times over so many events")
    parser.add_argument(
        "--stream-events",
        type=int,
        help="the events of Spark's streams, 0 for no streams (as many as --events)",
    )
    parser.add_argument(
        "--compared", action="store_true", help="measure the queries that agreed in the last run"
    )
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each, at least (%(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=5, help="timed seconds of each, at least (%(default)s)"
    )
    parser.add_argument("--page", action="store_true", help="update the tables of docs/evaluation.md")
    add_small(parser)
    options = parser.parse_args(arguments)
    if options.page:
        text = page_with(PAGE.read_text(encoding="utf-8"), _results(Extent()).load())
        PAGE.write_text(text, encoding="utf-8")
        return 0
    with extent(small=options.small) as run:
        return _run(options, run)


def _run(options: argparse.Namespace, run: Extent) -> int:
    """Compares, and measures if there are events to measure."""
    results = _results(run)
    if not has_duckdb():
        print("DuckDB is skipped: it is not installed; pip install duckdb")
    queries, spark = [query for query in QUERIES if query.number in options.only], not options.no_spark
    with flink() as running:
        if options.compared:
            by_label = {query.label: _known(query, results) for query in queries}
            answers = [answer for answer in by_label.values() if answer is not None]
            missing = ", ".join(label for label, answer in by_label.items() if answer is None)
            if missing:
                print(
                    f"nothing is measured: no earlier run has answers of {missing}; run it without --compared"
                )
        else:
            answers = list(_compare_all(queries, run, running, spark=spark))
        agreed = sum(not answer.different for answer in answers)
        events = SMALL_EVENTS if run.small else options.events
        if agreed == len(queries) and events is not None:
            streamed = events if options.stream_events is None else options.stream_events
            rounds, seconds = run.at_most(options.rounds, 1), run.at_most(options.seconds, 0)
            effort = Effort(events, streamed, rounds, seconds)
            for result in measure_all(answers, run.data, effort, running, spark=spark):
                _save(result, results)
            print(*table(results.load()), sep="\n")
    engines = min((answer.engines for answer in answers), default=0)
    print(f"nexmark: {agreed} of {len(queries)} agree on {engines} engines")
    return int(agreed < len(queries))


def _results(run: Extent) -> Results:
    """Returns the file of results."""
    return run.results("nexmark.json", "query", [query.label for query in QUERIES])


def _compare_all(
    queries: Sequence[Query], run: Extent, running: Flink | None, *, spark: bool
) -> Iterator[Agreement]:
    """Compares and saves the answers to queries, with a line for each."""
    few, results = tables(run.data, FEW), _results(run)
    with open_engines(running.answer if running is not None else None, spark=spark) as (engines, rivals):
        for query in queries:
            answer = compare(query, {**engines, **rivals}, few)
            print(f"{query.label:32} {answer.rows:>6} rows, {_outcome(answer)}", flush=True)
            _save({"query": query.label, **{name: getattr(answer, name) for name in ANSWER}}, results)
            yield answer


def _known(query: Query, results: Results) -> Agreement | None:
    """Returns the answers to a query in the last run, or ``None`` if it was not compared."""
    for result in results.load():
        if result["query"] == query.label and all(name in result for name in ANSWER):
            answer: Any = result
            return Agreement(query, *(answer[name] for name in ANSWER))
    return None


def _outcome(answer: Agreement) -> str:
    different = f"DIFFERENT on {', '.join(answer.different)}" if answer.different else "equal"
    rejections = (f"; rejected by {name}: {error}" for name, error in answer.rejected.items())
    return different + "".join(rejections)


def _save(result: Result, results: Results) -> None:
    """Adds to what is known of a query."""
    stored = {str(earlier["query"]): earlier for earlier in results.load()}
    results.save({**stored.get(str(result["query"]), {}), **result})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
