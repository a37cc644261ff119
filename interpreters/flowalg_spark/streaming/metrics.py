"""Metrics of a streaming query, per stage and micro-batch: in Spark's progress reports, and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from flowalg_columns.names import BAD_RECORD, DROP_REASON, METRICS
from flowalg_columns.panes import METRICS_COLUMN
from flowalg_shard.metrics import StageMetrics
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg_spark.encoding.columns import col
from flowalg_spark.expressions.integers import long_literal
from flowalg_spark.streaming.metrics_columns import COUNTS, PACKED_TYPE, require_metrics

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress

OBSERVATION: Final = "flowalg"
"""The name of the stages' metrics in Spark's progress reports."""

BAD_RECORDS: Final = "bad_records"
"""The name of the number of bad records there."""

_PLACE: Final = ("batch", "number", "stage")
_TIMES: Final = ("processing_time", "watermark")


def with_metrics_observed(frame: DataFrame, stages: Sequence[str], *, dead_letters: bool) -> DataFrame:
    """Returns the frame; a query over it has metrics in its progress reports, as a struct for each stage.

    With ``dead_letters`` they include the number of bad records.
    """
    row = F.from_json(col(METRICS), PACKED_TYPE)
    metrics = [
        F.struct(*_aggregates(row, row.getField("number") == F.lit(number), _iso)).alias(f"{number} {stage}")
        for number, stage in enumerate(stages)
    ]
    if dead_letters:
        metrics.append(F.count_if(col(DROP_REASON) == F.lit(BAD_RECORD)).alias(BAD_RECORDS))
    return frame.observe(OBSERVATION, *metrics)


def _iso(point: Column) -> Column:
    """Returns a point in time as ISO 8601 text: a progress report is JSON, which has no timestamps."""
    return F.date_format(point, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")


def _aggregates(row: Column, of_stage: Column | None, show: Callable[[Column], Column]) -> Iterator[Column]:
    """Returns the metrics of a stage in a micro-batch, from those of its shards: the fields of ``StageMetrics``.

    ``of_stage`` is true on the rows of the stage; ``None`` is all rows. ``show`` formats points in time.
    """

    def of(name: str) -> Column:
        value = row.getField(name)
        return value if of_stage is None else F.when(of_stage, value)

    now, watermark = F.max(of("processing_time")), F.max(of("watermark"))
    known = (watermark > long_literal(MIN_TIME)) & (watermark < long_literal(MAX_TIME))
    elements = F.aggregate(
        of("sources"), F.lit(0).cast("long"), lambda sum, source: sum + source.getField("elements")
    )
    yield show(F.timestamp_micros(now)).alias("processing_time")
    yield show(F.timestamp_micros(watermark)).alias("watermark")
    yield F.when(known, (now - watermark) / F.lit(1_000_000)).alias("watermark_lag")
    yield F.sum(elements).alias("elements")
    for name in COUNTS:
        yield F.sum(of(name)).alias(name)
    yield F.max(of("seconds")).alias("step_seconds")


def metrics(stored: DataFrame) -> DataFrame:
    """Returns the metrics of each micro-batch and stage, from stored output of ``PaneFrame.with_metrics``.

    The columns are ``batch``, the number of the micro-batch, and then the fields of ``StageMetrics``. Raises
    ``ArgumentError`` for a frame without metrics.
    """
    rows = require_metrics(stored).select(f"{METRICS_COLUMN}.*")
    micros = {name: F.unix_micros(name) for name in _TIMES}
    struct = F.struct(*(micros.get(name, col(name)).alias(name) for name in rows.columns))
    shards = rows.select(*map(col, _PLACE), struct.alias("row"))
    return shards.groupBy(*_PLACE).agg(*_aggregates(F.col("row"), None, lambda point: point)).orderBy(*_PLACE)


def bad_records(progress: StreamingQueryProgress) -> int:
    """Returns the number of bad records in a micro-batch; 0 for a query that was compiled without ``dead_letters``."""
    row = _observed(progress)
    return 0 if row is None or BAD_RECORDS not in row.asDict() else int(row[BAD_RECORDS])


def _observed(progress: StreamingQueryProgress) -> Row | None:
    found: dict[str, Row] = progress.observedMetrics
    return found.get(OBSERVATION)


def stage_metrics(progress: StreamingQueryProgress) -> tuple[StageMetrics, ...]:
    """Returns the metrics of a query's stages in a progress report of Spark, in the order of the pipeline.

    A ``StreamingQueryListener`` receives progress reports, and ``query.lastProgress`` is one. Empty for a query that
    was compiled without ``metrics``, and for a micro-batch in which no stage ran.
    """
    row = _observed(progress)
    if row is None:
        return ()
    found = []
    for name, values in row.asDict(recursive=True).items():
        if name == BAD_RECORDS:
            continue
        number, stage = name.split(" ", 1)
        if values["processing_time"] is not None:
            times = {key: datetime.fromisoformat(values[key]) for key in _TIMES}
            found.append(StageMetrics(number=int(number), stage=stage, **{**values, **times}))
    return tuple(found)


__all__ = ["OBSERVATION", "StageMetrics", "bad_records", "metrics", "stage_metrics", "with_metrics_observed"]
