"""Delta tables as targets of sinks: each micro-batch is one version, idempotent by Delta's application transactions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Final

from attrs import asdict, field, frozen
from flowalg_sinks.databases.target import WrittenBatch
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from flowalg.data.errors import ArgumentError, path_text
from flowalg_spark.changes.checkpoint_files import CheckpointFiles
from flowalg_spark.jvm import is_class, jvm_of
from flowalg_spark.sinks.lakehouse import (
    QUERY_PROPERTY,
    Lakehouse,
    TableState,
    create_statement,
    missing_jar,
    missing_setting,
    qualified,
    quote,
)

_APPLICATION: Final = "flowalg"
"""The one application of all queries, so that two of them conflict in a table, also if both only append."""

_USE: Final = "a sink of Delta tables"
_ARTIFACT: Final = "io.delta:delta-spark_{}_2.13"
JARS: Final = {version: f"{_ARTIFACT.format(version)}:4.4.0" for version in ("4.0", "4.1", "4.2")}
EXTENSION: Final = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG: Final = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


def _path(path: str | PathLike[str] | None) -> str | None:
    return None if path is None else path_text("Delta.path", path)


@frozen
class Delta(Lakehouse):
    """Delta tables: those in the folders of ``path``, or those of ``schema``, a schema of Spark's own catalog.

    A table is the folder or the name that the sink gives it. Needs the jar of Delta for the version of Spark, and two
    settings of the session, which the page on lakehouses has.
    """

    path: str | None = field(default=None, converter=_path)
    schema: str | None = field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        location = self.path if self.schema is None else self.schema
        if (
            not isinstance(location, str)
            or not location
            or (self.path is not None and self.schema is not None)
        ):
            valid = (
                "the folder of the tables, a path or URL, or schema=... with the name of a schema, not both"
            )
            raise ArgumentError("Delta.path", self.path if self.schema is None else self.schema, valid)

    def identifier(self, table: str) -> str:
        """Returns the name of a table in SQL."""
        if self.schema is not None:
            return qualified(self.schema, table)
        return f"delta.{quote(f'{self.path}/{table}')}"

    def require(self, session: SparkSession) -> None:
        """Raises ``UnsupportedError`` for a session without the format's jar or settings."""
        if not is_class(jvm_of(session, _USE).io.delta.tables.DeltaTable):
            missing_jar(session, "Delta", _ARTIFACT, JARS)
        for name, value in (
            ("spark.sql.extensions", EXTENSION),
            ("spark.sql.catalog.spark_catalog", CATALOG),
        ):
            if value not in (session.conf.get(name, "") or ""):
                missing_setting("Delta", name, value)

    def find(self, session: SparkSession, table: str) -> TableState | None:
        """Returns the state of a table, or ``None`` if it does not exist."""
        jvm, name = jvm_of(session, _USE), self.identifier(table)
        if self.path is None:
            exists = session.catalog.tableExists(name)
        else:
            exists = bool(
                jvm.io.delta.tables.DeltaTable.isDeltaTable(session._jsparkSession, f"{self.path}/{table}")
            )
        if not exists:
            return None
        log = jvm.io.delta.tables.DeltaTable.forName(session._jsparkSession, name).deltaLog()
        nothing = jvm.scala.Option.empty()
        snapshot = log.update(False, nothing, nothing)
        query = snapshot.metadata().configuration().get(QUERY_PROPERTY)
        batch = snapshot.transactions().get(_APPLICATION)
        version = int(snapshot.version())
        files = CheckpointFiles.of(session, str(log.logPath().toString()), _USE)
        return TableState(
            str(query.get()) if query.isDefined() else None,
            int(batch.get()) if batch.isDefined() else None,
            T.StructType.fromJson(json.loads(str(snapshot.schema().json()))),
            version,
            _last_written(files, version) if batch.isDefined() else None,
        )

    def create(self, session: SparkSession, table: str, schema: T.StructType, query: str) -> None:
        """Creates a table that belongs to a query."""
        session.sql(create_statement(self.identifier(table), "delta", schema, query))

    def settings_of(self, batch: WrittenBatch) -> Mapping[str, str]:
        """Returns the settings that record a batch in a commit, for Delta and for people who read the history."""
        return {
            "spark.databricks.delta.write.txnAppId": _APPLICATION,
            "spark.databricks.delta.write.txnVersion": str(batch.batch),
            "spark.databricks.delta.commitInfo.userMetadata": json.dumps({_APPLICATION: asdict(batch)}),
        }

    def append(
        self, session: SparkSession, table: str, rows: DataFrame, batch: int, before: TableState
    ) -> None:
        """Appends the rows of a batch in one commit, unless the table has the batch."""
        rows.writeTo(self.identifier(table)).append()

    def require_alone(self, session: SparkSession, table: str, before: TableState) -> None:
        """Does nothing, since Delta compares the batch itself when it commits."""


_COMMITS: Final = 100
"""How many commits are searched for the last one of a sink: others compact a table, or change its settings."""


def _last_written(files: CheckpointFiles, version: int) -> WrittenBatch | None:
    """Returns the batch of the last commit of a sink; ``None`` if it is not among the last ones that Delta keeps."""
    for number in range(version, max(-1, version - _COMMITS), -1):
        text = files.read(f"{number:020}.json")
        if text is None:
            return None
        for action in map(json.loads, text.splitlines()):
            metadata = action.get("commitInfo", {}).get("userMetadata")
            if metadata is not None and f'"{_APPLICATION}"' in metadata:
                return WrittenBatch(**json.loads(metadata)[_APPLICATION])
    return None
