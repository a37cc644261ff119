"""Compares the answers to a query of all engines, and of the same query by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import polars as pl
from attrs import frozen

from docs.benchmarks.nexmark.answers import agree
from docs.benchmarks.nexmark.engines import (
    CORES,
    Tables,
    has_duckdb,
    on_duckdb,
    on_local_batch,
    on_local_stream,
    on_polars,
    on_reference,
)
from docs.benchmarks.nexmark.generator import Scale
from docs.benchmarks.nexmark.query import Query

Engine = Callable[[Query, Tables], pl.DataFrame]
FEW: Final = Scale(2_300, rate=80, files=3)
"""Half a minute of events: the least for which every query has an answer."""

Engines = Mapping[str, Sequence[Engine]]
"""The engines, each with the ways in which it runs a query, and the rivals, which are queries by hand."""

LOCAL: Final[Engines] = {
    "the reference": [on_reference],
    "the local engine": [on_local_batch, on_local_stream],
}
LOCAL_RIVALS: Final[Engines] = {"Polars by hand": [on_polars]}


@frozen
class Found:
    """The answer to a query: its number of rows, and the engines and rivals by whether they give it.

    It is that of the SQL in DuckDB, or without DuckDB that of the reference.
    """

    query: Query
    rows: int
    equal: tuple[str, ...]
    different: tuple[str, ...]


def compare(query: Query, engines: Engines, few: Tables) -> Found:
    """Compares the answers of engines and rivals to a query."""
    expected = (on_duckdb if has_duckdb() else on_reference)(query, few)
    equal = {
        name: all(agree(engine(query, few), expected) for engine in ways) for name, ways in engines.items()
    }
    return Found(
        query,
        expected.height,
        tuple(name for name, agrees in equal.items() if agrees),
        tuple(name for name, agrees in equal.items() if not agrees),
    )


@contextmanager
def open_engines(*, spark: bool) -> Iterator[tuple[Engines, Engines]]:
    """Gives the engines and the rivals; without ``spark`` those that need no JVM."""
    if not spark:
        yield LOCAL, LOCAL_RIVALS
        return
    from flowalg_spark import local_session

    from docs.benchmarks.nexmark import on_spark

    session = local_session("flowalg nexmark", cores=CORES)
    try:
        yield (
            {
                **LOCAL,
                "Spark batch": [partial(on_spark.on_batch, session)],
                "Spark streaming": [partial(on_spark.on_stream, session)],
            },
            {**LOCAL_RIVALS, "SQL on Spark": [partial(on_spark.on_sql, session)]},
        )
    finally:
        session.stop()


__all__ = ["FEW", "LOCAL", "LOCAL_RIVALS", "Engines", "Found", "compare", "open_engines"]
