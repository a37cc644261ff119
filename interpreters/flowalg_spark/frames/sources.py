"""Input frames of sources: the Spark schema of a source, and tables and files that are validated when read.

For every other input use Spark's readers; ``compile`` validates any frame.
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
"""Formats whose files have no column types."""


def schema_of(source: Source[object]) -> T.StructType:
    """Returns the Spark schema of a source's records, for readers that need one: ``readStream``, JSON, CSV.

    All columns are nullable, as with Spark's readers; a null in a field that is not optional fails the query that reads
    it. A source of scalars has the single column ``value``.

    Example::

        spark.readStream.schema(flowalg_spark.schema_of(scores)).json("scores")
    """
    schema = spark_type(_node(source).shape)
    return schema if isinstance(schema, T.StructType) else T.StructType([T.StructField("value", schema)])


def _node(source: object) -> SourceNode:
    if isinstance(source, Source) and isinstance(source.node, SourceNode):
        return source.node
    raise ArgumentError("source", source, "a Source")


def read_table(session: SparkSession, source: Source[object], name: str) -> DataFrame:
    """Reads a table or view of the session as the input of a source.

    Raises ``SchemaMismatchError``, which lists every difference, if its columns do not match the source's records.
    """
    node = _node(source)
    frame = session.table(name)
    require_schema(node, frame.schema)
    return frame


def read_files(
    session: SparkSession, source: Source[object], path: str, *, format: str = "parquet"
) -> DataFrame:
    """Reads files as the input of a source.

    For a format with a schema, ``SchemaMismatchError`` lists every difference to the source's. Files of other formats
    are read with the source's schema, and a malformed line fails the query instead of becoming nulls, Spark's default.
    """
    schema = schema_of(source)
    if format in _WITHOUT_SCHEMA:
        return session.read.schema(schema).option("mode", "FAILFAST").format(format).load(path)
    frame = session.read.format(format).load(path)
    require_schema(_node(source), frame.schema)
    return frame


__all__ = ["read_files", "read_table", "schema_of"]
