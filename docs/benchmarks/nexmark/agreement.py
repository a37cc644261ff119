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
    Tables,
    has_duckdb,
    on_duckdb,
    on_local_batch,
    on_local_stream,
    on_polars,
    on_reference,
)
from docs.benchmarks.nexmark.generator import Scale
from docs.benchmarks.nexmark.query import Query, Rejected

Engine = Callable[[Query, Tables], pl.DataFrame]
FEW: Final = Scale(2_300, rate=80, files=3)
"""Half a minute of events: the least for which every query has an answer."""

Engines = Mapping[str, Sequence[Engine]]
"""The engines, each with the ways in which it runs a query, and the rivals, which are queries by hand."""

LOCAL: Final[Engines] = {
    "the reference": [on_reference],
    "the local engine": [on_local_batch, on_local_stream],
}
ON_SPARK: Final = ("Spark batch", "Spark streaming")
BY_HAND: Final = "Structured Streaming by hand"
LOCAL_RIVALS: Final[Engines] = {"Polars by hand": [on_polars]}


@frozen
class Agreement:
    """The answer to a query: its number of rows, and the engines and rivals by whether they give it.

    It is that of the SQL in DuckDB, or without DuckDB that of the reference. ``rejected`` has the errors of those that
    cannot express the query.
    """

    query: Query
    rows: int
    equal: tuple[str, ...]
    different: tuple[str, ...]
    rejected: Mapping[str, str]

    @property
    def engines(self) -> int:
        """The number of engines that were compared, without the rivals."""
        return len({*LOCAL, *ON_SPARK} & {*self.equal, *self.different})


def compare(query: Query, engines: Engines, few: Tables) -> Agreement:
    """Compares the answers of engines and rivals to a query."""
    expected = (on_duckdb if has_duckdb() else on_reference)(query, few)
    equal: list[str] = []
    different: list[str] = []
    rejected: dict[str, str] = {}
    for name, ways in engines.items():
        try:
            same = all(agree(engine(query, few), expected) for engine in ways)
        except Rejected as error:
            rejected[name] = str(error)
        else:
            (equal if same else different).append(name)
    return Agreement(query, expected.height, tuple(equal), tuple(different), rejected)


@contextmanager
def open_engines(flink: Engine | None, *, spark: bool) -> Iterator[tuple[Engines, Engines]]:
    """Gives the engines and the rivals; without ``spark`` those that need no JVM."""
    rivals = {**LOCAL_RIVALS, **({} if flink is None else {"Flink": [flink]})}
    if not spark:
        yield LOCAL, rivals
        return
    from docs.benchmarks.nexmark import on_spark
    from docs.benchmarks.nexmark.structured_streaming import on_structured_streaming

    session = on_spark.session()
    try:
        yield (
            {
                **LOCAL,
                ON_SPARK[0]: [partial(on_spark.on_batch, session)],
                ON_SPARK[1]: [partial(on_spark.on_stream, session)],
            },
            {
                **rivals,
                "SQL on Spark": [partial(on_spark.on_sql, session)],
                BY_HAND: [partial(on_structured_streaming, session)],
            },
        )
    finally:
        session.stop()
