"""Rows of PostgreSQL, by psycopg."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from attrs import field, frozen
from flowalg_sinks.databases.connecting import connect, driver, require_conninfo

from flowalg.data.errors import ArgumentError
from flowalg_snapshots.snapshots import ReadRows

_TIMEOUT: Final = timedelta(minutes=1)
"""How long to wait for the server."""


@frozen
class _Query:
    # A connection string may contain a password.
    conninfo: str = field(repr=False)
    query: str

    def __call__(self) -> Sequence[dict[str, object]]:
        """Returns the rows of the query; a single query reads one snapshot of the database."""
        from psycopg.rows import dict_row

        with connect(self.conninfo, _TIMEOUT) as connection:
            connection.read_only = True
            return connection.cursor(row_factory=dict_row).execute(self.query.encode()).fetchall()


def postgresql_rows(conninfo: str, query: str) -> ReadRows:
    """Returns a function that returns the rows of a query, by a new connection, for ``Snapshots``.

    ``conninfo`` is a connection string or URI of libpq. Needs ``flowalg[spark,postgresql]``.

    Example::

        postgresql_rows("host=db.example.org dbname=shop", "SELECT item, cents FROM prices")
    """
    driver("postgresql_rows")
    require_conninfo("postgresql_rows: conninfo", conninfo, "host=db.example.org dbname=shop")
    if not isinstance(query, str):
        raise ArgumentError(
            "postgresql_rows: query", query, "a query, such as 'SELECT item, cents FROM prices'"
        )
    return _Query(conninfo, query)
