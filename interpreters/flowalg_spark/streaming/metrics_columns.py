"""The account of a shard's instant as a column: what its stage tells of it."""

from __future__ import annotations

from typing import Final

from flowalg_shard.metrics import DROP_REASONS, PANE_KINDS
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.errors import ArgumentError
from flowalg_spark.frames.final_values import METRICS_COLUMN
from flowalg_spark.lowering.layout import named
from flowalg_spark.lowering.meta import ACCOUNT

COUNTS: Final = (*PANE_KINDS, *DROP_REASONS)

_SOURCES: Final = T.StructType(
    [
        T.StructField("source", T.StringType()),
        T.StructField("elements", T.LongType()),
        T.StructField("watermark", T.LongType()),
        T.StructField("percentiles", T.MapType(T.StringType(), T.LongType())),
        T.StructField("signals", T.ArrayType(T.StringType())),
        T.StructField("reached", T.MapType(T.StringType(), T.LongType())),
    ]
)
TOLD: Final = T.StructType(
    [
        T.StructField("batch", T.LongType()),
        T.StructField("number", T.IntegerType()),
        T.StructField("stage", T.StringType()),
        T.StructField("shard", T.IntegerType()),
        T.StructField("processing_time", T.LongType()),
        T.StructField("watermark", T.LongType()),
        T.StructField("sources", T.ArrayType(_SOURCES)),
        T.StructField("windows", T.LongType()),
        T.StructField("state_bytes", T.LongType()),
        T.StructField("seconds", T.DoubleType()),
        *(T.StructField(name, T.LongType()) for name in COUNTS),
    ]
)
TIMES: Final = ("processing_time", "watermark")


def account() -> Column:
    """The account on a row, as a struct; null on rows that are none."""
    told = F.from_json(named(ACCOUNT), TOLD)
    shown = {name: F.timestamp_micros(told.getField(name)) for name in TIMES}
    shown["sources"] = F.transform(told.getField("sources"), _source)
    parts = (shown.get(name, told.getField(name)).alias(name) for name in TOLD.names)
    return F.when(named(ACCOUNT).isNotNull(), F.struct(*parts))


def _source(one: Column) -> Column:
    """The metrics of one source, with points in time."""
    shown = {"watermark": F.timestamp_micros(one.getField("watermark"))}
    for name in ("percentiles", "reached"):
        shown[name] = F.transform_values(one.getField(name), lambda _, point: F.timestamp_micros(point))
    return F.struct(*(shown.get(name, one.getField(name)).alias(name) for name in _SOURCES.names))


def require_metrics(stored: object) -> DataFrame:
    """The rows that are metrics; raises ``ArgumentError`` if there can be none."""
    if not isinstance(stored, DataFrame) or METRICS_COLUMN not in stored.columns:
        found = stored.columns if isinstance(stored, DataFrame) else stored
        valid = f"a DataFrame with the column {METRICS_COLUMN}, as with_metrics() gives it"
        raise ArgumentError("stored", found, valid)
    return stored.filter(F.col(METRICS_COLUMN).isNotNull())


__all__ = ["COUNTS", "TIMES", "TOLD", "account", "require_metrics"]
