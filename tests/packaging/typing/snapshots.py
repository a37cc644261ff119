"""Snapshots of tables: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Literal, assert_type

import flowalg_spark
import pyarrow as pa
from flowalg_polars import streaming
from flowalg_snapshots import TICK, WATERMARK, Following, ReadRows, Snapshots, postgresql_rows
from pyspark.sql import SparkSession

from flowalg import Source
from tests.packaging.typing.records import Flight


def snapshots(
    scores: Source[Flight],
    read: ReadRows,
    taken: Snapshots[Flight],
    following: Following,
    spark: SparkSession,
) -> None:
    """Snapshots, and the inputs that they are."""
    assert_type(read, Callable[[], Iterable[Mapping[str, object]]])
    rows = postgresql_rows("dbname=shop", "SELECT * FROM scores")
    assert_type(postgresql_rows("dbname=shop", "SELECT * FROM scores"), ReadRows)
    assert_type(Snapshots(scores, Path("scores"), rows, time="at", every=timedelta(1)), Snapshots[Flight])
    assert_type(taken.folder, str)
    assert_type(taken.read, ReadRows)
    assert_type(taken.source, Source[Flight])
    assert_type(taken.time, str)
    assert_type(taken.every, timedelta)
    assert_type(taken.take(), Path | None)
    assert_type(taken.table(), pa.Table)
    assert_type(taken.schema, pa.Schema)
    assert_type(taken.follow().__enter__(), Following)
    assert_type(following.error, Exception | None)
    assert_type(TICK, Literal["snapshot_tick"])
    assert_type(WATERMARK, Literal["snapshot_watermark"])
    assert_type(streaming.snapshot_input(taken), streaming.StreamInput)
    assert_type(flowalg_spark.snapshot_input(spark, taken), flowalg_spark.StreamInput)
