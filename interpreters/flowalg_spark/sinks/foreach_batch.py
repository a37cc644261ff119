"""Sinks as functions for ``writeStream.foreachBatch``."""

from __future__ import annotations

from collections.abc import Sequence

import flowalg_sinks
from attrs import field, frozen
from flowalg_sinks.pane_sink import PaneSink
from flowalg_sinks.target import Target, WrittenBatch
from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.pcollection import PCollection
from flowalg_spark.sinks.batches import read_batch
from flowalg_spark.sinks.query import query_id


@frozen
class Upsert(flowalg_sinks.Upsert):
    """A function for ``writeStream.foreachBatch`` that maintains a table of current values; ``upsert`` makes one."""

    query: str | None = field(default=None, validator=lambda _, __, query: _require_name(query))

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Writes a micro-batch if the table does not have it. Raises ``SinkError`` if rows would be lost."""
        _write(self, self.query, frame, batch)


@frozen
class Changelog(flowalg_sinks.Changelog):
    """A function for ``writeStream.foreachBatch`` that appends panes to a table; ``changelog`` makes one."""

    query: str | None = field(default=None, validator=lambda _, __, query: _require_name(query))

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Writes a micro-batch if the table does not have it. Raises ``SinkError`` if rows would be lost."""
        _write(self, self.query, frame, batch)


def _require_name(query: object) -> None:
    if query is not None and (not isinstance(query, str) or not query):
        raise ArgumentError("query", query, "a name for this checkpoint only, a non-empty str, or None")


def _write(sink: PaneSink, query: str | None, frame: DataFrame, batch: int) -> None:
    written = WrittenBatch(query_id(frame, query), batch)
    # A repeated batch is read too, since the action commits the state of the query.
    sink.write(read_batch(sink.pipeline, frame), written)


def upsert(
    pipeline: PCollection[object],
    target: Target,
    *,
    table: str,
    by: Sequence[str] | None = None,
    query: str | None = None,
    since: int = 0,
) -> Upsert:
    """Returns ``flowalg_sinks.upsert`` as a function for ``foreachBatch``: a table of current values.

    Pass the result to ``writeStream.foreachBatch`` of a frame that ``streaming.compile`` returned for the same
    pipeline, with or without drops. ``query`` is the id of the query, if Spark has none (over Connect): a name for this
    checkpoint only.
    """
    sink = flowalg_sinks.upsert(pipeline, target, table=table, by=by, since=since)
    return Upsert(sink.pipeline, sink.target, sink.name, sink.since, sink.by, query)


def changelog(
    pipeline: PCollection[object],
    target: Target,
    *,
    table: str,
    query: str | None = None,
    since: int = 0,
) -> Changelog:
    """Returns ``flowalg_sinks.changelog`` as a function for ``foreachBatch``: a table of all panes, in order.

    Pass the result to ``writeStream.foreachBatch`` of a frame that ``streaming.compile`` returned for the same
    pipeline, with or without drops. ``query`` is as in ``upsert``.
    """
    sink = flowalg_sinks.changelog(pipeline, target, table=table, since=since)
    return Changelog(sink.pipeline, sink.target, sink.name, sink.since, query)


__all__ = ["Changelog", "Upsert", "changelog", "upsert"]
