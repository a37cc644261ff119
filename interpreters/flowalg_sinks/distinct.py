"""The tables of several sinks, which must be distinct: a table has the batches of one output."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from flowalg.data.errors import ArgumentError
from flowalg_sinks.databases.duckdb import DuckDB
from flowalg_sinks.databases.sqlite import SQLite
from flowalg_sinks.drops import drop_table

TableOfTarget: TypeAlias = tuple[object, str]
"""A target and the name of a table in it."""


def require_distinct_tables(outputs: Mapping[str, Iterable[TableOfTarget]]) -> None:
    """Raises ``ArgumentError`` if two sinks write to one table, or one to the table of drops of another.

    ``outputs`` has the target and the table of each sink, by the name of its output.
    """
    claims: list[tuple[TableOfTarget, str]] = []
    for output, tables in outputs.items():
        for target, table in tables:
            own = [_place(target, name) for name in (table, drop_table(table).name)]
            for place in own:
                other = next((name for claimed, name in claims if claimed == place), None)
                if other is not None:
                    both = (
                        f"the outputs {other!r} and {output!r} both write"
                        if other != output
                        else f"two sinks of the output {output!r} write"
                    )
                    raise ArgumentError(
                        "sinks", place[1], "sinks of distinct tables", why=f"{both} to this table"
                    )
            claims += [(place, output) for place in own]


def _place(target: object, table: str) -> TableOfTarget:
    """Returns what is equal for names of one table: files have many paths, and their databases ignore case."""
    if isinstance(target, SQLite | DuckDB):
        return os.path.realpath(target.path), table.lower()
    return target, table
