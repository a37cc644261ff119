"""The answers of a query on Spark: batch, streaming over files, and SQL by hand."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
from flowalg_spark import StreamInput, batch, local_session, streaming
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from docs.benchmarks.nexmark.answers import CHANGE, columns_of, from_frame
from docs.benchmarks.nexmark.engines import CORES, Tables, inputs_of, policy_of
from docs.benchmarks.nexmark.query import Query
from docs.benchmarks.small import BENCH


def session() -> SparkSession:
    """Starts a session; the output of its workers is in a file."""
    BENCH.mkdir(parents=True, exist_ok=True)
    return local_session("flowalg nexmark", cores=CORES, memory="8g", log=BENCH / "nexmark.log")


def on_batch(spark: SparkSession, query: Query, tables: Tables) -> pl.DataFrame:
    """Returns the answer of Spark batch."""
    create_views(spark, tables)
    return from_frame(collect(compile_batch(spark, query)))


def compile_batch(spark: SparkSession, query: Query) -> DataFrame:
    """Returns a query compiled for Spark batch, over the views."""
    inputs = {source: spark.table(table) for source, table in inputs_of(query).items()}
    return batch.compile(query.pipeline, inputs).select(*columns_of(query.pipeline))


def on_sql(spark: SparkSession, query: Query, tables: Tables) -> pl.DataFrame:
    """Returns the answer of Spark to the SQL of a query."""
    create_views(spark, tables)
    return from_frame(collect(by_hand(spark, query)))


def create_views(spark: SparkSession, tables: Tables) -> None:
    """Creates the views that queries read."""
    for name, folder in tables.items():
        spark.read.parquet(str(folder)).createOrReplaceTempView(name)


def by_hand(spark: SparkSession, query: Query) -> DataFrame:
    """Returns the SQL of a query over the views."""
    return spark.sql(query.spark_sql or query.sql)


def rivals(spark: SparkSession, query: Query) -> dict[str, Callable[[], None]]:
    """Returns the functions that compute a query over the views: compiled by flowalg, and from its SQL.

    They discard its rows.
    """
    return {
        "spark": lambda: _execute(compile_batch(spark, query)),
        "spark_sql": lambda: _execute(by_hand(spark, query)),
    }


def _execute(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def on_stream(spark: SparkSession, query: Query, tables: Tables) -> pl.DataFrame:
    """Returns the answer of Spark streaming, with a micro-batch for each file, and one that ends the input."""
    with tempfile.TemporaryDirectory(prefix="flowalg-") as scratch:
        frame = compile_stream(spark, query, tables, Path(scratch) / "drain")
        columns = [*columns_of(query.pipeline), *({CHANGE} & set(frame.columns))]
        for end in (False, True):
            if end:
                streaming.drain(spark, Path(scratch) / "drain")
            run_stream(frame.select(*columns), Path(scratch))
        return from_frame(collect(spark.read.parquet(f"{scratch}/rows")))


def compile_stream(spark: SparkSession, query: Query, tables: Tables, drain: Path | None = None) -> DataFrame:
    """Returns a query compiled for Spark streaming, which ends its input at the signal of ``drain``."""
    inputs = {
        source: StreamInput(read_stream(spark, tables[table]), policy_of(source))
        for source, table in inputs_of(query).items()
    }
    return streaming.compile(query.pipeline, inputs, drain_signal_path=drain)


def read_stream(spark: SparkSession, folder: Path) -> DataFrame:
    """Returns the files of a table as a stream, with one in each micro-batch."""
    return spark.readStream.schema(_schema_of(folder)).option("maxFilesPerTrigger", 1).parquet(str(folder))


@cache
def _schema_of(folder: Path) -> StructType:
    """Returns the schema of a table, which takes Spark a job to find."""
    return SparkSession.active().read.parquet(str(folder)).schema


def run_stream(frame: DataFrame, scratch: Path) -> None:
    """Runs a query over the new files to its end, and appends its rows to ``rows``."""
    writer = frame.writeStream.option("checkpointLocation", str(scratch / "checkpoint"))
    writer.trigger(availableNow=True).start(str(scratch / "rows"), format="parquet").awaitTermination()


def collect(frame: DataFrame) -> pl.DataFrame:
    """Returns the rows of a query."""
    # Names need not be unique in SQL.
    rows = pl.from_arrow(
        frame.toDF(*(f"_{n}" if name != CHANGE else name for n, name in enumerate(frame.columns))).toArrow()
    )
    assert isinstance(rows, pl.DataFrame)
    return rows
