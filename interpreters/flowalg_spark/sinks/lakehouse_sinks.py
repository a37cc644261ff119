"""Sinks to Delta and Iceberg as functions for ``writeStream.foreachBatch``: Spark writes the rows, in its executors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta
from functools import cached_property

from attrs import evolve, field, frozen
from flowalg_columns.layout import fields_in
from flowalg_sinks.cells import element_columns, field_columns
from flowalg_sinks.changelogs import changelog_table
from flowalg_sinks.databases.tables import Table
from flowalg_sinks.databases.target import WrittenBatch
from flowalg_sinks.drops import drop_table
from flowalg_sinks.exactly_once import is_repetition, require_next_batch, require_written
from flowalg_sinks.options import require_options
from flowalg_sinks.pane_columns import PANE_COLUMNS, WINDOW_COLUMNS, require_element_shape
from flowalg_sinks.upsertable import require_upsertable
from flowalg_sinks.upserting import key_fields
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from flowalg.data.errors import ElementError
from flowalg.data.shapes import Shape
from flowalg.data.time import EPOCH
from flowalg.pipeline.pcollection import PCollection
from flowalg.runs.panes import Change
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import aggregate, col
from flowalg_spark.session import replace_settings
from flowalg_spark.sinks.batches import require_output
from flowalg_spark.sinks.identity import identify
from flowalg_spark.sinks.lakehouse import (
    Lakehouse,
    TableState,
    naming_conflicts,
    quote,
    require_own,
    require_schema,
)
from flowalg_spark.sinks.query import require_name
from flowalg_spark.sinks.table_rows import (
    DUPLICATE,
    drop_rows,
    latest_rows,
    ordered_rows,
    output_rows,
    table_schema,
)


@frozen
class LakehouseSink:
    """A function for ``writeStream.foreachBatch`` that writes panes or elements to a table of a lakehouse."""

    pipeline: PCollection[object]
    target: Lakehouse
    name: str
    since: int
    query: str | None = field(validator=lambda _, __, query: require_name(query))
    _own: dict[str, WrittenBatch] = field(factory=dict, init=False, eq=False, repr=False)

    @cached_property
    @abstractmethod
    def table(self) -> Table:
        """The table of the panes or elements."""
        raise NotImplementedError

    @abstractmethod
    def _write_rows(self, session: SparkSession, frame: DataFrame, batch: int, before: TableState) -> None:
        """Writes the rows of a micro-batch in one commit."""

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Writes a micro-batch if the table does not have it.

        Raises ``SinkError`` if rows would be lost, if the table is not the query's, or if another writer has committed
        meanwhile; ``SchemaMismatchError`` if the table has other columns; and ``UnsupportedError`` if the session lacks
        the format.
        """
        require_output(self.pipeline, frame)
        session = frame.sparkSession
        self.target.require(session)
        has_drops = "drop" in frame.columns
        identity, after = identify(frame, self.query, batch)
        before = self.target.find(session, self.name)
        last = None if before is None else self._last(self.name, before)
        written = evolve(identity, has_drops=has_drops or (last is not None and last.has_drops))
        own = self._own.get(self.name)
        if is_repetition(self.name, last, written, first=self.since, after=after, own=own):
            # The batch is computed nevertheless, since that commits the state of the query.
            frame.write.format("noop").mode("overwrite").save()
            return
        with naming_conflicts(self.name), _persisted(frame) if has_drops else nullcontext(frame) as rows:
            # First the drops: a batch is complete when the table itself has it.
            if has_drops:
                self._write_drops(session, rows, written, last)
            schema = table_schema(self.table, self._shape)
            state = self._prepared(session, self.table, schema, before, written)
            with replace_settings(session, self.target.settings_of(written)):
                self._write_rows(session, rows, batch, state)
        self._own[self.name] = written

    @cached_property
    def _shape(self) -> Shape:
        return require_element_shape(self.pipeline)

    def _last(self, table: str, state: TableState) -> WrittenBatch:
        """Returns the last batch of a table; that before the first one if it has none yet."""
        query = require_own(table, state)
        batch = self.since - 1 if state.batch is None else state.batch
        if state.written is not None and state.written.batch == batch:
            return evolve(state.written, query=query)
        return WrittenBatch(query, batch)

    def _prepared(
        self,
        session: SparkSession,
        table: Table,
        schema: T.StructType,
        state: TableState | None,
        batch: WrittenBatch,
    ) -> TableState:
        """Creates the table if it does not exist, else checks its columns.

        Creating it is a commit of its own, which must not be recorded as that of the batch.
        """
        if state is None:
            self.target.create(session, table.name, schema, batch.query)
            state = self.target.find(session, table.name)
            assert state is not None, "the table was created"
        require_schema(table.name, state, schema)
        return state

    def _write_drops(
        self, session: SparkSession, frame: DataFrame, batch: WrittenBatch, before: WrittenBatch | None
    ) -> None:
        """Appends the drops, unless an earlier attempt has done so."""
        table = drop_table(self.name)
        state = self.target.find(session, table.name)
        written = before if before is not None and before.has_drops else None
        require_written(table.name, written, created=state is None, of=self.name)
        if state is not None:
            last = self._last(table.name, state)
            if last.query != batch.query:
                require_next_batch(table.name, last, batch, first=self.since)
            if state.batch is not None and state.batch >= batch.batch:
                if last.batch == batch.batch:
                    is_repetition(table.name, last, batch, first=self.since, own=last)
                return
        prepared = self._prepared(session, table, table_schema(table), state, batch)
        rows = ordered_rows(drop_rows(self.pipeline, frame), batch.batch)
        with replace_settings(session, self.target.settings_of(batch)):
            self.target.append(session, table.name, rows, batch.batch, prepared)


