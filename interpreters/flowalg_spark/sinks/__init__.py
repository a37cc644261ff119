"""Sinks for panes: tables that a streaming query writes exactly once.

``upsert`` maintains a table of the current values: the latest value of each key and window that is not retracted.
``changelog`` appends every pane, and ``late_data`` every element that was dropped. They return a function for
``writeStream.foreachBatch``, and ``route`` makes one of several, for the outputs of ``streaming.compile``. They write
to a ``Target``: ``SQLite``, ``DuckDB``, ``PostgreSQL``, or any class with its six methods. The rows of a micro-batch
and its number are one transaction of the target, so a micro-batch that Spark repeats changes nothing. Tables of
``Delta`` and ``Iceberg``, except of late data, are written by Spark itself, and each micro-batch is one version of a
table.
"""

from flowalg_sinks.databases.duckdb import DuckDB
from flowalg_sinks.databases.postgresql import PostgreSQL
from flowalg_sinks.databases.sqlite import SQLite
from flowalg_sinks.databases.tables import Cell, CellKind, Column, Row, Table
from flowalg_sinks.databases.target import SinkError, Target, Transaction, WrittenBatch

from flowalg_spark.sinks.delta import Delta
from flowalg_spark.sinks.foreach_batch import Changelog, LateData, Upsert, changelog, late_data, upsert
from flowalg_spark.sinks.iceberg import Iceberg
from flowalg_spark.sinks.lakehouse import Lakehouse, TableState
from flowalg_spark.sinks.lakehouse_sinks import LakehouseChangelog, LakehouseUpsert
from flowalg_spark.sinks.routing import BatchSink, Route, route

__all__ = [
    "BatchSink",
    "Cell",
    "CellKind",
    "Changelog",
    "Column",
    "Delta",
    "DuckDB",
    "Iceberg",
    "Lakehouse",
    "LakehouseChangelog",
    "LakehouseUpsert",
    "LateData",
    "PostgreSQL",
    "Route",
    "Row",
    "SQLite",
    "SinkError",
    "Table",
    "TableState",
    "Target",
    "Transaction",
    "Upsert",
    "WrittenBatch",
    "changelog",
    "late_data",
    "route",
    "upsert",
]
