"""Metrics of a streaming query, per stage and micro-batch: in Spark's progress reports, and as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict

from flowalg_columns.names import BAD_RECORD
from flowalg_columns.panes import METRICS_COLUMN
from flowalg_shard.tables.columns import DROP_REASON
from pyspark.sql import DataFrame, Row

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.runs.metrics import QueryProgress, SignalToKey, SourceMetrics, StageMetrics
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import aggregate, col, select
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.streaming.metrics_columns import COUNTS, packed_metrics, require_metrics

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress

OBSERVATION: Final = "flowalg"
"""The name of the stages' metrics in Spark's progress reports."""

BAD_RECORDS: Final = "bad_records"
"""The name of the number of bad records there."""

_SOURCES: Final = "sources"
"""The name of the metrics of a stage's sources there, as JSON."""

_PLACE: Final = ("batch", "number", "stage")
_TIMES: Final = ("processing_time", "watermark")


def with_metrics_observed(frame: DataFrame, stages: Sequence[str], *, dead_letters: bool) -> DataFrame:
    """Returns the frame; a query over it has metrics in its progress reports, as a struct for each stage.

    With ``dead_letters`` they include the number of bad records.
    """
    row = packed_metrics()

    def of_stage(number: int) -> Sql:
        is_of_stage = row["number"] == number
        # Only the first shard has sources, so all others have an empty list, which is the smaller text.
        sources = sql.max(sql.when(is_of_stage, sql.to_json(row["sources"])))
        return sql.struct(*_aggregates(row, is_of_stage, _iso), sources.alias(_SOURCES))

    metrics = [of_stage(number).alias(f"{number} {stage}") for number, stage in enumerate(stages)]
    if dead_letters:
        metrics.append(sql.count_if(col(DROP_REASON) == BAD_RECORD).alias(BAD_RECORDS))
    return frame.observe(OBSERVATION, *(metric.column for metric in metrics))


def _iso(point: Sql) -> Sql:
    """Returns a point in time as ISO 8601 text: a progress report is JSON, which has no timestamps."""
    return sql.date_format(point, "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")


def _aggregates(row: Sql, of_stage: Sql | None, show: Callable[[Sql], Sql]) -> Iterator[Sql]:
    """Returns the metrics of a stage in a micro-batch, from those of its shards: the fields of ``StageMetrics``.

    ``of_stage`` is true on the rows of the stage; ``None`` is all rows. ``show`` formats points in time.
    """

    def of(name: str) -> Sql:
        value = row[name]
        return value if of_stage is None else sql.when(of_stage, value)

    now, watermark = sql.max(of("processing_time")), sql.max(of("watermark"))
    has_watermark = (watermark > sql.long(MIN_TIME)) & (watermark < sql.long(MAX_TIME))
    elements = sql.aggregate(of("sources"), sql.long(0), lambda sum, source: sum + source["elements"])
    yield show(sql.timestamp_micros(now)).alias("processing_time")
    yield show(sql.timestamp_micros(watermark)).alias("watermark")
    yield sql.when(has_watermark, (now - watermark) / 1_000_000).alias("watermark_lag")
    yield sql.sum(elements).alias("elements")
    for name in COUNTS:
        yield sql.sum(of(name)).alias(name)
    yield sql.max(of("seconds")).alias("step_seconds")


def metrics(stored: DataFrame) -> DataFrame:
    """Returns the metrics of each micro-batch and stage, from stored output of ``PaneFrame.with_metrics``.

    The columns are ``batch``, the number of the micro-batch, and then the fields of ``StageMetrics``. Raises
    ``ArgumentError`` for a frame without metrics.
    """
    rows = require_metrics(stored).select(f"{METRICS_COLUMN}.*")
    micros = {name: sql.unix_micros(col(name)) for name in _TIMES}
    struct = sql.struct(*(micros.get(name, col(name)).alias(name) for name in rows.columns))
    shards = select(rows, *map(col, _PLACE), struct.alias("row"))
    metrics = _aggregates(col("row"), None, lambda point: point)
    return aggregate(shards, map(col, _PLACE), metrics).orderBy(*_PLACE)


