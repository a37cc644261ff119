"""Rows of PostgreSQL, by psycopg."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, frozen

from flowalg.data.errors import ArgumentError, MissingExtraError
from flowalg_snapshots.snapshots import ReadRows


@frozen
class _Query:
    # A connection string may contain a password.
    conninfo: str = field(repr=False)
    query: str

    def __call__(self) -> Sequence[dict[str, object]]:
        """Returns the rows of the query; a single query reads one snapshot of the database."""
        import psycopg
        from psycopg.rows import dict_row

        with psycopg.connect(self.conninfo) as connection:
            connection.read_only = True
            connection.execute("SET TIME ZONE 'UTC'")
            return connection.cursor(row_factory=dict_row).execute(self.query.encode()).fetchall()


def postgresql_rows(conninfo: str, query: str) -> ReadRows:
    """Returns a function that returns the rows of a query, by a new connection, for ``Snapshots``.

    ``conninfo`` is a connection string or URI of libpq. Needs ``flowalg[postgresql]``.

    Example::

        postgresql_rows("host=db.example.org dbname=shop", "SELECT item, cents FROM prices")
    """
    for name, value, example in (
        ("conninfo", conninfo, "a connection string, such as 'host=db.example.org dbname=shop'"),
        ("query", query, "a query, such as 'SELECT item, cents FROM prices'"),
    ):
        if not isinstance(value, str):
            raise ArgumentError(f"postgresql_rows: {name}", value, example)
    try:
        import psycopg as _  # noqa: F401
    except ImportError as missing:
        raise MissingExtraError(
            "postgresql_rows needs the package psycopg: pip install 'flowalg[postgresql]'"
        ) from missing
    return _Query(conninfo, query)


__all__ = ["postgresql_rows"]
