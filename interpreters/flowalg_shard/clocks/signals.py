"""The signals in rows of a source."""

from __future__ import annotations

from flowalg.data.time import EventTime
from flowalg.runs.signals import AnySignal, KeyText, Signal
from flowalg.windows.window import Window


def signal_of(name: str, key: str | None, start: int | None, end: int | None) -> AnySignal:
    """Returns the signal of a row; without a key it is one to all windows."""
    if key is None:
        return name
    window = None if start is None or end is None else Window(EventTime(start), EventTime(end))
    return Signal(name, KeyText(key), window)
