"""Timelines as small text tables, with times in minutes after the start of generated time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from flowalg import EventTime, ProcessingTime, Timeline
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.data.time import processing_time
from flowalg.runs.signals import in_order
from flowalg_laws.kit.readings import START, Reading


def format_time(point: EventTime | ProcessingTime) -> str:
    """Formats a point in time as minutes after the start."""
    if point <= MIN_TIME:
        return "-"
    if point >= MAX_TIME:
        return "the end"
    minutes, rest = divmod(point - processing_time(START), 60_000_000)
    return f"{minutes}" if not rest else f"{minutes + rest / 60_000_000:g}"


def format_reading(reading: Reading) -> str:
    """Formats a reading: its key, its value and its event time."""
    return f"{reading.key}={reading.value} of {_minute(reading)}"


def _minute(reading: Reading) -> str:
    return f"{(reading.at - START) / timedelta(minutes=1):g}"


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns the lines of a table."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)
    ]
    return [
        lines[0].rstrip(),
        "  ".join("-" * width for width in widths),
        *(line.rstrip() for line in lines[1:]),
    ]


def format_value(value: object) -> str:
    """Formats a value of a counterexample: a timeline as a table, other values by their ``repr``."""
    if not isinstance(value, Timeline):
        return repr(value)
    rows = [
        (
            format_time(instant.processing_time),
            ", ".join(
                format_reading(item) if isinstance(item, Reading) else repr(item) for item in instant.elements
            ),
            format_time(instant.watermark),
            " ".join(map(str, in_order(instant.signals))),
        )
        for instant in value
    ]
    return "\n".join(
        f"    {line}"
        for line in ["", *format_table(("processing time", "elements", "watermark", "signals"), rows)]
    )
