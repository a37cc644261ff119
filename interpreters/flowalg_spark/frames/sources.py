"""Input frames of sources: the Spark schema of a source, and tables and files that are validated when read.

For every other input use Spark's readers; ``compile`` validates any frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from flowalg_columns.layout import fields_in
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import types as T
from pyspark.sql.streaming.readwriter import DataStreamReader

from flowalg.data.errors import ArgumentError, require_flag
from flowalg.data.shapes import ElementType, Shape, shape_of
from flowalg.pipeline.nodes import SourceNode
from flowalg.pipeline.source import Source
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.frames.texts import TextFormat, read_text
from flowalg_spark.lowering.binding import require_schema
from flowalg_spark.state.patterns import of_plain_files, pattern_to_read, require_data, require_no_pattern

_WITHOUT_SCHEMA: Final = ("text", "xml")
"""Formats whose files have no column types, and which Spark reads."""


def schema_of(source: Source[object]) -> T.StructType:
    """Returns the Spark schema of a source's records, for readers that need one, such as ``readStream``.

    All columns are nullable, as with Spark's readers; a null in a field that is not optional fails the query that reads
    it. A source of scalars has the single column ``value``.

    Example::

        spark.readStream.schema(flowalg_spark.schema_of(scores)).parquet("scores")
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
    session: SparkSession,
    source: Source[object],
    path: str,
    *,
    format: str = "parquet",
    columns: Mapping[str, ElementType] | None = None,
    dead_letters: bool = False,
) -> DataFrame:
    """Reads files as the input of a source.

    For a format with a schema, ``SchemaMismatchError`` lists every difference to the source's. JSON lines (``json``)
    and CSV with a header (``csv``) are read as by the other engines (SEMANTICS section 2), with ``columns`` besides the
    fields of records, by their types. A text that is no record fails the query; with ``dead_letters`` it is a row that
    ``batch.compile`` takes for a bad record. A ``path`` may be a pattern, such as ``2024-*.json``, unless it is that of
    a file or folder. A file that is passed over in a folder because of its name is an ``ArgumentError``. Files of other
    formats are read with the source's schema, and a malformed line fails the query instead of becoming nulls, Spark's
    default.

    Example::

        read_files(spark, scores, "scores", format="json", columns={"seen": datetime})
    """
    node, path = _node(source), pattern_to_read(session, path)
    require_data(session, path)
    if format in ("csv", "json"):
        with raise_causes():
            return _read_text(session.read, node, path, format, columns, dead_letters)
    schema = schema_of(source)
    reader = session.read
    if format in _WITHOUT_SCHEMA:
        reader = reader.schema(schema).option("mode", "FAILFAST")
    with raise_causes(), _require_known(format):
        frame = reader.format(format).load(path)
    if format in _WITHOUT_SCHEMA:
        return frame
    require_schema(node, frame.schema)
    return frame


@contextmanager
def _require_known(format: str) -> Iterator[None]:
    """Raises ``ArgumentError`` for a format that the session does not know."""
    try:
        yield
    except Exception as failure:
        if isinstance(format, str) and "DATA_SOURCE_NOT_FOUND" not in str(failure):
            raise
        valid = "a format that this session reads, such as 'parquet', 'json', 'csv' or 'orc'"
        raise ArgumentError("format", format, valid) from failure


def stream_files(
    session: SparkSession,
    source: Source[object],
    path: str,
    *,
    format: str = "parquet",
    columns: Mapping[str, ElementType] | None = None,
    dead_letters: bool = False,
    per_batch: int | None = None,
) -> DataFrame:
    """Reads the files of a folder, as they come, as a streaming frame: the input of a source in a ``StreamInput``.

    The arguments are those of ``read_files``, for the formats ``parquet``, ``csv`` and ``json``; a micro-batch has at
    most ``per_batch`` files. A folder whose own name is a pattern, or that of a file in it, is an ``ArgumentError``,
    and such a file that comes later fails the query with its first row, except with ``per_batch=1``: Spark reads the
    files of a micro-batch once more for each of them.

    Example::

        files = stream_files(spark, scores, "scores", format="csv", dead_letters=True)
        StreamInput(files, BoundedOutOfOrderness(timedelta(seconds=30)))
    """
    node = _node(source)
    several = per_batch != 1
    if several:
        require_no_pattern(session, "path", path)
    else:
        path = pattern_to_read(session, path)
    reader = session.readStream
    if per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", per_batch)
    if format in ("csv", "json"):
        return _read_text(reader, node, path, format, columns, dead_letters, several=several)
    if format != "parquet":
        raise ArgumentError("format", format, "'parquet', 'csv' or 'json'")
    more = [T.StructField(name, spark_type(shape)) for name, shape in _further(node, columns)]
    frame = reader.schema(T.StructType([*schema_of(source).fields, *more])).parquet(path)
    return of_plain_files(frame, node.name) if several else frame


def _read_text(
    reader: DataFrameReader | DataStreamReader,
    node: SourceNode,
    path: str,
    format: str,
    columns: Mapping[str, ElementType] | None,
    dead_letters: bool,
    *,
    several: bool = False,
) -> DataFrame:
    require_flag("dead_letters", dead_letters)
    more = _further(node, columns)
    kind: TextFormat = "csv" if format == "csv" else "json"
    return read_text(reader, node, path, kind, more, dead_letters=dead_letters, several=several)


def _further(node: SourceNode, columns: Mapping[str, ElementType] | None) -> list[tuple[str, Shape]]:
    """Returns the columns that are read besides the fields of records."""
    field_names = {name for name, _ in fields_in(node.shape)}
    return [(name, shape_of(kind)) for name, kind in (columns or {}).items() if name not in field_names]
