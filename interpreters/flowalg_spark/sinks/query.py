"""The id of the streaming query of a micro-batch: the numbers of micro-batches are unique only within a query."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from flowalg.data import errors

_PROPERTY: Final = "sql.streaming.queryId"
"""Spark's local property with the id of the current query, which is that of its checkpoint, also after a restart."""


def require_name(query: object) -> None:
    """Raises ``ArgumentError`` for a query that is neither a name nor ``None``."""
    if query is not None:
        errors.require_name("query", query, "a name for this checkpoint only, a non-empty str, or None")


def query_id(frame: DataFrame, name: str | None) -> str:
    """Returns the id of the query of a micro-batch: ``name``, else Spark's.

    Raises ``ArgumentError`` if Spark has none: over Spark Connect, and outside of a streaming query.
    """
    query = name or spark_query_id(frame)
    if query is None:
        raise errors.ArgumentError(
            "query",
            name,
            "a name for this checkpoint only, such as its path",
            why="Spark has no id of the streaming query, over Connect or outside of a query",
        )
    return query


def spark_query_id(frame: DataFrame) -> str | None:
    """Returns Spark's id of the query of a micro-batch; ``None`` over Spark Connect, and outside of a query."""
    # A client of Spark Connect has no SparkContext, and its error has no specific type.
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        return None
    query_id: str | None = frame.sparkSession.sparkContext.getLocalProperty(_PROPERTY)
    return query_id
