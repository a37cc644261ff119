"""State of a million windows: how long a checkpoint takes to open, and a query to move to Spark and back.

``make bench-state`` prints a table. Each number is one measurement, since all of them take seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import flowalg_spark
import polars as pl
from attrs import frozen
from flowalg_polars import streaming as local
from flowalg_spark import StreamInput, schema_of
from pyspark.sql import DataFrame, SparkSession

from flowalg import BoundedOutOfOrderness, FixedWindows, Mean, Source

WINDOWS: Final = 1_000_000
SHARDS: Final = 4
_NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
_LATE: Final = BoundedOutOfOrderness(timedelta(days=1))


@frozen
class Reading:
    """What a meter shows at a time."""

    meter: int
    value: int
    at: datetime


READINGS: Final = Source("readings", Reading, event_time=lambda reading: reading.at)
MEANS: Final = (
    READINGS.key_by(lambda reading: reading.meter)
    .map_values(lambda reading: reading.value)
    .window(FixedWindows(timedelta(hours=1)), allowed_lateness=timedelta(days=1))
    .combine_per_key(Mean())
)


@contextmanager
def _measured(what: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    print(f"{what:<60} {time.perf_counter() - start:6.2f} s", flush=True)


def _add_file(folder: Path, name: str, meters: int) -> None:
    folder.mkdir(exist_ok=True)
    frame = pl.select(
        meter=pl.int_range(meters, dtype=pl.Int64()),
        value=pl.int_range(meters, dtype=pl.Int64()),
        at=pl.lit(_NOON).dt.cast_time_unit("us"),
    )
    frame.write_parquet(folder / name)


def _run(folder: Path, checkpoint: Path) -> None:
    stream = local.StreamInput(local.Files(str(folder)), _LATE)
    for _ in local.batches(MEANS, {READINGS: stream}, checkpoint=checkpoint, shards=SHARDS):
        pass


def measure() -> None:
    """Prints the times."""
    with TemporaryDirectory() as scratch:
        folder, first, second, third = (Path(scratch) / name for name in ("in", "a", "b", "c"))
        _add_file(folder, "0.parquet", WINDOWS)
        with _measured(f"the local engine reads {WINDOWS:,} records, each a window"):
            _run(folder, first)
        _add_file(folder, "1.parquet", 1)
        with _measured("it starts again from its checkpoint, and reads one record"):
            _run(folder, first)
        spark = flowalg_spark.local_session("state", settings={"spark.sql.shuffle.partitions": str(SHARDS)})
        inputs = {READINGS: StreamInput(_stream(spark, folder), _LATE)}
        try:
            with _measured("the query is read from its checkpoint"):
                query = local.read_query(first)
            with _measured("and written to one of Spark"):
                flowalg_spark.write_query(spark, query, MEANS, inputs, second, shards=SHARDS)
            with _measured("it is read from that checkpoint"):
                query = flowalg_spark.read_query(spark, second, MEANS, inputs, shards=SHARDS)
            with _measured("and written to one of the local engine"):
                local.write_query(query, MEANS, third, shards=SHARDS)
        finally:
            spark.stop()


def _stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(schema_of(READINGS)).parquet(str(folder))


if __name__ == "__main__":
    measure()
