"""The statements of SQL that two databases have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from flowalg.data.errors import SchemaMismatchError
from flowalg_sinks.tables import Column, Kind, Table

PROGRESS: Table = Table(
    "flowalg_sinks",
    (Column("table_name", Kind.TEXT), Column("query", Kind.TEXT), Column("batch", Kind.INTEGER)),
    ("table_name",),
)
"""Where SQL targets keep which batch of which query has written to a table last."""


@frozen
class Found:
    """A column as a database has it: its type, whether it takes nulls, and whether it is of the primary key."""

    type: str
    nullable: bool
    in_key: bool

    def __str__(self) -> str:
        null = "" if self.nullable else " NOT NULL"
        return f"{self.type}{null}{', of the primary key' if self.in_key else ''}"


def quoted(name: str) -> str:
    """An identifier of SQL, whatever it is made of."""
    return '"' + name.replace('"', '""') + '"'


def names(columns: Sequence[Column]) -> str:
    """Columns, as a list."""
    return ", ".join(quoted(one.name) for one in columns)


def create_table(table: Table, types: Mapping[Kind, str]) -> str:
    """The statement that makes a table."""
    columns = [
        f"{quoted(one.name)} {types[one.kind]}{'' if one.nullable else ' NOT NULL'}" for one in table.columns
    ]
    return (
        f"CREATE TABLE {quoted(table.name)} ({', '.join(columns)}, PRIMARY KEY ({names(table.key_columns)}))"
    )


def in_place(table: Table) -> str:
    """The end of an ``INSERT`` that takes the place of a row with the same key."""
    others = [quoted(one.name) for one in table.columns if one.name not in table.key]
    put = ", ".join(f"{one} = excluded.{one}" for one in others)
    return f"ON CONFLICT ({names(table.key_columns)}) DO " + (f"UPDATE SET {put}" if put else "NOTHING")


def require_columns(table: Table, types: Mapping[Kind, str], found: Mapping[str, Found], where: str) -> None:
    """Raises ``SchemaMismatchError`` for a table that is not as it would be made, with every difference."""
    wanted = {one.name: Found(types[one.kind], one.nullable, one.name in table.key) for one in table.columns}
    lines = [
        f"  {name}: {found.get(name, 'missing')}; it must be {one}"
        for name, one in wanted.items()
        if found.get(name) != one
    ]
    lines += [
        f"  {name}: {one}; the sink has no such column" for name, one in found.items() if name not in wanted
    ]
    if lines:
        raise SchemaMismatchError(
            f"the table {table.name!r} in {where} is not the one that this sink writes:\n" + "\n".join(lines)
        )


__all__ = ["PROGRESS", "Found", "create_table", "in_place", "names", "quoted", "require_columns"]
