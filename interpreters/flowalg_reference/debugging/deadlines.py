"""The last deadline of any key after the last instant, at which a continuous engine evaluated triggers last."""

from __future__ import annotations

from bisect import bisect_right

from flowalg.analysis.capabilities import Mode
from flowalg.data.time import ProcessingTime
from flowalg.pipeline.nodes import GroupingNode, Node
from flowalg.windows.window import span
from flowalg.windows.window_functions import WindowsByValue, as_merging, assign_windows
from flowalg_reference.debugging.history import History
from flowalg_reference.debugging.recording import longest_delay, record_selected
from flowalg_reference.debugging.selection import Selection


def find_last_deadline(
    root: Node, grouping: GroupingNode, mode: Mode, history: History, until: ProcessingTime
) -> ProcessingTime | None:
    """Returns the last deadline of any key after the last instant up to ``until``, and up to ``until`` itself.

    ``None`` if there is none. A deadline is at most the longest delay of the trigger after the arrival of an element,
    so only the windows of elements that arrived in this period are replayed. Raises ``NotSeparableError`` as
    ``record_selected`` does.
    """
    strategy = grouping.windowed_by.strategy
    delay = longest_delay(strategy.trigger)
    end = bisect_right(history.times, until)
    if delay is None or mode is not Mode.CONTINUOUS or not end:
        return None
    last = history.times[end - 1]
    arrivals = history.arrivals(grouping, bisect_right(history.times, last - delay), end)
    if as_merging(strategy.windows) is not None or isinstance(strategy.windows, WindowsByValue):
        selection = Selection(frozenset(key for key, _ in arrivals))
    else:
        lateness, watermark = strategy.lateness_micros, history.watermarks[end - 1]
        live = [
            (key, window)
            for key, point in arrivals
            for window in assign_windows(strategy.windows, point, key, None)
            if lateness is None or window.end + lateness > watermark
        ]
        if not live:
            return None
        selection = Selection(frozenset(key for key, _ in live), (span(window for _, window in live),))
    recording = record_selected(root, grouping, mode, history, selection, until)
    deadline = None if recording.last is None else recording.last.processing_time
    return deadline if deadline is not None and deadline > last else None
