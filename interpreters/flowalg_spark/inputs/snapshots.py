"""Snapshots of a table as a streaming frame."""

from __future__ import annotations

from typing import TypeVar

from flowalg_snapshots import TICK, WATERMARK, Snapshots
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from flowalg.watermarks import Perfect
from flowalg_spark.state.patterns import require_no_pattern
from flowalg_spark.streaming.compilation import StreamInput

R = TypeVar("R")


def snapshot_input(spark: SparkSession, snapshots: Snapshots[R]) -> StreamInput:
    """Returns the input of a source from the files of its snapshots, with the watermark that they have.

    The folder must be one that all of Spark's workers see.
    """
    require_no_pattern(spark, "Snapshots.folder", snapshots.folder)
    files = spark.readStream.schema(from_arrow_schema(snapshots.schema)).parquet(snapshots.folder)
    return StreamInput(files, Perfect(), tick=F.col(TICK), source_watermark=F.col(WATERMARK))
