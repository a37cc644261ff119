"""Timelines as small tables of text: times in minutes after the start of generated time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from flowalg import MAX_TIME, MIN_TIME, EventTime, ProcessingTime, Timeline
from flowalg.data.time import processing_time
from flowalg_laws.kit.readings import START, Reading


def clock(point: EventTime | ProcessingTime) -> str:
    """A point, in minutes after the start."""
    if point <= MIN_TIME:
        return "-"
    if point >= MAX_TIME:
        return "the end"
    minutes, rest = divmod(point - processing_time(START), 60_000_000)
    return f"{minutes}" if not rest else f"{minutes + rest / 60_000_000:g}"


def element(reading: Reading) -> str:
    """A reading: its key, its value, and when it happened."""
    return f"{reading.key}={reading.value} of {_minute(reading)}"


def _minute(reading: Reading) -> str:
    return f"{(reading.at - START) / timedelta(minutes=1):g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)
    ]
    return [
        lines[0].rstrip(),
        "  ".join("-" * width for width in widths),
        *(line.rstrip() for line in lines[1:]),
    ]


def drawn(value: object) -> str:
    """A value as a counterexample shows it: a timeline as a table, anything else as it is."""
    if not isinstance(value, Timeline):
        return repr(value)
    rows = [
        (
            clock(instant.processing_time),
            ", ".join(element(one) if isinstance(one, Reading) else repr(one) for one in instant.elements),
            clock(instant.watermark),
            " ".join(sorted(instant.signals)),
        )
        for instant in value
    ]
    return "\n".join(
        f"    {line}" for line in ["", *table(("seen at", "elements", "watermark", "signals"), rows)]
    )


__all__ = ["clock", "drawn", "element", "table"]
