"""What the status page shows, as JSON."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import UTC, datetime

from flowalg.data.time import EventTime, event_time
from flowalg.runs.metrics import DROP_COUNTS, PANE_COUNTS, QueryProgress, SourceMetrics, StageMetrics
from flowalg_tools.monitoring.log_lines import Json
from flowalg_tools.monitoring.metric_table import lag_of
from flowalg_tools.monitoring.status import QueryStatus
from flowalg_tools.monitoring.windows import OpenState, describe_row, describe_time, explain_watermark


def statuses_view(statuses: Sequence[QueryStatus], with_windows: Container[str]) -> dict[str, Json]:
    """Returns all queries; ``with_windows`` has the names of those whose open windows can be read."""
    queries: list[Json] = [query_view(status, status.query in with_windows) for status in statuses]
    return {"time": _time(datetime.now(UTC)), "queries": queries}


def query_view(status: QueryStatus, shows_windows: bool) -> dict[str, Json]:
    """Returns a query: its state and totals, its stages and its sources."""
    last, total = status.last, status.total
    view: dict[str, Json] = {
        "query": status.query,
        "state": status.state.value,
        "since": _time(status.since),
        "updated": _time(status.updated),
        "error": status.error,
        "batches": status.batches,
        "windows": shows_windows,
    }
    if last is None or total is None:
        return view | {"stages": [], "sources": []}
    return view | {
        "batch": last.batch,
        "processing_time": _time(last.processing_time),
        "seconds": last.seconds,
        "elements": total.elements if total.sources else None,
        "rate": status.rate,
        "bad_records": total.bad_records,
        "stages": [_stage_view(stage, total, last) for stage in total.stages],
        "sources": [_source_view(source, total.processing_time) for source in total.sources],
    }


def _stage_view(stage: StageMetrics, total: QueryProgress, last: QueryProgress) -> dict[str, Json]:
    seconds = next(
        (last_stage.step_seconds for last_stage in last.stages if last_stage.number == stage.number), None
    )
    return {
        "number": stage.number,
        "stage": stage.stage,
        "watermark": _second(event_time(stage.watermark)),
        "lag": stage.watermark_lag,
        "open_windows": stage.windows,
        "state_bytes": stage.state_bytes,
        **{name: getattr(stage, name) for name in PANE_COUNTS},
        "dropped": sum(getattr(stage, name) for name in DROP_COUNTS),
        "seconds": seconds,
        "why": explain_watermark(stage, total.sources),
    }


def _source_view(source: SourceMetrics, now: datetime) -> dict[str, Json]:
    return {
        "source": source.source,
        "elements": source.elements,
        "watermark": _second(source.watermark),
        "lag": lag_of(source.watermark, now),
        "idle": source.idle,
        "awaited": list(source.awaited),
    }


def windows_view(state: OpenState, stage: StageMetrics) -> dict[str, Json]:
    """Returns the open windows of a stage that are due first, and the number of all."""
    rows: list[Json] = [{**describe_row(row, stage)} for row in state.rows]
    return {"total": state.total, "rows": rows}


def _time(time: datetime) -> str:
    return _second(event_time(time))


def _second(point: EventTime) -> str:
    """Returns a point in time, to the second."""
    return describe_time(point).partition(".")[0]
