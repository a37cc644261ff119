"""SQL statements that SQLite and PostgreSQL share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attrs import frozen

from flowalg_sinks.databases.tables import Cell, CellKind, Column, Row, Table, require_same_columns
from flowalg_sinks.databases.target import SinkError, WrittenBatch

PROGRESS: Table = Table(
    "flowalg_sinks",
    (
        Column("table_name", CellKind.TEXT),
        Column("query", CellKind.TEXT),
        Column("batch", CellKind.INTEGER),
        Column("generation", CellKind.INTEGER, nullable=True),
        Column("input", CellKind.TEXT, nullable=True),
        Column("has_drops", CellKind.BOOLEAN),
    ),
    ("table_name",),
)
"""The table in which SQL targets record the last batch of each table."""


def progress_row(table: str, batch: WrittenBatch) -> Row:
    """Returns the row of ``PROGRESS`` for the last batch of a table."""
    return (table, batch.query, batch.batch, batch.generation, batch.input, batch.has_drops)


def written_batch(cells: Sequence[Cell]) -> WrittenBatch:
    """Returns the batch of a row of ``PROGRESS``, without the name of the table."""
    query, batch, generation, read, has_drops = cells
    if not isinstance(batch, int) or not isinstance(generation, int | None):
        raise SinkError(
            f"the table {PROGRESS.name!r} is damaged: batch and generation must be integers; got {batch!r} and "
            f"{generation!r}; restore a copy of the database"
        )
    return WrittenBatch(
        str(query),
        int(str(batch)),
        None if generation is None else int(str(generation)),
        None if read is None else str(read),
        bool(has_drops),
    )


@frozen
class ExistingColumn:
    """A column in a database: its type, whether it is nullable, and whether it is in the primary key."""

    type: str
    nullable: bool
    in_key: bool

    def __str__(self) -> str:
        null = "" if self.nullable else " NOT NULL"
        return f"{self.type}{null}{', in the primary key' if self.in_key else ''}"


def quote(name: str) -> str:
    """Quotes a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def column_list(columns: Sequence[Column]) -> str:
    """Returns the quoted names of columns, separated by commas."""
    return ", ".join(quote(column.name) for column in columns)


def create_table(table: Table, types: Mapping[CellKind, str]) -> str:
    """Returns the ``CREATE TABLE`` statement of a table."""
    columns = [
        f"{quote(column.name)} {types[column.kind]}{'' if column.nullable else ' NOT NULL'}"
        for column in table.columns
    ]
    return f"CREATE TABLE {quote(table.name)} ({', '.join(columns)}, PRIMARY KEY ({column_list(table.key_columns)}))"


def on_conflict_clause(table: Table) -> str:
    """Returns the clause that makes an ``INSERT`` replace the row with the same key."""
    others = [quote(column.name) for column in table.columns if column.name not in table.key]
    put = ", ".join(f"{name} = excluded.{name}" for name in others)
    return f"ON CONFLICT ({column_list(table.key_columns)}) DO " + (f"UPDATE SET {put}" if put else "NOTHING")


def prepare_table(
    table: Table,
    types: Mapping[CellKind, str],
    existing: Mapping[str, ExistingColumn],
    where: str,
    execute: Callable[[str], object],
) -> bool:
    """Creates a table, or checks the ``existing`` columns if it has some, and returns whether it was created."""
    if existing:
        require_columns(table, types, existing, where)
    else:
        execute(create_table(table, types))
    return not existing


def require_columns(
    table: Table, types: Mapping[CellKind, str], existing: Mapping[str, ExistingColumn], where: str
) -> None:
    """Raises ``SchemaMismatchError``, which lists every difference, if a table lacks the columns that a sink needs."""
    expected = {
        column.name: ExistingColumn(types[column.kind], column.nullable, column.name in table.key)
        for column in table.columns
    }
    require_same_columns(f"{table.name!r} in {where}", expected, existing)
