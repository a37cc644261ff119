"""What Delta and Iceberg have in common as targets: a table belongs to one streaming query and knows its last batch.

Each micro-batch is one commit of a table. The commit holds the number of the micro-batch, so it is the table's own
history that says which micro-batches it has. The id of the streaming query is a property of the table, set once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NoReturn

from attrs import frozen
from flowalg_sinks.databases.tables import require_same_columns
from flowalg_sinks.databases.target import SinkError, WrittenBatch
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from flowalg.data.errors import UnsupportedError

QUERY_PROPERTY: Final = "flowalg.query"
"""The property of a table with the id of the streaming query that writes it."""

BATCH_PROPERTY: Final = "flowalg.batch"
"""The property of an Iceberg snapshot with the number of its micro-batch."""

WRITTEN_PROPERTY: Final = "flowalg.written"
"""The property of an Iceberg snapshot with all that identifies its micro-batch, as JSON."""


@frozen
class TableState:
    """A table as it is now: its query, its last batch, its columns, and its version. ``None`` where it has none.

    ``written`` has what the commit of the last batch says besides its number, if it is found.
    """

    query: str | None
    batch: int | None
    schema: T.StructType
    version: int | None
    written: WrittenBatch | None = None


class Lakehouse(ABC):
    """A place of tables that Spark itself writes: ``Delta`` or ``Iceberg``."""

    @abstractmethod
    def identifier(self, table: str) -> str:
        """Returns the name of a table in SQL."""

    @abstractmethod
    def require(self, session: SparkSession) -> None:
        """Raises ``UnsupportedError`` for a session without the format's jar or settings."""

    @abstractmethod
    def find(self, session: SparkSession, table: str) -> TableState | None:
        """Returns the state of a table, or ``None`` if it does not exist."""

    @abstractmethod
    def create(self, session: SparkSession, table: str, schema: T.StructType, query: str) -> None:
        """Creates a table that belongs to a query."""

    @abstractmethod
    def settings_of(self, batch: WrittenBatch) -> Mapping[str, str]:
        """Returns the settings of the session that record a batch in the commits of a table."""

    @abstractmethod
    def append(
        self, session: SparkSession, table: str, rows: DataFrame, batch: int, before: TableState
    ) -> None:
        """Appends the rows of a batch in one commit; fails if another writer has committed the batch since."""

    @abstractmethod
    def require_alone(self, session: SparkSession, table: str, before: TableState) -> None:
        """Raises ``SinkError`` if another writer has committed a batch besides the last one."""


_CONFLICTS: Final = (
    "io.delta.exceptions.Concurrent",
    "io.delta.exceptions.MetadataChanged",
    "io.delta.exceptions.ProtocolChanged",
    "DELTA_CONCURRENT",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
    "org.apache.iceberg.exceptions.ValidationException",
    "org.apache.iceberg.exceptions.CommitFailedException",
)


@contextmanager
def naming_conflicts(table: str) -> Iterator[None]:
    """Raises ``SinkError`` instead of the format's error if another writer has committed at the same time."""
    try:
        yield
    except Exception as cause:
        text = str(cause)
        if not any(name in text for name in _CONFLICTS):
            raise
        raise SinkError(
            f"the table {table} must have one writer at a time; another one has committed while this batch was "
            "written, and the batch was not; stop the other writer, then start the query again from its checkpoint"
        ) from cause


def require_schema(table: str, state: TableState, schema: T.StructType) -> None:
    """Raises ``SchemaMismatchError``, which lists every difference, for a table with other columns."""
    existing = {field.name: field.dataType.simpleString() for field in state.schema}
    expected = {field.name: field.dataType.simpleString() for field in schema}
    require_same_columns(table, expected, existing)


def require_own(table: str, state: TableState) -> str:
    """Returns the query of a table; raises ``SinkError`` for a table that no sink has created."""
    if state.query is None:
        raise SinkError(
            f"the table {table} must be one that a sink has created; it has no property {QUERY_PROPERTY!r}; write to "
            "another table, or remove this one"
        )
    return state.query


def missing_jar(session: SparkSession, target: str, artifact: str, jars: Mapping[str, str]) -> NoReturn:
    """Raises ``UnsupportedError`` with the coordinate of the missing jar, and the two ways to give it."""
    version = ".".join(session.version.split(".")[:2])
    coordinates = ", ".join(jars.values())
    if version in jars:
        coordinate, note = jars[version], ""
    else:
        coordinate = f"{artifact.format(version)}:<release>"
        note = f" (none was known for Spark {version} when this was written; there are {coordinates})"
    raise UnsupportedError(
        f"{target} needs the jar {coordinate}{note} on the class path of Spark {session.version}; give it when the "
        f"session starts: spark.jars.packages={coordinate}, or spark.jars with the paths of the downloaded jar and its "
        "dependencies"
    )


def missing_setting(target: str, name: str, value: str) -> NoReturn:
    """Raises ``UnsupportedError`` with the missing setting of a session."""
    raise UnsupportedError(f"{target} needs the setting {name}={value} when the Spark session starts")


def create_statement(identifier: str, using: str, schema: T.StructType, query: str) -> str:
    """Returns the SQL that creates a table of a query."""
    columns = ", ".join(f"{quote(field.name)} {_sql_type(field.dataType)}" for field in schema)
    text = query.replace("\\", "\\\\").replace("'", "\\'")
    return (
        f"CREATE TABLE {identifier} ({columns}) USING {using} TBLPROPERTIES ('{QUERY_PROPERTY}' = '{text}')"
    )


def _sql_type(kind: T.DataType) -> str:
    match kind:
        case T.ArrayType():
            return f"ARRAY<{_sql_type(kind.elementType)}>"
        case T.StructType():
            parts = (f"{quote(field.name)}: {_sql_type(field.dataType)}" for field in kind.fields)
            return f"STRUCT<{', '.join(parts)}>"
        case _:
            return kind.simpleString()


def qualified(schema: str, *parts: str) -> str:
    """Returns a dotted name in Spark's SQL: a schema, whose parts have dots between them, and a table in it."""
    return ".".join(map(quote, (*schema.split("."), *parts)))


def quote(name: str) -> str:
    """Quotes one part of a name in Spark's SQL."""
    return f"`{name.replace('`', '``')}`"
