"""The metrics of running queries: their names, units, labels and meanings, each stated once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from attrs import frozen

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.runs.metrics import DROP_COUNTS, PANE_COUNTS, QueryProgress, SourceMetrics, StageMetrics
from flowalg_tools.monitoring.status import QueryState, QueryStatus


class MetricKind(StrEnum):
    """A counter only increases while the process lives, and a gauge has any value."""

    COUNTER = "counter"
    GAUGE = "gauge"


Samples: TypeAlias = Iterator[tuple[tuple[str, ...], float]]
"""Values of a metric, each with the values of its labels."""

_SUFFIXES: Final = {"s": "_seconds", "By": "_bytes"}


@frozen
class Metric:
    """A metric: its name in OpenTelemetry, its unit (UCUM), its labels, its meaning, and its values in a status.

    The names and units of Prometheus are those to which OpenTelemetry's rules translate them.
    """

    name: str
    kind: MetricKind
    unit: str
    labels: tuple[str, ...]
    meaning: str
    samples: Callable[[QueryStatus], Samples]

    @property
    def prometheus_name(self) -> str:
        """The name in Prometheus: with the suffix of the unit, and ``_total`` for a counter."""
        total = "_total" if self.kind is MetricKind.COUNTER else ""
        return self.name.replace(".", "_") + _SUFFIXES.get(self.unit, "") + total


def stage_label(stage: StageMetrics) -> str:
    """Returns the label of a stage: its number in the pipeline, and its name."""
    return f"{stage.number} {stage.stage}"


def seconds_of(point: EventTime) -> float | None:
    """Returns a watermark in seconds since the epoch; ``None`` before the first one, and at the end of the input."""
    return point / 1_000_000 if MIN_TIME < point < MAX_TIME else None


def _of_query(
    name: str, kind: MetricKind, unit: str, meaning: str, value: Callable[[QueryStatus], float | None]
) -> Metric:
    def samples(status: QueryStatus) -> Samples:
        measurement = value(status)
        if measurement is not None:
            yield (status.query,), measurement

    return Metric(f"flowalg.query.{name}", kind, unit, ("query",), meaning, samples)


def _of_total(value: Callable[[QueryProgress], float]) -> Callable[[QueryStatus], float]:
    return lambda status: 0 if status.total is None else value(status.total)


def _current(status: QueryStatus, kind: MetricKind) -> QueryProgress | None:
    """Returns the progress that metrics of stages and sources show: gauges only while the query runs."""
    return status.total if kind is MetricKind.COUNTER or status.state is QueryState.RUNNING else None


def _of_stage(
    name: str, kind: MetricKind, unit: str, meaning: str, value: Callable[[StageMetrics], float | None]
) -> Metric:
    def samples(status: QueryStatus) -> Samples:
        progress = _current(status, kind)
        for stage in () if progress is None else progress.stages:
            measurement = value(stage)
            if measurement is not None:
                yield (status.query, stage_label(stage)), measurement

    return Metric(f"flowalg.stage.{name}", kind, unit, ("query", "stage"), meaning, samples)


def _counts_of_stage(name: str, label: str, unit: str, fields: tuple[str, ...], meaning: str) -> Metric:
    def samples(status: QueryStatus) -> Samples:
        for stage in () if status.total is None else status.total.stages:
            for field in fields:
                yield (status.query, stage_label(stage), field), getattr(stage, field)

    labels = ("query", "stage", label)
    return Metric(f"flowalg.stage.{name}", MetricKind.COUNTER, unit, labels, meaning, samples)


def _of_source(
    name: str,
    kind: MetricKind,
    unit: str,
    meaning: str,
    value: Callable[[SourceMetrics, datetime], float | None],
) -> Metric:
    def samples(status: QueryStatus) -> Samples:
        progress = _current(status, kind)
        for source in () if progress is None else progress.sources:
            measurement = value(source, status.total.processing_time if status.total else status.updated)
            if measurement is not None:
                yield (status.query, source.source), measurement

    return Metric(f"flowalg.source.{name}", kind, unit, ("query", "source"), meaning, samples)


def lag_of(watermark: EventTime, now: datetime) -> float | None:
    """Returns the difference of a processing time and a watermark, in seconds; ``None`` if the watermark is not
    known.
    """
    seconds = seconds_of(watermark)
    return None if seconds is None else now.timestamp() - seconds


def _watermark_of_stage(stage: StageMetrics) -> float | None:
    return None if stage.watermark_lag is None else stage.watermark.timestamp()


METRICS: Final = (
    _of_query(
        "running",
        MetricKind.GAUGE,
        "",
        "1 while the query runs, 0 after it has ended or failed",
        lambda status: status.state is QueryState.RUNNING,
    ),
    _of_query(
        "failed",
        MetricKind.GAUGE,
        "",
        "1 after the query has failed, until it starts again; 0 otherwise",
        lambda status: status.state is QueryState.FAILED,
    ),
    _of_query("batches", MetricKind.COUNTER, "{batch}", "micro-batches", lambda status: status.batches),
    _of_query(
        "batch_time",
        MetricKind.COUNTER,
        "s",
        "the duration of all micro-batches: reading, stages, sinks and commits",
        _of_total(lambda total: total.seconds),
    ),
    _of_query(
        "last_batch_duration",
        MetricKind.GAUGE,
        "s",
        "the duration of the last micro-batch",
        lambda status: None if status.last is None else status.last.seconds,
    ),
    _of_query(
        "last_batch_timestamp",
        MetricKind.GAUGE,
        "s",
        "when the last micro-batch was reported, since the epoch",
        lambda status: None if status.advanced is None else status.advanced.timestamp(),
    ),
    _of_query(
        "bad_records",
        MetricKind.COUNTER,
        "{record}",
        "bad records, which became dead letters",
        _of_total(lambda total: total.bad_records),
    ),
    _of_source(
        "changed_files",
        MetricKind.COUNTER,
        "{file}",
        "files that were found to have changed after they were read, each once; the change is not read",
        lambda source, now: source.changed_files,
    ),
    _of_stage(
        "watermark_timestamp",
        MetricKind.GAUGE,
        "s",
        "the watermark, since the epoch; absent before the first one and after the end of the input",
        _watermark_of_stage,
    ),
    _of_stage(
        "watermark_lag",
        MetricKind.GAUGE,
        "s",
        "the processing time minus the watermark, at the last micro-batch; absent like the watermark",
        lambda stage: stage.watermark_lag,
    ),
    _of_stage(
        "open_windows",
        MetricKind.GAUGE,
        "{window}",
        "live windows of all keys; of a computation, its keys",
        lambda stage: stage.windows,
    ),
    _of_stage(
        "state_size",
        MetricKind.GAUGE,
        "By",
        "the approximate size of the state",
        lambda stage: stage.state_bytes,
    ),
    _of_stage(
        "elements",
        MetricKind.COUNTER,
        "{element}",
        "elements from the sources that flow into the stage directly",
        lambda stage: stage.elements,
    ),
    _counts_of_stage(
        "panes", "kind", "{pane}", PANE_COUNTS, "emitted panes: early, on time, late, or a retraction"
    ),
    _counts_of_stage(
        "dropped",
        "reason",
        "{element}",
        DROP_COUNTS,
        "dropped elements: their window had expired or was closed, or a computation dropped them as late",
    ),
    _of_stage(
        "unfired_timers",
        MetricKind.COUNTER,
        "{timer}",
        "timers that a computation set when its input had ended, which do not fire",
        lambda stage: stage.unfired_timers,
    ),
    _of_stage(
        "step_time",
        MetricKind.COUNTER,
        "s",
        "the duration of the stage in all micro-batches, of its slowest shard",
        lambda stage: stage.step_seconds,
    ),
    _of_source(
        "elements",
        MetricKind.COUNTER,
        "{element}",
        "elements of the source",
        lambda source, _: source.elements,
    ),
    _of_source(
        "watermark_timestamp",
        MetricKind.GAUGE,
        "s",
        "the watermark of the source, since the epoch; absent before the first one and after its end",
        lambda source, _: seconds_of(source.watermark),
    ),
    _of_source(
        "watermark_lag",
        MetricKind.GAUGE,
        "s",
        "the processing time minus the watermark of the source, at the last micro-batch",
        lambda source, now: lag_of(source.watermark, now),
    ),
    _of_source(
        "idle",
        MetricKind.GAUGE,
        "",
        "1 if the source is idle, so that others do not wait for it; 0 otherwise",
        lambda source, _: source.idle,
    ),
    _of_source(
        "awaited_partitions",
        MetricKind.GAUGE,
        "{partition}",
        "declared partitions without records, for which the watermark waits",
        lambda source, _: len(source.awaited),
    ),
)
"""All metrics of a query."""
