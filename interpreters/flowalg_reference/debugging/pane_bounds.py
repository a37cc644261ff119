"""The first and the last window of a run that has a pane, without a replay of the windows between them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from flowalg.analysis.capabilities import Mode
from flowalg.data.time import MAX_TIME, MIN_TIME
from flowalg.pipeline.nodes import GroupingNode, Node
from flowalg.windows.window import Window
from flowalg.windows.window_functions import assign_windows, partition_time
from flowalg_reference.debugging.history import History
from flowalg_reference.debugging.recording import record_selected
from flowalg_reference.debugging.selection import NotSeparableError, Selection, require_separable

_MOST: Final = 20
"""After this many windows without a pane the whole run is replayed instead."""


def find_pane_bounds(root: Node, mode: Mode, history: History) -> tuple[Window, Window] | None:
    """Returns the first and the last window with a pane; ``None`` if no window has one.

    Raises ``NotSeparableError`` unless the windows are the same for all keys and do not overlap, and if many windows
    in a row have no pane.
    """
    grouping = require_separable(root)
    windows = grouping.windowed_by.strategy.windows
    if not partition_time(windows):
        raise NotSeparableError
    first = _first_with_pane(root, grouping, mode, history, _forwards(grouping, history))
    if first is None:
        return None
    last = _first_with_pane(root, grouping, mode, history, _backwards(grouping, history))
    return first, last or first


def _forwards(grouping: GroupingNode, history: History) -> Iterator[Window]:
    """Yields the windows that have elements, in order."""
    point = history.first_event_time(grouping, MIN_TIME)
    while point is not None:
        (window,) = assign_windows(grouping.windowed_by.strategy.windows, point, None, None)
        yield window
        point = history.first_event_time(grouping, window.end)


def _backwards(grouping: GroupingNode, history: History) -> Iterator[Window]:
    """Yields the windows that have elements, the last one first."""
    point = history.last_event_time(grouping, MAX_TIME)
    while point is not None:
        (window,) = assign_windows(grouping.windowed_by.strategy.windows, point, None, None)
        yield window
        point = history.last_event_time(grouping, window.start)


def _first_with_pane(
    root: Node, grouping: GroupingNode, mode: Mode, history: History, windows: Iterator[Window]
) -> Window | None:
    for window in islice(windows, _MOST):
        recording = record_selected(root, grouping, mode, history, Selection(None, (window,)))
        if any(pane.window == window for pane in recording.panes):
            return window
    if next(windows, None) is not None:
        raise NotSeparableError
    return None
