"""The answers of Structured Streaming to queries by hand, in SQL over streams with watermarks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import polars as pl
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamWriter

from docs.benchmarks.nexmark import on_spark
from docs.benchmarks.nexmark.answers import from_frame
from docs.benchmarks.nexmark.engines import Tables, inputs_of
from docs.benchmarks.nexmark.generator import DELAY
from docs.benchmarks.nexmark.model import ARRIVALS
from docs.benchmarks.nexmark.query import Query, Rejected

END: Final = datetime(2100, 1, 1, tzinfo=UTC)
"""The time of the events that complete all windows; no row has them."""
BATCH: Final = "batch"


def on_structured_streaming(spark: SparkSession, query: Query, tables: Tables) -> pl.DataFrame:
    """Returns the answer of a query by hand, over a file in each micro-batch; raises ``Rejected``."""
    with tempfile.TemporaryDirectory(prefix="flowalg-") as scratch:
        folder = Path(scratch)
        frame = by_hand(spark, query, ended(tables, folder / "tables"))
        rows = frame.toDF(*(f"_{number}" for number, _ in enumerate(frame.columns)))

        def write(batch: DataFrame, number: int) -> None:
            batch.withColumn(BATCH, f.lit(number)).write.mode("append").parquet(f"{scratch}/rows")

        _run(rows.writeStream.foreachBatch(write), mode_of(query), folder)
        written = on_spark.collect(spark.read.parquet(f"{scratch}/rows"))
        # The columns have numbers, and that of the micro-batch is the last one.
        number = written.columns[-1]
        if query.on_streams and query.on_streams.key:
            key = [f"_{frame.columns.index(name)}" for name in query.on_streams.key]
            written = written.filter(pl.col(number) == pl.col(number).max().over(key))
        return from_frame(written.drop(number))


def rivals(
    spark: SparkSession, query: Query, tables: Tables, *, rejected: bool
) -> dict[str, Callable[[], None]]:
    """Returns the functions that run a query over streams and discard its rows: compiled, and by hand if it can be."""
    compiled = {"stream": lambda: _discard(on_spark.compile_stream(spark, query, tables), "append")}
    hand = {"stream_by_hand": lambda: _discard(by_hand(spark, query, tables), mode_of(query))}
    return compiled if rejected else {**compiled, **hand}


def mode_of(query: Query) -> str:
    """Returns the output mode of a query by hand."""
    return "update" if query.on_streams and query.on_streams.key else "append"


def _discard(frame: DataFrame, mode: str) -> None:
    with tempfile.TemporaryDirectory(prefix="flowalg-") as scratch:
        _run(frame.writeStream.format("noop"), mode, Path(scratch))


def _run(writer: DataStreamWriter, mode: str, folder: Path) -> None:
    """Runs a query over the files that there are; raises ``Rejected``."""
    writer = writer.outputMode(mode).option("checkpointLocation", str(folder / "checkpoint"))
    try:
        started = writer.trigger(availableNow=True).start()
    except AnalysisException as error:
        raise Rejected(error.getCondition()) from error
    started.awaitTermination()


def by_hand(spark: SparkSession, query: Query, tables: Tables) -> DataFrame:
    """Returns a query by hand over streams of files, in views of a session of its own; raises ``Rejected``."""
    session = spark.newSession()
    times = {"bid": "arrived" if ARRIVALS in inputs_of(query) else "date_time"}
    for name, folder in tables.items():
        if name == "side_input":
            session.read.parquet(str(folder)).createOrReplaceTempView(name)
            continue
        time = times.get(name, "date_time")
        delay = "0 seconds" if time == "arrived" else f"{DELAY.total_seconds()} seconds"
        stream = on_spark.read_stream(session, folder).withWatermark(time, delay)
        stream.where(f.col(time) < f.lit(END)).createOrReplaceTempView(name)
    try:
        return session.sql(query.on_streams.sql if query.on_streams else query.spark_sql or query.sql)
    except AnalysisException as error:
        raise Rejected(error.getCondition()) from error


def ended(tables: Tables, folder: Path) -> Mapping[str, Path]:
    """Returns copies of tables of events with a last file, whose event has the time ``END``."""
    copies = dict(tables)
    for name in ("person", "auction", "bid"):
        copies[name] = folder / name
        copies[name].mkdir(parents=True)
        files = sorted(tables[name].iterdir())
        for file in files:
            (copies[name] / file.name).symlink_to(file)
        last = pl.read_parquet(files[0]).head(1)
        times = {column: END for column, kind in last.schema.items() if isinstance(kind, pl.Datetime)}
        path = copies[name] / f"{len(files):04}.parquet"
        last.with_columns(
            pl.lit(time).cast(last.schema[column]).alias(column) for column, time in times.items()
        ).write_parquet(path)
        os.utime(path, (1_000_000_000 + len(files), 1_000_000_000 + len(files)))
    return copies
