"""Sinks as functions for ``writeStream.foreachBatch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import flowalg_sinks
from attrs import field, frozen
from flowalg_sinks.databases.target import Target
from flowalg_sinks.pane_sink import PaneSink
from pyspark.sql import DataFrame

from flowalg.pipeline.pcollection import PCollection
from flowalg_spark.callbacks import exits_as_errors
from flowalg_spark.sinks.batches import read_batch
from flowalg_spark.sinks.identity import identify
from flowalg_spark.sinks.lakehouse import Lakehouse
from flowalg_spark.sinks.lakehouse_sinks import (
    LakehouseChangelog,
    LakehouseUpsert,
    lakehouse_changelog,
    lakehouse_upsert,
)
from flowalg_spark.sinks.query import require_name


@frozen
class Upsert(flowalg_sinks.Upsert):
    """A function for ``writeStream.foreachBatch`` that maintains a table of current values; ``upsert`` makes one."""

    query: str | None = field(default=None, validator=lambda _, __, query: require_name(query))

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Writes a micro-batch if the table does not have it. Raises ``SinkError`` if rows would be lost."""
        _write(self, self.query, frame, batch)


@frozen
class Changelog(flowalg_sinks.Changelog):
    """A function for ``writeStream.foreachBatch`` that appends panes to a table; ``changelog`` makes one."""

    query: str | None = field(default=None, validator=lambda _, __, query: require_name(query))

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Writes a micro-batch if the table does not have it. Raises ``SinkError`` if rows would be lost."""
        _write(self, self.query, frame, batch)


@frozen
class LateData(flowalg_sinks.LateData):
    """A function for ``writeStream.foreachBatch`` that appends dropped elements to a table; ``late_data`` makes one."""

    query: str | None = field(default=None, validator=lambda _, __, query: require_name(query))

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Writes a micro-batch if the table does not have it. Raises ``SinkError`` if rows would be lost."""
        _write(self, self.query, frame, batch)


def _write(sink: PaneSink, query: str | None, frame: DataFrame, batch: int) -> None:
    with exits_as_errors(f"the sink of the table {sink.name!r}"):
        written, after = identify(frame, query, batch)
        # A repeated batch is read too, since the action commits the state of the query.
        sink.write(read_batch(sink.pipeline, frame), written, after=after)


@overload
def upsert(
    pipeline: PCollection[object],
    target: Lakehouse,
    *,
    table: str,
    by: Sequence[str] | None = None,
    query: str | None = None,
    since: int = 0,
) -> LakehouseUpsert: ...


@overload
def upsert(
    pipeline: PCollection[object],
    target: Target,
    *,
    table: str,
    by: Sequence[str] | None = None,
    query: str | None = None,
    since: int = 0,
) -> Upsert: ...


def upsert(
    pipeline: PCollection[object],
    target: Target | Lakehouse,
    *,
    table: str,
    by: Sequence[str] | None = None,
    query: str | None = None,
    since: int = 0,
) -> Upsert | LakehouseUpsert:
    """Returns ``flowalg_sinks.upsert`` as a function for ``foreachBatch``: a table of current values.

    Pass the result to ``writeStream.foreachBatch`` of a frame that ``streaming.compile`` returned for the same
    pipeline, with or without drops. ``query`` is the id of the query, if Spark has none (over Connect): a name for this
    checkpoint only. Tables of ``Delta`` and ``Iceberg`` are written by Spark itself, in its executors.
    """
    if isinstance(target, Lakehouse):
        return lakehouse_upsert(pipeline, target, table, by, query, since)
    sink = flowalg_sinks.upsert(pipeline, target, table=table, by=by, since=since)
    return Upsert(sink.pipeline, sink.target, sink.name, sink.since, sink.by, query)


@overload
def changelog(
    pipeline: PCollection[object],
    target: Lakehouse,
    *,
    table: str,
    query: str | None = None,
    since: int = 0,
) -> LakehouseChangelog: ...


@overload
def changelog(
    pipeline: PCollection[object],
    target: Target,
    *,
    table: str,
    query: str | None = None,
    since: int = 0,
) -> Changelog: ...


def changelog(
    pipeline: PCollection[object],
    target: Target | Lakehouse,
    *,
    table: str,
    query: str | None = None,
    since: int = 0,
) -> Changelog | LakehouseChangelog:
    """Returns ``flowalg_sinks.changelog`` as a function for ``foreachBatch``: a table of all panes, in order.

    Pass the result to ``writeStream.foreachBatch`` of a frame that ``streaming.compile`` returned for the same
    pipeline, with or without drops. ``query`` is as in ``upsert``.
    """
    if isinstance(target, Lakehouse):
        return lakehouse_changelog(pipeline, target, table, query, since)
    sink = flowalg_sinks.changelog(pipeline, target, table=table, since=since)
    return Changelog(sink.pipeline, sink.target, sink.name, sink.since, query)


def late_data(
    pipeline: PCollection[object],
    target: Target,
    *,
    table: str,
    query: str | None = None,
    since: int = 0,
) -> LateData:
    """Returns ``flowalg_sinks.late_data`` as a function for ``foreachBatch``: a table of all dropped elements.

    Pass the result to ``writeStream.foreachBatch`` of ``with_drops()`` of a frame that ``streaming.compile`` returned
    for the same pipeline with ``late_data=True``. ``query`` is as in ``upsert``.
    """
    sink = flowalg_sinks.late_data(pipeline, target, table=table, since=since)
    return LateData(sink.pipeline, sink.target, sink.name, sink.since, query)
