"""Signals: control messages to a pipeline, for which ``AtSignal`` waits (SEMANTICS section 15)."""

from __future__ import annotations

from typing import TypeAlias

from attrs import field, frozen

from flowalg.data.errors import ArgumentError, ElementError, require_name
from flowalg.data.json_text import render_json
from flowalg.data.values import sort_key
from flowalg.windows.window import Window


@frozen
class Signal:
    """A signal to the windows of one key, or to one window of it. A plain name is a signal to all windows.

    ``key`` is that of the grouping whose trigger waits for the signal. Raises ``ArgumentError`` for a key that cannot
    be the key of a grouping.

    Example:

    >>> totals = points.window(FixedWindows(5 * MINUTE), trigger=AtSignal("flush").repeat()).combine_per_key(Sum())
    >>> timeline = Timeline[Score]().at(noon(2), *RECORDS).at(noon(3), signals=[Signal("flush", "red")])
    >>> [(pane.key, pane.value) for pane in reference.run(totals, {scores: timeline}).panes]
    [('red', 8)]
    """

    name: str
    key: object
    window: Window | None = field(default=None)

    def __attrs_post_init__(self) -> None:
        require_name("Signal.name", self.name)
        if self.window is not None and not isinstance(self.window, Window):
            raise ArgumentError("Signal.window", self.window, "a Window, or None for all windows of the key")
        try:
            hash(self.key)
            sort_key(self.key)
        except (TypeError, ElementError) as invalid:
            raise ArgumentError("Signal.key", self.key, "a key: hashable, and with an order") from invalid

    def __str__(self) -> str:
        where = "" if self.window is None else f" in {self.window}"
        return f"{self.name} for {self.key}{where}"


@frozen
class KeyText:
    """A key as canonical JSON text, in a signal whose reader knows the type: it is every key with this text."""

    text: str

    @classmethod
    def of(cls, key: object) -> KeyText:
        """Returns the text of a key."""
        return key if isinstance(key, KeyText) else cls(render_json(key))

    def __str__(self) -> str:
        return self.text


AnySignal: TypeAlias = str | Signal
"""A signal; a name alone is a signal to all windows."""


def name_of(signal: AnySignal) -> str:
    """Returns the name of a signal."""
    return signal.name if isinstance(signal, Signal) else signal


def signals_reaching(signals: frozenset[AnySignal], key: object, window: Window) -> frozenset[str]:
    """Returns the names of the signals that a window of a key receives."""
    return frozenset(name_of(signal) for signal in signals if _reaches(signal, key, window))


def _reaches(signal: AnySignal, key: object, window: Window) -> bool:
    if isinstance(signal, str):
        return True
    if isinstance(signal.key, KeyText):
        is_key = signal.key == KeyText.of(key)
    else:
        is_key = signal.key == key and type(signal.key) is type(key)  # 1 is not True
    return is_key and signal.window in (None, window)


def in_order(signals: frozenset[AnySignal]) -> list[AnySignal]:
    """Returns signals in one order: by name, those to all windows first, then by text."""
    return sorted(signals, key=lambda signal: (name_of(signal), isinstance(signal, Signal), str(signal)))
