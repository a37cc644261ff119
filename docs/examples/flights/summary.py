"""Panes of the flights as text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from flights.pipeline import HourStats
from flowalg import KV, EventTime, Pane, ProcessingTime
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.runs import Change, Timing


def format_panes(panes: Iterable[Pane[object]], *, until: datetime | None = None) -> str:
    """A line for each pane, in UTC: processing time, key, window, timing and value; ``-`` marks a retraction.

    With ``until`` only the panes of windows that end by then. If all panes are on time at one processing time, as in a
    batch, the processing time and the timing are omitted.
    """
    shown = [pane for pane in panes if until is None or pane.window.end.datetime <= until]
    rows = [_row(pane) for pane in shown]
    if (
        len({(pane.processing_time, pane.timing) for pane in shown}) == 1
        and shown[0].timing is Timing.ON_TIME
    ):
        rows = [("", key, window, "", value) for _, key, window, _, value in rows]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    return "\n".join(
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False) if width), row[-1]))
        for row in rows
    )


def _row(pane: Pane[object]) -> tuple[str, str, str, str, str]:
    key, value = _parts(pane.element)
    sign = "-" if pane.change is Change.RETRACTION else ""
    window = f"{_clock(pane.window.start)}-{_clock(pane.window.end)}"
    return _clock(pane.processing_time), key, window, pane.timing.value.replace("_", " "), sign + value


def _parts(element: object) -> tuple[str, str]:
    if isinstance(element, KV):
        return str(element.key), _format_value(element.value)
    return "", _format_value(element)


def _format_value(value: object) -> str:
    match value:
        case HourStats(departures=departures, mean_delay=delay):
            return f"{departures} departures, {delay:.1f} min"
        case float():
            return f"{value:.1f}"
        case _:
            return str(value)


def _clock(point: EventTime | ProcessingTime) -> str:
    if point in (MIN_TIME, MAX_TIME):
        return "..."
    return f"{point.datetime:%H:%M}"
