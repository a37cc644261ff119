"""Sinks for panes: tables that a query writes exactly once, and their targets, SQLite, DuckDB and PostgreSQL.

``upsert`` maintains a table of the current values: the latest value of each key and window that is not retracted.
``changelog`` appends every pane, and ``late_data`` every element that was dropped. They write to a ``Target``:
``SQLite``, ``DuckDB``, ``PostgreSQL``, or any class with its methods. The rows of a micro-batch and its number are one
transaction of the target, so a micro-batch that an engine repeats changes nothing. Both streaming engines use them.
"""

from flowalg_sinks.changelogs import Changelog, LateData, changelog, late_data
from flowalg_sinks.databases.duckdb import DuckDB
from flowalg_sinks.databases.postgresql import PostgreSQL
from flowalg_sinks.databases.sqlite import SQLite
from flowalg_sinks.databases.tables import Cell, CellKind, Column, Row, Table
from flowalg_sinks.databases.target import SinkError, Target, Transaction, WrittenBatch
from flowalg_sinks.pane_sink import PaneSink, SinkBatch
from flowalg_sinks.upserting import Upsert, upsert

__all__ = [
    "Cell",
    "CellKind",
    "Changelog",
    "Column",
    "DuckDB",
    "LateData",
    "PaneSink",
    "PostgreSQL",
    "Row",
    "SQLite",
    "SinkBatch",
    "SinkError",
    "Table",
    "Target",
    "Transaction",
    "Upsert",
    "WrittenBatch",
    "changelog",
    "late_data",
    "upsert",
]
