"""Times each query beside the same query by hand: on Spark beside its SQL, locally beside Polars and DuckDB."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from attrs import frozen

from docs.benchmarks.batch.measuring import median_seconds, run_in_turns
from docs.benchmarks.nexmark.engines import CORES, Tables, database, from_sql, has_duckdb, local_batch
from docs.benchmarks.nexmark.generator import Scale, tables
from docs.benchmarks.nexmark.polars_by_hand import in_polars
from docs.benchmarks.nexmark.query import Query
from docs.benchmarks.results import Result

Rivals = Mapping[str, Callable[[], object]]
WARM: Final = 1.0
"""Warm-up seconds of each rival, of one run at least."""


@frozen
class Effort:
    """The events, and the least rounds and seconds of each rival."""

    events: int
    rounds: int
    seconds: float


PAIRS: Final = (("spark", "spark_sql"), ("local", "polars"), ("local", "duckdb"))
"""The names of flowalg's versions, and of those that they are divided by."""


def measure_all(queries: Sequence[Query], data: Path, effort: Effort, *, spark: bool) -> Iterator[Result]:
    """Yields the medians and the ratios of each query."""
    where = tables(data, Scale(effort.events))
    with _rivals(where, spark=spark) as makers:
        for query in queries:
            yield measure(query, [maker(query) for maker in makers], effort)


def measure(query: Query, comparisons: Sequence[Rivals], effort: Effort) -> Result:
    """Returns the medians and the ratios of a query. The rivals of one comparison run in turns."""
    result: Result = {
        "query": query.label,
        "events": effort.events,
        "load": round(os.getloadavg()[0], 1),
    }
    for rivals in comparisons:
        runs = run_in_turns(rivals, effort.rounds, warm_up=WARM, least=effort.seconds)
        medians = {name: median_seconds(measured) for name, measured in runs.items()}
        for name, measured in runs.items():
            result[f"{name}_s"] = round(medians[name], 3)
            result[f"{name}_all_s"] = [round(run.seconds, 3) for run in measured]
        for name, other in PAIRS:
            if name in medians and other in medians:
                result[f"{name}_to_{other}"] = round(medians[name] / medians[other], 3)
    return result


@contextmanager
def _rivals(where: Tables, *, spark: bool) -> Iterator[Sequence[Callable[[Query], Rivals]]]:
    locally = partial(local_rivals, where=where)
    if not spark:
        yield [locally]
        return
    from flowalg_spark import local_session

    from docs.benchmarks.nexmark import on_spark

    session = local_session("flowalg nexmark", cores=CORES, memory="8g")
    try:
        on_spark.create_views(session, where)
        yield [lambda query: on_spark.rivals(session, query, where), locally]
    finally:
        session.stop()


def local_rivals(query: Query, where: Tables) -> Rivals:
    """Returns the functions that compute a query in this process, from scanning its files to a frame in memory."""
    rivals: dict[str, Callable[[], object]] = {
        "local": lambda: local_batch(query, where).collect(engine="streaming"),
        "polars": lambda: in_polars(query, where).collect(engine="streaming"),
    }
    if has_duckdb():
        connection = database(where)
        rivals["duckdb"] = lambda: from_sql(connection, query.sql)
    return rivals


HEADINGS: Final = {
    "query": "query",
    "spark_s": "Spark batch",
    "spark_sql_s": "Spark SQL",
    "spark_to_spark_sql": "ratio",
    "local_s": "local",
    "polars_s": "Polars",
    "local_to_polars": "ratio",
    "duckdb_s": "DuckDB",
    "local_to_duckdb": "ratio",
}


def table(results: Sequence[Result]) -> Iterator[str]:
    """Yields the lines of a table of results; those without times are left out."""
    yield f"| {' | '.join(HEADINGS.values())} |"
    yield f"| --- |{' ---: |' * (len(HEADINGS) - 1)}"
    for result in results:
        if "local_s" in result:
            yield f"| {' | '.join(str(result.get(name, '')) for name in HEADINGS)} |"


__all__ = ["Effort", "local_rivals", "measure", "measure_all", "table"]
