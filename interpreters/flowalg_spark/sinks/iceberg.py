"""Iceberg tables as targets of sinks: each micro-batch is one snapshot, whose properties have its number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import asdict, field, frozen
from flowalg_sinks.databases.target import SinkError, WrittenBatch
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.errors import ArgumentError
from flowalg_spark.jvm import Java, is_class, items_of, jvm_of
from flowalg_spark.sinks.lakehouse import (
    BATCH_PROPERTY,
    QUERY_PROPERTY,
    WRITTEN_PROPERTY,
    Lakehouse,
    TableState,
    create_statement,
    missing_jar,
    missing_setting,
    qualified,
)

_USE: Final = "a sink of Iceberg tables"
_ARTIFACT: Final = "org.apache.iceberg:iceberg-spark-runtime-{}_2.13"
JARS: Final = {"4.1": f"{_ARTIFACT.format('4.1')}:1.12.0"}
EXTENSION: Final = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
_SNAPSHOT_PROPERTY: Final = "spark.sql.iceberg.snapshot-property"


@frozen
class Iceberg(Lakehouse):
    """Iceberg tables: those of ``schema``, a catalog of the session and a namespace in it, such as ``lake.panes``.

    Needs the jar of Iceberg for the version of Spark, and settings of the session, which the page on lakehouses has.
    """

    schema: str = field()

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.schema, str) or not all(self.schema.split(".")) or "." not in self.schema:
            raise ArgumentError(
                "Iceberg.schema", self.schema, "a catalog and a namespace, such as 'lake.panes'"
            )

    def identifier(self, table: str) -> str:
        """Returns the name of a table in SQL."""
        return qualified(self.schema, table)

    def require(self, session: SparkSession) -> None:
        """Raises ``UnsupportedError`` for a session without the format's jar or settings."""
        if not is_class(jvm_of(session, _USE).org.apache.iceberg.spark.Spark3Util):
            missing_jar(session, "Iceberg", _ARTIFACT, JARS)
        if EXTENSION not in (session.conf.get("spark.sql.extensions", "") or ""):
            missing_setting("Iceberg", "spark.sql.extensions", EXTENSION)
        catalog = f"spark.sql.catalog.{self.schema.partition('.')[0]}"
        if session.conf.get(catalog, None) is None:
            missing_setting("Iceberg", catalog, "org.apache.iceberg.spark.SparkCatalog")

    def find(self, session: SparkSession, table: str) -> TableState | None:
        """Returns the state of a table, or ``None`` if it does not exist.

        Raises ``SinkError`` if the snapshots no longer have the last batch.
        """
        name = self.identifier(table)
        if not session.catalog.tableExists(name):
            return None
        # The catalog of a session may keep what it has read of a table.
        session.catalog.refreshTable(name)
        loaded = self._load(session, table)
        query = loaded.properties().get(QUERY_PROPERTY)
        snapshot = loaded.currentSnapshot()
        written = next(_batches(session, loaded), None)
        batch = None if written is None else written.batch
        if query is not None and snapshot is not None and batch is None:
            raise SinkError(
                f"the snapshots of the table {name} must have the number of its last batch; they have expired, so "
                "repeated batches cannot be detected; keep the newest snapshot of the sink, and write to another table"
            )
        version = None if snapshot is None else int(snapshot.snapshotId())
        query_id = None if query is None else str(query)
        return TableState(query_id, batch, session.table(name).schema, version, written)

    def create(self, session: SparkSession, table: str, schema: T.StructType, query: str) -> None:
        """Creates a table that belongs to a query, without a snapshot."""
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {qualified(self.schema)}")
        session.sql(create_statement(self.identifier(table), "iceberg", schema, query))

    def settings_of(self, batch: WrittenBatch) -> Mapping[str, str]:
        """Returns the settings that record a batch in a snapshot."""
        return {
            f"{_SNAPSHOT_PROPERTY}.{QUERY_PROPERTY}": batch.query,
            f"{_SNAPSHOT_PROPERTY}.{BATCH_PROPERTY}": str(batch.batch),
            f"{_SNAPSHOT_PROPERTY}.{WRITTEN_PROPERTY}": json.dumps(asdict(batch)),
        }

    def append(
        self, session: SparkSession, table: str, rows: DataFrame, batch: int, before: TableState
    ) -> None:
        """Writes the rows of a batch in one commit, which fails if another writer has written the batch since."""
        writer = rows.writeTo(self.identifier(table)).option("isolation-level", "serializable")
        if before.version is not None:
            writer = writer.option("validate-from-snapshot-id", str(before.version))
        writer.overwrite(F.col("batch") == F.lit(batch))

    def require_alone(self, session: SparkSession, table: str, before: TableState) -> None:
        """Raises ``SinkError`` if another writer has committed a batch besides the last one.

        Iceberg compares a merge with the snapshot that the merge has read, which may be later than ``before``.
        """
        _, previous, *_ = *_batches(session, self._load(session, table)), None, None
        number = None if previous is None else previous.batch
        if number != before.batch:
            raise SinkError(
                f"the table {self.identifier(table)} must have one writer at a time; another one has committed batch "
                f"{number} meanwhile; stop it, then start the query again from its checkpoint"
            )

    def _load(self, session: SparkSession, table: str) -> Java:
        spark = jvm_of(session, _USE).org.apache.iceberg.spark.Spark3Util
        loaded = spark.loadIcebergTable(session._jsparkSession, self.identifier(table))
        loaded.refresh()
        return loaded


def _batches(session: SparkSession, table: Java) -> Iterator[WrittenBatch]:
    """Yields the batches of the snapshots of a table, the last one first. Others, such as compactions, have none."""
    ancestors = jvm_of(session, _USE).org.apache.iceberg.util.SnapshotUtil.currentAncestors(table)
    for snapshot in items_of(ancestors):
        written = snapshot.summary().get(WRITTEN_PROPERTY)
        if written is not None:
            yield WrittenBatch(**json.loads(str(written)))
