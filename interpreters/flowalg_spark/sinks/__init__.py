"""Sinks that understand panes: tables that a streaming query writes to, each batch exactly once.

``upsert`` keeps a table of what stands: the latest value of each key and window that is not taken back. ``changelog``
appends every pane. Each gives a function for ``writeStream.foreachBatch``. They write to a ``Target``: ``SQLite`` and
``PostgreSQL`` are here, and any other database is six methods away. The rows of a batch and its number are one
transaction of the target, so that a batch that Spark gives again changes nothing.
"""

from flowalg_sinks.postgresql import PostgreSQL
from flowalg_sinks.sqlite import SQLite
from flowalg_sinks.tables import Cell, Column, Kind, Row, Table
from flowalg_sinks.target import SinkError, Target, Transaction, Written

from flowalg_spark.sinks.changelogs import Changelog, changelog
from flowalg_spark.sinks.upserting import Upsert, upsert

__all__ = [
    "Cell",
    "Changelog",
    "Column",
    "Kind",
    "PostgreSQL",
    "Row",
    "SQLite",
    "SinkError",
    "Table",
    "Target",
    "Transaction",
    "Upsert",
    "Written",
    "changelog",
    "upsert",
]
