"""Events and metrics of running queries: expressions and the types that both checkers infer; checked, never run."""

# pyright: strict

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import assert_type

from flowalg import (
    EventTime,
    Observer,
    QueryAdvanced,
    QueryEnded,
    QueryEvent,
    QueryProgress,
    QueryStarted,
    SourceMetrics,
    StageMetrics,
)
from flowalg.runs.metrics import SignalToKey


def events(
    event: QueryEvent,
    started: QueryStarted,
    advanced: QueryAdvanced,
    ended: QueryEnded,
    progress: QueryProgress,
    observer: Observer,
) -> None:
    """Events and their observers."""
    assert_type(event, QueryEvent)
    assert_type(observer, Observer)
    assert_type(observer(event), object)
    assert_type(QueryStarted("totals", datetime.now()), QueryStarted)
    assert_type(started.query, str)
    assert_type(started.time, datetime)
    assert_type(QueryAdvanced("totals", datetime.now(), progress), QueryAdvanced)
    assert_type(advanced.query, str)
    assert_type(advanced.time, datetime)
    assert_type(advanced.progress, QueryProgress)
    assert_type(QueryEnded("totals", datetime.now(), error="away"), QueryEnded)
    assert_type(ended.query, str)
    assert_type(ended.time, datetime)
    assert_type(ended.error, str | None)


def metrics(progress: QueryProgress, stage: StageMetrics, source: SourceMetrics) -> None:
    """The progress of a query, of its stages and of its sources."""
    assert_type(progress.batch, int)
    assert_type(progress.processing_time, datetime)
    assert_type(progress.seconds, float)
    assert_type(progress.bad_records, int)
    assert_type(progress.stages, tuple[StageMetrics, ...])
    assert_type(progress.sources, tuple[SourceMetrics, ...])
    assert_type(progress.elements, int)
    assert_type(progress.then(progress), QueryProgress)
    assert_type(stage.then(stage), StageMetrics)
    assert_type(source.then(source), SourceMetrics)
    assert_type(source.source, str)
    assert_type(source.elements, int)
    assert_type(source.watermark, EventTime)
    assert_type(source.percentile_watermarks, Mapping[str, EventTime])
    assert_type(source.signals, tuple[str, ...])
    assert_type(source.reached, Mapping[str, EventTime])
    assert_type(source.idle, bool)
    assert_type(source.changed_files, int)
    assert_type(source.awaited, tuple[str, ...])
    assert_type(source.signals_to_keys, tuple[SignalToKey, ...])
