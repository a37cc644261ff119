"""The answers of a query on the engines that need no JVM: the reference, the local engine, and DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import flowalg_reference as reference
import polars as pl
from flowalg_polars import batch, streaming
from flowalg_polars.streaming import StreamInput

from docs.benchmarks.nexmark.answers import CHANGE, columns_of, from_frame, from_run
from docs.benchmarks.nexmark.generator import BEGIN, DELAY
from docs.benchmarks.nexmark.model import (
    ARRIVALS,
    AUCTIONS,
    BIDS,
    ENTRIES,
    PERSONS,
    TABLES,
    AnyTable,
    Auction,
    Bid,
    Entry,
    Person,
)
from docs.benchmarks.nexmark.polars_by_hand import in_polars
from docs.benchmarks.nexmark.query import Query
from flowalg import BoundedOutOfOrderness, MonotonicTimestamps, Source, Timeline
from flowalg.pipeline import sources
from flowalg.watermarks import WatermarkPolicy

if TYPE_CHECKING:
    import duckdb

Tables = Mapping[str, Path]
"""The folder of Parquet files of each table."""

E = TypeVar("E", Person, Auction, Bid)

CORES: Final = 2
SECOND: Final = timedelta(seconds=1)


def inputs_of(query: Query) -> dict[AnyTable, str]:
    """Returns the sources of a query, and their tables."""
    names = {source.name for source in sources(query.pipeline)}
    return {source: table for source, table in TABLES.items() if source.name in names}


def policy_of(source: Source[object]) -> WatermarkPolicy:
    """Returns a watermark that is never wrong: events are out of order by less than ``DELAY``, and arrivals never."""
    return MonotonicTimestamps() if source == ARRIVALS else BoundedOutOfOrderness(DELAY)


def timelines(query: Query, tables: Tables) -> dict[AnyTable, Timeline[object]]:
    """Returns the inputs of a query as timelines, with an instant for each second of arrival."""
    inputs: dict[AnyTable, Timeline[object]] = {}
    for source, table in inputs_of(query).items():
        rows = pl.read_parquet(tables[table] / "*.parquet").rows(named=True)
        if source == ENTRIES:
            inputs[source] = Timeline.batch([Entry(**row) for row in rows], time=BEGIN)
        elif source == PERSONS:
            inputs[source] = _timeline(PERSONS, [Person(**row) for row in rows])
        elif source == AUCTIONS:
            inputs[source] = _timeline(AUCTIONS, [Auction(**row) for row in rows])
        else:
            bids = BIDS if source == BIDS else ARRIVALS
            inputs[source] = _timeline(bids, [Bid(**row) for row in rows])
    return inputs


def _timeline(source: Source[E], events: list[E]) -> Timeline[E]:
    return Timeline.from_records(
        source,
        events,
        processing_time=lambda event: event.arrived,
        watermark=policy_of(source),
        every=SECOND,
    )


def on_reference(query: Query, tables: Tables) -> pl.DataFrame:
    """Returns the answer of the reference interpreter over a stream."""
    run = reference.run(query.pipeline, timelines(query, tables))
    _require_no_drops(query, "the reference", sum(drop.count for drop in run.dropped))
    return from_run(run)


def on_local_batch(query: Query, tables: Tables) -> pl.DataFrame:
    """Returns the answer of the local engine over a batch."""
    return from_frame(local_batch(query, tables).collect(engine="streaming"))


def local_batch(query: Query, tables: Tables) -> pl.LazyFrame:
    """Returns a query of the local engine over a batch."""
    inputs = {source: str(tables[table]) for source, table in inputs_of(query).items()}
    return batch.compile(query.pipeline, inputs).select(columns_of(query.pipeline))


def on_local_stream(query: Query, tables: Tables) -> pl.DataFrame:
    """Returns the answer of the local engine over a stream, with a micro-batch for each file."""
    inputs = {
        source: StreamInput(tables[table], policy_of(source)) for source, table in inputs_of(query).items()
    }
    frames, dropped = [], 0
    for micro_batch in streaming.batches(query.pipeline, inputs, drain=True):
        columns = columns_of(query.pipeline)
        frames.append(micro_batch.frame.select(*columns, *({CHANGE} & set(micro_batch.frame.columns))))
        dropped += micro_batch.dropped_count
    _require_no_drops(query, "the local engine", dropped)
    return from_frame(pl.concat(frames))


def on_polars(query: Query, tables: Tables) -> pl.DataFrame:
    """Returns the answer of a query by hand in Polars."""
    return from_frame(in_polars(query, tables).collect(engine="streaming"))


def on_duckdb(query: Query, tables: Tables) -> pl.DataFrame:
    """Returns the answer of DuckDB to the SQL of a query."""
    return from_frame(from_sql(database(tables), query.sql))


def has_duckdb() -> bool:
    """Whether DuckDB is installed."""
    return find_spec("duckdb") is not None


def database(tables: Tables) -> duckdb.DuckDBPyConnection:
    """Returns a database with the tables as views."""
    import duckdb

    connection = duckdb.connect(config={"threads": CORES})
    # The session's zone decides where days and windows begin.
    connection.execute("SET timezone = 'UTC'")
    for name, folder in tables.items():
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{folder}/*.parquet'")
    return connection


def from_sql(connection: duckdb.DuckDBPyConnection, sql: str) -> pl.DataFrame:
    """Returns the rows of a query in SQL."""
    table = connection.sql(sql).to_arrow_table()
    frame = pl.from_arrow(table.rename_columns([f"c{number}" for number in range(table.num_columns)]))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _require_no_drops(query: Query, engine: str, dropped: int) -> None:
    if dropped:
        raise ValueError(f"{query.label}: {engine} dropped {dropped} elements, and must drop none")
