"""Metrics of a streaming query, per stage and micro-batch: in Spark's own progress of it, and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from attrs import frozen
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg_spark.frames.final_values import METRICS_COLUMN
from flowalg_spark.lowering.layout import named
from flowalg_spark.lowering.meta import ACCOUNT, BAD_RECORD, REASON
from flowalg_spark.streaming.metrics_columns import COUNTS, TIMES, TOLD, require_metrics

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress

OBSERVATION: Final = "flowalg"
"""The name under which Spark's progress of a query has what its stages tell."""

BAD_RECORDS: Final = "bad_records"
"""The name there of how many bad records were told."""

_PLACE: Final = ("batch", "number", "stage")


def observed(frame: DataFrame, stages: Sequence[str], *, dead_letters: bool) -> DataFrame:
    """The frame, whose stages' metrics are in Spark's progress of a query over it: a struct for each stage.

    With ``dead_letters`` it also has how many bad records there were.
    """
    told = F.from_json(named(ACCOUNT), TOLD)
    metrics = [
        F.struct(*_metrics(told, told.getField("number") == F.lit(number), _iso)).alias(f"{number} {stage}")
        for number, stage in enumerate(stages)
    ]
    if dead_letters:
        metrics.append(F.count_if(named(REASON) == F.lit(BAD_RECORD)).alias(BAD_RECORDS))
    return frame.observe(OBSERVATION, *metrics)


def _iso(point: Column) -> Column:
    """A point in time by ISO 8601: Spark's progress is JSON, which would not say in which time zone it is."""
    return F.date_format(point, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")


def _metrics(told: Column, mine: Column | None, shown: Callable[[Column], Column]) -> Iterator[Column]:
    """The metrics of one stage in one micro-batch, from the metrics of its shards; ``shown`` shows points in time."""

    def of(name: str) -> Column:
        value = told.getField(name)
        return value if mine is None else F.when(mine, value)

    now, watermark = F.max(of("processing_time")), F.max(of("watermark"))
    known = (watermark > F.lit(MIN_TIME)) & (watermark < F.lit(MAX_TIME))
    elements = F.aggregate(
        of("sources"), F.lit(0).cast("long"), lambda sum, one: sum + one.getField("elements")
    )
    yield shown(F.timestamp_micros(now)).alias("processing_time")
    yield shown(F.timestamp_micros(watermark)).alias("watermark")
    yield F.when(known, (now - watermark) / F.lit(1_000_000)).alias("watermark_lag")
    yield F.sum(elements).alias("elements")
    for name in ("windows", "state_bytes", *COUNTS):
        yield F.sum(of(name)).alias(name)
    yield F.max(of("seconds")).alias("step_seconds")


def metrics(stored: DataFrame) -> DataFrame:
    """The metrics of each micro-batch and stage, from what a sink has stored of ``PaneFrame.with_metrics``.

    Columns: ``batch``, ``number`` and ``stage`` (in the order of the pipeline), ``processing_time``, ``watermark``,
    ``watermark_lag`` (seconds; null while nothing is known, and after the end of the input), ``elements`` that came
    from the stage's sources, ``windows`` that are open, about how many bytes they take (``state_bytes``), panes by
    timing (``early``, ``on_time``, ``late``, ``retraction``), refused elements by reason (``expired``, ``closed``), and
    ``step_seconds``, those of the slowest shard. Raises ``ArgumentError`` for a frame without metrics.
    """
    told = require_metrics(stored).select(f"{METRICS_COLUMN}.*")
    micros = {name: F.unix_micros(name) for name in TIMES}
    struct = F.struct(*(micros.get(name, named(name)).alias(name) for name in told.columns))
    rows = told.select(*map(named, _PLACE), struct.alias("told"))
    return rows.groupBy(*_PLACE).agg(*_metrics(F.col("told"), None, lambda point: point)).orderBy(*_PLACE)


@frozen
class StageMetrics:
    """One stage in one micro-batch; the fields are the columns of ``metrics``."""

    number: int
    stage: str
    processing_time: datetime
    watermark: datetime
    watermark_lag: float | None
    elements: int
    windows: int
    state_bytes: int
    early: int
    on_time: int
    late: int
    retraction: int
    expired: int
    closed: int
    step_seconds: float


def bad_records(progress: StreamingQueryProgress) -> int:
    """How many bad records a batch had, of a query that was compiled with ``dead_letters``; 0 for another one."""
    row = _observed(progress)
    return 0 if row is None or BAD_RECORDS not in row.asDict() else int(row[BAD_RECORDS])


def _observed(progress: StreamingQueryProgress) -> Row | None:
    found: dict[str, Row] = progress.observedMetrics
    return found.get(OBSERVATION)


def stage_metrics(progress: StreamingQueryProgress) -> tuple[StageMetrics, ...]:
    """What the stages of a query say in Spark's progress of it, as a ``StreamingQueryListener`` or
    ``query.lastProgress`` has it.

    None for a query that was compiled without metrics, and for a batch in which no stage ran.
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
            times = {key: datetime.fromisoformat(values[key]) for key in TIMES}
            found.append(StageMetrics(int(number), stage, **{**values, **times}))
    return tuple(found)


__all__ = ["OBSERVATION", "StageMetrics", "bad_records", "metrics", "observed", "stage_metrics"]
