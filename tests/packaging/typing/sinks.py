"""Sinks: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import assert_type

from flowalg_sinks import SinkBatch
from flowalg_sinks.postgresql import PostgreSQLTransaction
from flowalg_sinks.sqlite import SQLiteTransaction
from flowalg_spark import PaneFrame
from flowalg_spark.sinks import (
    BatchSink,
    Cell,
    Changelog,
    Column,
    Delta,
    Iceberg,
    Kind,
    Lakehouse,
    LakehouseChangelog,
    LakehouseUpsert,
    PostgreSQL,
    Route,
    Row,
    SinkError,
    SQLite,
    Table,
    TableState,
    Target,
    Transaction,
    Upsert,
    WrittenBatch,
    changelog,
    route,
    upsert,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from flowalg import KV, Pane, PCollection


def targets(file: SQLite, server: PostgreSQL, table: Table) -> None:
    """The databases that are supported."""
    assert_type(SQLite("panes.db"), SQLite)
    assert_type(SQLite(Path("panes.db")).path, str)
    assert_type(PostgreSQL("dbname=panes"), PostgreSQL)
    assert_type(server.conninfo, str)
    assert_type(PostgreSQL("dbname=panes", timeout=timedelta(seconds=5)).timeout, timedelta)
    assert_type(file.rows(table), list[Row])
    assert_type(server.rows(table), list[Row])
    with file.transaction() as in_file:
        assert_type(in_file, SQLiteTransaction)
    with server.transaction() as in_server:
        assert_type(in_server, PostgreSQLTransaction)
    assert_type(file.transaction().__enter__(), SQLiteTransaction)
    assert_type(server.transaction().__enter__(), PostgreSQLTransaction)


def tables(table: Table, column: Column, kind: Kind, written: WrittenBatch) -> None:
    """The description of a table for a target."""
    assert_type(Table("t", (Column("a", Kind.TEXT, nullable=True),), ("a",)), Table)
    assert_type(table.name, str)
    assert_type(table.columns, tuple[Column, ...])
    assert_type(table.key, tuple[str, ...])
    assert_type(table.key_columns, tuple[Column, ...])
    assert_type(column.name, str)
    assert_type(column.kind, Kind)
    assert_type(column.nullable, bool)
    assert_type(WrittenBatch("query", 3), WrittenBatch)
    assert_type(written.query, str)
    assert_type(written.batch, int)
    assert_type(written.generation, int | None)
    assert_type(written.input, str | None)
    assert_type(written.has_drops, bool)
    assert_type(SinkError("no"), SinkError)


def protocol(target: Target, transaction: Transaction, table: Table, row: Row, written: WrittenBatch) -> None:
    """The methods of a target."""
    assert_type(target.transaction(), AbstractContextManager[Transaction])
    assert_type(transaction.last_batch("t"), WrittenBatch | None)
    transaction.record_batch("t", written)
    assert_type(transaction.prepare(table), bool)
    transaction.delete(table, [row[:1]])
    transaction.put(table, [row])
    cells: list[Cell] = [None, True, 1, 1.5, "x", b"x"]
    assert_type(tuple(cells), tuple[Cell, ...])
    assert_type(row, Row)


class CustomTarget:
    """A user-defined target."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """The body does not matter here."""
        raise NotImplementedError


def sinks(
    totals: PCollection[KV[str, int]],
    names: PCollection[str],
    panes: PaneFrame[KV[str, int]],
    batch: SinkBatch[KV[str, int]],
    written: WrittenBatch,
    some: tuple[Pane[KV[str, int]], ...],
    latest: Upsert,
    log: Changelog,
) -> None:
    """Functions for ``foreachBatch``."""
    assert_type(upsert(totals, SQLite("panes.db"), table="totals"), Upsert)
    assert_type(upsert(names, CustomTarget(), table="names", by=["value"], query="names", since=3), Upsert)
    assert_type(changelog(totals, PostgreSQL("dbname=panes"), table="log"), Changelog)
    assert_type(changelog(totals, CustomTarget(), table="log", query="names", since=3), Changelog)
    assert_type(panes.writeStream.foreachBatch(latest), DataStreamWriter)
    assert_type(panes.with_drops().writeStream.foreachBatch(log), DataStreamWriter)
    assert_type(latest.pipeline, PCollection[object])
    assert_type(latest.target, Target)
    assert_type(latest.name, str)
    assert_type(latest.by, tuple[str, ...])
    assert_type(latest.query, str | None)
    assert_type(latest.since, int)
    assert_type(latest.table, Table)
    assert_type(latest.changes(some), tuple[list[Row], list[Row]])
    assert_type(latest.write(batch, written), bool)
    assert_type(log.pipeline, PCollection[object])
    assert_type(log.target, Target)
    assert_type(log.name, str)
    assert_type(log.query, str | None)
    assert_type(log.since, int)
    assert_type(log.table, Table)
    assert_type(log.rows(3, batch.output), list[Row])
    assert_type(log.write(batch, written), bool)


def routes(latest: Upsert, log: Changelog, own: BatchSink, frame: DataFrame, both: Route) -> None:
    """A function for ``foreachBatch`` that writes several outputs."""
    assert_type(route({"totals": latest, "log": log, "own": own}), Route)
    assert_type(route({"names": lambda rows, batch: rows.show()}), Route)
    assert_type(both.sinks, Mapping[str, BatchSink])
    assert_type(own(frame, 3), None)
    assert_type(both(frame, 3), None)


def lakehouses(
    place: Lakehouse,
    in_delta: Delta,
    in_iceberg: Iceberg,
    session: SparkSession,
    state: TableState,
    schema: StructType,
    rows: DataFrame,
) -> None:
    """Places of tables that Spark writes."""
    assert_type(Delta("tables"), Delta)
    assert_type(Delta(Path("tables")).path, str | None)
    assert_type(Delta(schema="panes").schema, str | None)
    assert_type(Iceberg("lake.panes").schema, str)
    assert_type(in_delta.identifier("totals"), str)
    assert_type(in_delta.require(session), None)
    assert_type(in_delta.find(session, "totals"), TableState | None)
    assert_type(in_delta.create(session, "totals", schema, "query"), None)
    assert_type(in_delta.settings_of(WrittenBatch("query", 3)), Mapping[str, str])
    assert_type(in_delta.append(session, "totals", rows, 3, state), None)
    assert_type(in_delta.require_alone(session, "totals", state), None)
    assert_type(in_iceberg.identifier("totals"), str)
    assert_type(in_iceberg.require(session), None)
    assert_type(in_iceberg.find(session, "totals"), TableState | None)
    assert_type(in_iceberg.create(session, "totals", schema, "query"), None)
    assert_type(in_iceberg.settings_of(WrittenBatch("query", 3)), Mapping[str, str])
    assert_type(in_iceberg.append(session, "totals", rows, 3, state), None)
    assert_type(in_iceberg.require_alone(session, "totals", state), None)
    assert_type(place.identifier("totals"), str)
    assert_type(place.require(session), None)
    assert_type(place.find(session, "totals"), TableState | None)
    assert_type(place.create(session, "totals", schema, "query"), None)
    assert_type(place.settings_of(WrittenBatch("query", 3)), Mapping[str, str])
    assert_type(place.append(session, "totals", rows, 3, state), None)
    assert_type(place.require_alone(session, "totals", state), None)
    assert_type(state.query, str | None)
    assert_type(state.batch, int | None)
    assert_type(state.schema, StructType)
    assert_type(state.version, int | None)
    assert_type(state.written, WrittenBatch | None)


def lakehouse_sinks(
    totals: PCollection[KV[str, int]],
    frame: DataFrame,
    place: Lakehouse,
    latest: LakehouseUpsert,
    log: LakehouseChangelog,
) -> None:
    """Functions for ``foreachBatch`` that write tables of a lakehouse."""
    assert_type(
        upsert(totals, Delta("tables"), table="totals", by=["key"], query="q", since=3), LakehouseUpsert
    )
    assert_type(changelog(totals, Iceberg("lake.panes"), table="log", query="q", since=3), LakehouseChangelog)
    assert_type(upsert(totals, place, table="totals"), LakehouseUpsert)
    assert_type(latest(frame, 3), None)
    assert_type(latest.pipeline, PCollection[object])
    assert_type(latest.target, Lakehouse)
    assert_type(latest.name, str)
    assert_type(latest.by, tuple[str, ...])
    assert_type(latest.query, str | None)
    assert_type(latest.since, int)
    assert_type(latest.table, Table)
    assert_type(log(frame, 3), None)
    assert_type(log.pipeline, PCollection[object])
    assert_type(log.target, Lakehouse)
    assert_type(log.name, str)
    assert_type(log.query, str | None)
    assert_type(log.since, int)
    assert_type(log.table, Table)
