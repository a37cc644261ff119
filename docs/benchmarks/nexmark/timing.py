"""Times each query beside the same query by hand: on Spark beside its SQL, locally beside Polars and DuckDB."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from attrs import evolve, frozen

from docs.benchmarks.batch.measuring import median_seconds, run_in_turns
from docs.benchmarks.nexmark.agreement import BY_HAND, Agreement
from docs.benchmarks.nexmark.engines import Tables, database, from_sql, has_duckdb, local_batch
from docs.benchmarks.nexmark.generator import Scale, tables
from docs.benchmarks.nexmark.on_flink import Flink
from docs.benchmarks.nexmark.polars_by_hand import in_polars
from docs.benchmarks.nexmark.query import Query
from docs.benchmarks.results import Result

Rivals = Mapping[str, Callable[[], object]]
WARM: Final = 1.0
"""Warm-up seconds of each rival, of one run at least."""


@frozen
class Effort:
    """The events of batches and of Spark's streams, 0 for none, and the least rounds and seconds of each rival."""

    events: int
    stream_events: int
    rounds: int
    seconds: float


PAIRS: Final = (
    ("spark", "spark_sql"),
    ("stream", "stream_by_hand"),
    ("local", "polars"),
    ("local", "duckdb"),
    ("beside_flink", "flink"),
)
"""The names of flowalg's versions, and of those that they are divided by."""


def measure_all(
    answers: Sequence[Agreement], data: Path, effort: Effort, flink: Flink | None, *, spark: bool
) -> Iterator[Result]:
    """Yields the medians and the ratios of each query whose answer was found."""
    batch, stream = (
        tables(data, Scale(events)) if events else None for events in (effort.events, effort.stream_events)
    )
    sizes = {"events": effort.events, "stream_events": effort.stream_events}
    with _comparisons(batch, stream, spark=spark) as makers:
        for answer in answers:
            result = measure(answer.query, [maker(answer) for maker in makers], effort)
            if flink is not None and batch is not None:
                # Flink takes so much longer that more rounds would not change the result.
                beside = flink_rivals(answer.query, batch, flink)
                result |= measure(answer.query, [beside], evolve(effort, rounds=1, seconds=0))
            yield result | {name: size for name, size in sizes.items() if size}


def measure(query: Query, comparisons: Sequence[Rivals], effort: Effort) -> Result:
    """Returns the medians and the ratios of a query. The rivals of one comparison run in turns."""
    result: Result = {"query": query.label, "load": round(os.getloadavg()[0], 1)}
    for rivals in comparisons:
        runs = run_in_turns(rivals, effort.rounds, warm_up=min(WARM, effort.seconds), least=effort.seconds)
        medians = {name: median_seconds(measured) for name, measured in runs.items()}
        for name, measured in runs.items():
            result[f"{name}_s"] = round(medians[name], 3)
            result[f"{name}_all_s"] = [round(run.seconds, 3) for run in measured]
        for name, other in PAIRS:
            if name in medians and other in medians:
                result[f"{name}_to_{other}"] = round(medians[name] / medians[other], 3)
    return result


@contextmanager
def _comparisons(
    batch: Tables | None, stream: Tables | None, *, spark: bool
) -> Iterator[Sequence[Callable[[Agreement], Rivals]]]:
    """Gives what makes the rivals of a query, over the tables of batches and of streams, if there are any."""
    makers: list[Callable[[Agreement], Rivals]] = []
    if batch is not None:
        makers.append(lambda answer: local_rivals(answer.query, batch))
    if not spark:
        yield makers
        return
    from docs.benchmarks.nexmark import on_spark, structured_streaming

    session = on_spark.session()
    if stream is not None:
        makers.append(
            lambda answer: structured_streaming.rivals(
                session, answer.query, stream, rejected=BY_HAND in answer.rejected
            )
        )
    try:
        if batch is not None:
            on_spark.create_views(session, batch)
            makers.append(lambda answer: on_spark.rivals(session, answer.query))
        yield makers
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


def flink_rivals(query: Query, where: Tables, flink: Flink) -> Rivals:
    """Returns the functions that compute a query in this process and in Flink, which discards the rows."""
    return {
        "beside_flink": lambda: local_batch(query, where).collect(engine="streaming"),
        "flink": lambda: flink.run(query, where),
    }


HEADINGS: Final = {
    "query": "query",
    "spark_s": "Spark batch",
    "spark_to_spark_sql": "to Spark SQL",
    "stream_s": "Spark streaming",
    "stream_to_stream_by_hand": "to Structured Streaming",
    "local_s": "local",
    "local_to_polars": "to Polars",
    "local_to_duckdb": "to DuckDB",
    "beside_flink_to_flink": "to Flink",
}
"""The columns of the table: seconds, and ratios to the times of the others."""


def table(results: Sequence[Result]) -> Iterator[str]:
    """Yields the lines of a table of results, and their medians; those without times are left out."""
    timed = [result for result in results if "local_s" in result]
    yield f"| {' | '.join(HEADINGS.values())} |"
    yield f"| --- |{' ---: |' * (len(HEADINGS) - 1)}"
    for result in timed:
        yield f"| {' | '.join(_cell(result, name) for name in HEADINGS)} |"
    medians = (
        f"{median(ratios):.2f}"
        if "_to_" in name and (ratios := [float(str(result[name])) for result in timed if name in result])
        else ""
        for name in list(HEADINGS)[1:]
    )
    if timed:
        yield f"| **median** | {' | '.join(medians)} |"


def _cell(result: Result, name: str) -> str:
    value = result.get(name)
    if value is None:
        return "rejected" if name == "stream_to_stream_by_hand" and "stream_s" in result else ""
    return value if isinstance(value, str) else f"{value:.2f}"
