"""Panes and drops as lines of text, for transcripts and failure messages.

Times are in minutes after the start of generated time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from flowalg import KV, EventTime, Pane, Window
from flowalg.runs import BadRecord, Change, Drop, DroppedElement, OutputElement
from flowalg.windows import GLOBAL_WINDOW
from flowalg_laws.conformance.drops import DropGroup
from flowalg_laws.kit.drawing import format_time


def format_element(value: object) -> str:
    """Formats a value; the text is equal exactly for equal values of the same type."""
    match value:
        case KV(key=key, value=inner):
            return f"{format_element(key)}={format_element(inner)}"
        case frozenset():
            return f"{{{', '.join(sorted(map(format_element, value)))}}}"
        case list():
            return f"[{', '.join(map(format_element, value))}]"
        case tuple():
            return f"({', '.join(map(format_element, value))})"
        case str():
            return value if value.isalnum() else repr(value)
        case _:
            return repr(value)


def pane_line(pane: Pane[object]) -> str:
    """Formats a pane: ``13: -a=3 [0, 5) late 1`` has time, element (``-`` retracts it), window, timing and index.

    The last pane of a window ends with ``last``; an event time other than the end of the window is shown as ``at 3``.
    """
    sign = "-" if pane.change is Change.RETRACTION else "+"
    at = "" if pane.event_time == pane.window.last_instant else f" at {format_time(pane.event_time)}"
    return (
        f"{format_time(pane.processing_time)}: {sign}{format_element(pane.element)} {window_text(pane.window)} "
        f"{pane.timing.value} {pane.index}{' last' if pane.is_last else ''}{at}"
    )


def full_line(pane: Pane[object]) -> str:
    """Formats a pane with all of its fields: ``pane_line``, whether it is the first, and the watermark."""
    first = "first, " if pane.is_first else ""
    return f"{pane_line(pane)} ({first}watermark {format_time(pane.watermark)})"


def element_line(element: OutputElement[object]) -> str:
    """Formats an element that nothing has grouped: ``13: a=3 @2`` has processing time, element and event time."""
    time = format_time(element.processing_time)
    return f"{time}: {format_element(element.element)} {place_text(element.event_time)}"


def place_text(place: Window | EventTime) -> str:
    """Formats a window, or an event time as ``@2``."""
    return window_text(place) if isinstance(place, Window) else f"@{format_time(place)}"


def window_text(window: Window) -> str:
    """Formats a window in minutes."""
    return (
        "always" if window == GLOBAL_WINDOW else f"[{format_time(window.start)}, {format_time(window.end)})"
    )


def drop_lines(dropped: Mapping[DropGroup, int]) -> list[str]:
    """Formats drops in order: ``14: 2 of a [0, 5) expired`` has time, count, key, window and reason."""
    return sorted(
        f"{format_time(at.time)}: {n} of {format_element(at.key)} {window_text(at.window)} {at.reason.value}"
        for at, n in dropped.items()
    )


def dropped_line(drop: Drop) -> str:
    """Formats a drop with all of its fields: of a ``DroppedElement`` also the element, its times and its stage."""
    group = DropGroup(drop.processing_time, drop.key, drop.window, drop.reason)
    (line,) = drop_lines({group: drop.count})
    if not isinstance(drop, DroppedElement):
        return line
    sign = "-" if drop.change is Change.RETRACTION else "+"
    return (
        f"{line}: {sign}{format_element(drop.element)} {place_text(drop.event_time)} of {drop.stage}, input "
        f"{drop.input}, behind {format_time(drop.watermark)}"
    )


def bad_record_line(record: BadRecord) -> str:
    """Formats a bad record: ``map(half) {"key":"a"}`` has the stage, without places of functions, and the record."""
    return f"{re.sub(r' at [^)]*', '', record.stage)} {record.record}"


def difference_of(expected: Sequence[str], actual: Sequence[str]) -> str:
    """Returns the missing and unexpected lines, or the first line out of order; empty if the lines are equal."""
    lacks, extra = list(expected), []
    for line in actual:
        if line in lacks:
            lacks.remove(line)
        else:
            extra.append(line)
    if lacks or extra:
        return "\n".join(
            [*(f"missing:    {line}" for line in lacks), *(f"unexpected: {line}" for line in extra)]
        )
    for wanted, line in zip(expected, actual, strict=True):
        if wanted != line:
            return f"out of order: {line}\nexpected:     {wanted}"
    return ""