@frozen
class LakehouseUpsert(LakehouseSink):
    """A sink that maintains a table of current values in Delta or Iceberg; ``upsert`` makes one."""

    by: tuple[str, ...] = field(kw_only=True)

    @cached_property
    def table(self) -> Table:
        """The table of current values."""
        fields = dict(fields_in(self._shape))
        key = [column for name in self.by for column in field_columns(name, fields[name])]
        columns = (*element_columns(self._shape), *WINDOW_COLUMNS, *PANE_COLUMNS)
        return Table(self.name, columns, tuple(column.name for column in (*key, *WINDOW_COLUMNS)))

    def _write_rows(self, session: SparkSession, frame: DataFrame, batch: int, before: TableState) -> None:
        # A merge reads its rows several times. A checkpoint computes them once, by the action that reads the bounds,
        # and hides functions in Python, which Iceberg rejects as not deterministic.
        rows = latest_rows(output_rows(self.pipeline, frame), self.table.key).localCheckpoint(eager=False)
        low, high = self._bounds(rows)
        session.sql(self._statement(low, high), rows=rows)
        self.target.require_alone(session, self.name, before)

    def _bounds(self, rows: DataFrame) -> tuple[datetime, datetime]:
        """Returns the first and the last start of a window, by which the merge skips files.

        Raises ``ElementError`` if two elements of one pane have the same key.
        """
        start, key = sql.unix_micros(col("window_start")), sql.struct(*map(col, self.table.key))
        duplicate = sql.when(col(DUPLICATE), sql.to_json(key))
        row = aggregate(rows, (), [sql.min(start), sql.max(start), sql.min(duplicate)]).first()
        assert row is not None, "an aggregate has a row"
        low, high, duplicate = row
        if duplicate is not None:
            raise ElementError(
                f"several elements of one pane are equal by {', '.join(self.by) or 'no fields'}, so they have the same "
                f"row: {duplicate}; pass by=... with fields that distinguish them, or use changelog(...)"
            )
        return EPOCH + timedelta(microseconds=low or 0), EPOCH + timedelta(microseconds=high or 0)

    def _statement(self, low: datetime, high: datetime) -> str:
        """Returns the merge of ``{rows}`` into the table. Keys can be null, which equals null."""
        names = [quote(column.name) for column in self.table.columns]
        same = " AND ".join(f"t.{quote(name)} <=> s.{quote(name)}" for name in self.table.key)
        within = " AND ".join(
            f"t.window_start {sign} TIMESTAMP '{bound.isoformat()}'"
            for sign, bound in ((">=", low), ("<=", high))
        )
        others = [name for name in names if name not in map(quote, self.table.key)]
        # Braces would be fields of PySpark's formatter.
        into = self.target.identifier(self.name).replace("{", "{{").replace("}", "}}")
        return (
            f"MERGE INTO {into} AS t USING {{rows}} AS s ON {same} AND {within} "
            f"WHEN MATCHED AND s.change = '{Change.RETRACTION.value}' THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{name} = s.{name}' for name in others)} "
            f"WHEN NOT MATCHED AND s.change = '{Change.VALUE.value}' THEN "
            f"INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{name}' for name in names)})"
        )


@frozen
class LakehouseChangelog(LakehouseSink):
    """A sink that appends panes or elements to a table of Delta or Iceberg; ``changelog`` makes one."""

    @cached_property
    def table(self) -> Table:
        """The table of the panes or elements."""
        return changelog_table(self.pipeline, self.name)

    def _write_rows(self, session: SparkSession, frame: DataFrame, batch: int, before: TableState) -> None:
        # Spark samples the rows to sort them, so it would compute them twice.
        with _persisted(frame) as kept:
            rows = ordered_rows(output_rows(self.pipeline, kept), batch)
            self.target.append(session, self.name, rows, batch, before)


@contextmanager
def _persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Persists a frame for several actions, each of which would compute it, unless it is persisted."""
    if frame.is_cached:
        yield frame
        return
    kept = frame.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


def lakehouse_upsert(
    pipeline: PCollection[object],
    target: Lakehouse,
    table: str,
    by: Sequence[str] | None,
    query: str | None,
    since: int,
) -> LakehouseUpsert:
    """Returns a sink that maintains a table of current values."""
    _require_options(pipeline, target, table, since)
    require_upsertable(pipeline.node)
    sink = LakehouseUpsert(pipeline, target, table, since, query, by=key_fields(pipeline, by))
    _ = sink.table
    return sink


def lakehouse_changelog(
    pipeline: PCollection[object], target: Lakehouse, table: str, query: str | None, since: int
) -> LakehouseChangelog:
    """Returns a sink that appends every pane or element to a table."""
    _require_options(pipeline, target, table, since)
    sink = LakehouseChangelog(pipeline, target, table, since, query)
    _ = sink.table
    return sink


def _require_options(pipeline: PCollection[object], target: Lakehouse, table: str, since: int) -> None:
    require_options(pipeline, table, since)
    # With an active session, a missing format raises here and not in the first micro-batch.
    session = SparkSession.getActiveSession()
    if session is not None:
        target.require(session)
