"""Events of queries as JSON, and as structured log lines."""

from __future__ import annotations

import json
import logging
from datetime import datetime
from typing import Final, TypeAlias, assert_never

from attrs import asdict

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, event_time
from flowalg.runs.events import Observer, QueryAdvanced, QueryEnded, QueryEvent, QueryStarted
from flowalg.runs.metrics import QueryProgress, SourceMetrics, StageMetrics
from flowalg_tools.monitoring.metric_table import lag_of

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A value of JSON."""

LOGGER: Final = "flowalg"
"""The default name of the logger."""


def log_to(logger: logging.Logger | None = None) -> Observer:
    """Returns an observer that logs each event of a query as one line of JSON.

    The level is ``ERROR`` for a query that failed, and ``INFO`` for all others. The default logger is ``flowalg``.
    """
    if logger is not None and not isinstance(logger, logging.Logger):
        raise ArgumentError("logger", logger, "a logging.Logger, or None for the one called flowalg")
    chosen = logging.getLogger(LOGGER) if logger is None else logger

    def log(event: QueryEvent) -> None:
        failed = isinstance(event, QueryEnded) and event.error is not None
        chosen.log(logging.ERROR if failed else logging.INFO, "%s", json.dumps(event_json(event)))

    return log


def event_json(event: QueryEvent) -> dict[str, Json]:
    """Returns an event as JSON: ``time``, ``event``, ``query``, and the fields of its progress or its ``error``."""
    head: dict[str, Json] = {"time": _iso(event.time), "event": "", "query": event.query}
    match event:
        case QueryStarted():
            return head | {"event": "started"}
        case QueryAdvanced(progress=progress):
            return head | {"event": "advanced"} | progress_json(progress)
        case QueryEnded(error=error):
            return head | ({"event": "ended"} if error is None else {"event": "failed", "error": error})
    assert_never(event)


def progress_json(progress: QueryProgress) -> dict[str, Json]:
    """Returns a progress as JSON, with the names of its fields.

    Times are ISO 8601 in UTC. A watermark is null before the first one, and after the end of the input.
    """
    return {
        "batch": progress.batch,
        "processing_time": _iso(progress.processing_time),
        "seconds": progress.seconds,
        "bad_records": progress.bad_records,
        "stages": [stage_json(stage) for stage in progress.stages],
        "sources": [source_json(source, progress.processing_time) for source in progress.sources],
    }


def stage_json(stage: StageMetrics) -> dict[str, Json]:
    """Returns the metrics of a stage as JSON."""
    return {
        **asdict(stage),
        "processing_time": _iso(stage.processing_time),
        "watermark": _watermark(event_time(stage.watermark)),
    }


def source_json(source: SourceMetrics, now: datetime) -> dict[str, Json]:
    """Returns the metrics of a source as JSON, without its signals and percentiles."""
    return {
        "source": source.source,
        "elements": source.elements,
        "watermark": _watermark(source.watermark),
        "watermark_lag": lag_of(source.watermark, now),
        "idle": source.idle,
        "awaited": list(source.awaited),
        "changed_files": source.changed_files,
        "reached": {partition: _watermark(point) for partition, point in source.reached.items()},
    }


def _watermark(point: EventTime) -> str | None:
    return str(point) if MIN_TIME < point < MAX_TIME else None


def _iso(time: datetime) -> str:
    return str(event_time(time))
