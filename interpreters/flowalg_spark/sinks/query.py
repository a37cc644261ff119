"""Which streaming query a batch belongs to: the numbers of batches mean something only with that."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from flowalg.data.errors import ArgumentError

_PROPERTY: Final = "sql.streaming.queryId"
"""Where Spark keeps the id of the query that a thread works for: that of its checkpoint, the same after a restart."""


def query_of(frame: DataFrame, given: str | None) -> str:
    """The id of the query whose batch this is: the one that was ``given``, else what Spark says.

    Raises ``ArgumentError`` where Spark does not say: over Spark Connect, and outside of a streaming query.
    """
    found = given or _said_by_spark(frame)
    if found is None:
        raise ArgumentError(
            "query",
            given,
            "a name that is this checkpoint's alone, such as its path",
            why="Spark does not say which streaming query the batch belongs to, over Connect or outside of any",
        )
    return found


def _said_by_spark(frame: DataFrame) -> str | None:
    # A client of Spark Connect has no context; asking for one is an error that has no type of its own.
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        return None
    found: str | None = frame.sparkSession.sparkContext.getLocalProperty(_PROPERTY)
    return found


__all__ = ["query_of"]
