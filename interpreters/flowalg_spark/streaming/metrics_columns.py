"""The metrics of shards as a column: as JSON within the query, then as a struct.

The schema is derived from ``flowalg_shard.ShardMetrics``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Final, get_args, get_origin, get_type_hints

from attrs import asdict, fields, has
from flowalg_columns.names import METRICS
from flowalg_columns.panes import METRICS_COLUMN
from flowalg_shard import ShardMetrics
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from flowalg.data.errors import ArgumentError
from flowalg.data.time import EventTime, ProcessingTime
from flowalg.runs.metrics import Counts
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, where
from flowalg_spark.encoding.sql import Sql, type_text

_PLAIN: Final[dict[object, T.DataType]] = {
    bool: T.BooleanType(),
    int: T.LongType(),
    str: T.StringType(),
}
_TIMES: Final = (EventTime, ProcessingTime)


def _spark_type(hint: object, time: T.DataType) -> T.DataType:
    """Returns the Spark type for a type hint of a metric; ``time`` is the type for points in time."""
    if get_origin(hint) is UnionType:
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    if hint in _TIMES:
        return time
    if isinstance(hint, type) and has(hint):
        hints = get_type_hints(hint)
        return T.StructType(
            [T.StructField(field.name, _spark_type(hints[field.name], time)) for field in fields(hint)]
        )
    if get_origin(hint) is tuple:
        return T.ArrayType(_spark_type(get_args(hint)[0], time))
    if get_origin(hint) is Mapping:
        key, value = get_args(hint)
        return T.MapType(_spark_type(key, time), _spark_type(value, time))
    return _PLAIN[hint]


def _row_type(time: T.DataType) -> T.StructType:
    metrics = _spark_type(ShardMetrics, time)
    assert isinstance(metrics, T.StructType)
    return T.StructType(
        [
            T.StructField("batch", T.LongType()),
            T.StructField("number", T.IntegerType()),
            T.StructField("stage", T.StringType()),
            T.StructField("shard", T.IntegerType()),
            *metrics.fields,
            T.StructField("seconds", T.DoubleType()),
        ]
    )


COUNTS: Final = tuple(field.name for field in fields(Counts))
"""The metrics that add up over shards."""

PACKED_TYPE: Final = _row_type(T.LongType())
"""The metrics of a shard in JSON, where points in time are microseconds since the epoch."""

METRICS_TYPE: Final = _row_type(T.TimestampType())
"""The metrics of a shard in the column of ``with_metrics``."""


def to_json(
    metrics: ShardMetrics, *, batch: int | None, number: int, stage: str, shard: int, seconds: float
) -> str:
    """Returns the metrics of a shard as JSON, with its position in the query and the duration of the step."""
    position = {"batch": batch, "number": number, "stage": stage, "shard": shard}
    return json.dumps({**position, **asdict(metrics), "seconds": seconds})


def metrics_struct() -> Sql:
    """Returns the column with a row's metrics as a struct; null on rows without metrics."""
    return _with_times(packed_metrics(), PACKED_TYPE, METRICS_TYPE)


def packed_metrics() -> Sql:
    """Returns the column with a row's metrics as a struct, where points in time are integers."""
    return sql.from_json(col(METRICS), type_text(PACKED_TYPE))


def _with_times(column: Sql, packed: T.DataType, wanted: T.DataType) -> Sql:
    """Returns a column in which points in time are timestamps instead of integers."""
    match packed, wanted:
        case T.LongType(), T.TimestampType():
            return sql.timestamp_micros(column)
        case T.StructType(), T.StructType():
            pairs = zip(packed.fields, wanted.fields, strict=True)
            parts = (_with_times(column[a.name], a.dataType, b.dataType).alias(a.name) for a, b in pairs)
            return sql.when(column.is_not_null(), sql.struct(*parts))
        case T.ArrayType(), T.ArrayType():
            return sql.transform(
                column, lambda item: _with_times(item, packed.elementType, wanted.elementType)
            )
        case T.MapType(), T.MapType():
            return sql.transform_values(
                column, lambda _, value: _with_times(value, packed.valueType, wanted.valueType)
            )
        case _:
            return column


def require_metrics(stored: object) -> DataFrame:
    """Returns the rows that are metrics; raises ``ArgumentError`` for a frame without the column of metrics."""
    if not isinstance(stored, DataFrame) or METRICS_COLUMN not in stored.columns:
        value = stored.columns if isinstance(stored, DataFrame) else stored
        valid = f"a DataFrame with the column {METRICS_COLUMN}, as with_metrics() returns"
        raise ArgumentError("stored", value, valid)
    return where(stored, col(METRICS_COLUMN).is_not_null())
