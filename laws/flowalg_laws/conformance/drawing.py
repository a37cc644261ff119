"""Panes and drops as lines of text: what transcripts are written in, and what failures show.

Times are minutes after the start of generated time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowalg import GLOBAL_WINDOW, KV, Change, Pane, Window
from flowalg_laws.conformance.outcome import Refused
from flowalg_laws.kit.drawing import format_time


def shown(value: object) -> str:
    """A value as text that is equal exactly for equal values of one type: sets in order, all else as it prints."""
    match value:
        case KV(key=key, value=inner):
            return f"{shown(key)}={shown(inner)}"
        case frozenset():
            return f"{{{', '.join(sorted(map(shown, value)))}}}"
        case list():
            return f"[{', '.join(map(shown, value))}]"
        case tuple():
            return f"({', '.join(map(shown, value))})"
        case str():
            return value if value.isalnum() else repr(value)
        case _:
            return repr(value)


def pane_line(pane: Pane[object]) -> str:
    """``13: -a=3 [0, 5) late 1``: seen at, the element (``-`` takes it back), window, timing, index, last or not.

    A pane that does not carry the end of its window says what it carries: ``at 3``.
    """
    sign = "-" if pane.change is Change.RETRACTION else "+"
    at = "" if pane.event_time == pane.window.last_instant else f" at {format_time(pane.event_time)}"
    return (
        f"{format_time(pane.processing_time)}: {sign}{shown(pane.element)} {window_text(pane.window)} "
        f"{pane.timing.value} {pane.index}{' last' if pane.is_last else ''}{at}"
    )


def full_line(pane: Pane[object]) -> str:
    """All that a pane says: ``pane_line``, and whether it is the first, and the watermark."""
    first = "first, " if pane.is_first else ""
    return f"{pane_line(pane)} ({first}watermark {format_time(pane.watermark)})"


def window_text(window: Window) -> str:
    """A window, in minutes."""
    return (
        "always" if window == GLOBAL_WINDOW else f"[{format_time(window.start)}, {format_time(window.end)})"
    )


def drop_lines(dropped: Mapping[Refused, int]) -> list[str]:
    """``2 of a [0, 5) expired``: how many of which key, in order."""
    return sorted(f"{n} of {shown(at.key)} {window_text(at.window)} {at.reason}" for at, n in dropped.items())


def differing(expected: Sequence[str], found: Sequence[str]) -> str:
    """Which lines are missing and which too many, or else which is out of order; empty if they are the same."""
    lacks, extra = list(expected), []
    for line in found:
        if line in lacks:
            lacks.remove(line)
        else:
            extra.append(line)
    if lacks or extra:
        return "\n".join([*(f"missing:  {line}" for line in lacks), *(f"too many: {line}" for line in extra)])
    for one, other in zip(expected, found, strict=True):
        if one != other:
            return f"out of order: {other}\nwhere is due: {one}"
    return ""


__all__ = ["differing", "drop_lines", "full_line", "pane_line", "shown", "window_text"]