def bad_records(progress: StreamingQueryProgress) -> int:
    """Returns the number of bad records in a micro-batch; 0 for a query that was compiled without ``dead_letters``."""
    row = _observed(progress)
    return 0 if row is None or BAD_RECORDS not in row.asDict() else int(row[BAD_RECORDS])


def _observed(progress: StreamingQueryProgress) -> Row | None:
    metrics: dict[str, Row] = progress.observedMetrics
    return metrics.get(OBSERVATION)


def stage_metrics(progress: StreamingQueryProgress) -> tuple[StageMetrics, ...]:
    """Returns the metrics of a query's stages in a progress report of Spark, in the order of the pipeline.

    A ``StreamingQueryListener`` receives progress reports, and ``query.lastProgress`` is one. Empty for a query that
    was compiled without ``metrics``, and for a micro-batch in which no stage ran.
    """
    return tuple(stage for stage, _ in _stages(progress))


def _stages(progress: StreamingQueryProgress) -> Iterator[tuple[StageMetrics, tuple[SourceMetrics, ...]]]:
    """Yields the metrics of each stage, with those of the sources that flow into it directly."""
    row = _observed(progress)
    for name, values in ({} if row is None else row.asDict(recursive=True)).items():
        if name == BAD_RECORDS or values.get("processing_time") is None:
            continue
        number, stage = name.split(" ", 1)
        times = {key: datetime.fromisoformat(values[key]) for key in _TIMES}
        sources: list[_SourceRow] = json.loads(values.pop(_SOURCES, None) or "[]")
        metrics = StageMetrics(number=int(number), stage=stage, **{**values, **times})
        yield metrics, tuple(map(_source_metrics, sources))


class _SourceRow(TypedDict):
    """The metrics of a source as JSON, where points in time are microseconds since the epoch."""

    source: str
    elements: int
    watermark: int
    percentile_watermarks: dict[str, int]
    signals: list[str]
    reached: dict[str, int]
    idle: bool
    awaited: list[str]
    signals_to_keys: list[_SignalRow]


class _SignalRow(TypedDict):
    """A signal to a key; a signal to all its windows has no bounds."""

    name: str
    key: str
    start: NotRequired[int]
    end: NotRequired[int]


def _source_metrics(row: _SourceRow) -> SourceMetrics:
    return SourceMetrics(
        row["source"],
        row["elements"],
        EventTime(row["watermark"]),
        {q: EventTime(point) for q, point in row["percentile_watermarks"].items()},
        tuple(row["signals"]),
        {name: EventTime(point) for name, point in row["reached"].items()},
        row["idle"],
        tuple(row["awaited"]),
        tuple(map(_signal, row["signals_to_keys"])),
    )


def _signal(row: _SignalRow) -> SignalToKey:
    start, end = (None if point is None else EventTime(point) for point in (row.get("start"), row.get("end")))
    return SignalToKey(row["name"], row["key"], start, end)


def query_progress(progress: StreamingQueryProgress) -> QueryProgress | None:
    """Returns what a query did in a micro-batch, from a progress report of Spark; ``None`` if there was none.

    A query that was compiled without ``metrics`` has no stages and sources, and one without ``dead_letters`` no bad
    records.
    """
    if "addBatch" not in progress.durationMs:
        return None
    stages = list(_stages(progress))
    times = [stage.processing_time for stage, _ in stages]
    return QueryProgress(
        batch=progress.batchId,
        processing_time=max(times, default=datetime.fromisoformat(progress.timestamp)),
        seconds=progress.durationMs["triggerExecution"] / 1000,
        bad_records=bad_records(progress),
        stages=tuple(stage for stage, _ in stages),
        sources=_by_name(source for _, sources in stages for source in sources),
    )


def _by_name(sources: Iterable[SourceMetrics]) -> tuple[SourceMetrics, ...]:
    """Returns each source once, in the order of their names: a source may flow into several stages."""
    by_name = {source.source: source for source in sources}
    return tuple(source for _, source in sorted(by_name.items()))
