"""Reading what a source says it is: the schema of its records, and tables and files that are held to it at once.

Spark's own reader stays the way for everything else; ``compile`` holds any frame to its source's record class.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from flowalg.data.errors import ArgumentError
from flowalg.pipeline.nodes import SourceNode
from flowalg.pipeline.source import Source
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.lowering.binding import require_schema

_WITHOUT_SCHEMA: Final = ("csv", "json", "text", "xml")
"""Formats whose files do not say the types of their columns."""


def schema_of(source: Source[object]) -> T.StructType:
    """The Spark schema of a source's records, for readers that must be told: ``readStream``, JSON, CSV.

    All columns may be null, as Spark's readers make them; a null in a field that allows none fails the query that
    reads it. A source of scalars has the one column ``value``.
    """
    whole = spark_type(_node(source).shape)
    return whole if isinstance(whole, T.StructType) else T.StructType([T.StructField("value", whole)])


def _node(source: object) -> SourceNode:
    if isinstance(source, Source) and isinstance(source.node, SourceNode):
        return source.node
    raise ArgumentError("source", source, "a Source")


def read_table(session: SparkSession, source: Source[object], name: str) -> DataFrame:
    """A table or view of the session as the input of a source.

    Raises ``SchemaMismatchError``, which lists every difference, when its columns do not fit the source's records.
    """
    node = _node(source)
    frame = session.table(name)
    require_schema(node, frame.schema)
    return frame


def read_files(
    session: SparkSession, source: Source[object], path: str, *, format: str = "parquet"
) -> DataFrame:
    """Files as the input of a source.

    Formats that carry a schema are held to the source's: ``SchemaMismatchError`` lists every difference. The files of
    the others are read with it, and a line that does not fit fails the query; Spark's default would be to give nulls.
    """
    schema = schema_of(source)
    if format in _WITHOUT_SCHEMA:
        return session.read.schema(schema).option("mode", "FAILFAST").format(format).load(path)
    frame = session.read.format(format).load(path)
    require_schema(_node(source), frame.schema)
    return frame


__all__ = ["read_files", "read_table", "schema_of"]
