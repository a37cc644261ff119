"""The signals in rows of a source."""

from __future__ import annotations

from attrs import frozen

from flowalg.data.time import EventTime
from flowalg.runs.signals import AnySignal, Signal
from flowalg.windows.window import Window


@frozen
class KeyText:
    """A key as canonical JSON text, in a signal of a stream: each stage decodes it to a key of its own type."""

    text: str

    def __str__(self) -> str:
        return self.text


def signal_of(name: str, key: str | None, start: int | None, end: int | None) -> AnySignal:
    """Returns the signal of a row; without a key it is one to all windows."""
    if key is None:
        return name
    window = None if start is None or end is None else Window(EventTime(start), EventTime(end))
    return Signal(name, KeyText(key), window)


__all__ = ["KeyText", "signal_of"]
