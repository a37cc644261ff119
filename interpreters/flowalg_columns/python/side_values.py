"""What elements read of a side input over bounded data, where all of it is known."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property

from attrs import define, field

from flowalg.data.time import EventTime
from flowalg.pipeline.side_inputs import LatestComplete, View, window_read
from flowalg.windows.window import Window
from flowalg.windows.window_functions import WindowFn


@define
class SideValues:
    """The values of each window of a side input, in order of event time, and what elements read of them."""

    view: View
    windows: WindowFn
    values: Mapping[Window, Sequence[object]]
    _known: dict[Window, object] = field(factory=dict)

    def read(self, time: int) -> object:
        """Returns what an element with this event time reads."""
        window = window_read(self.windows, EventTime(time))
        if window not in self._known:
            self._known[window] = self._read(window)
        return self._known[window]

    def _read(self, window: Window) -> object:
        if not isinstance(self.view, LatestComplete):
            return self.view.read(self.values.get(window, []), window)
        ends, versions = self._in_order
        return self.view.read(versions[bisect_right(ends, window.start)], window)

    @cached_property
    def _in_order(self) -> tuple[list[EventTime], list[object]]:
        """The ends of all windows, and what is known before, between and after them."""
        view, windows = self.view, sorted(self.values)
        assert isinstance(view, LatestComplete), "other views read single windows"
        versions = [view.initial]
        for window in windows:
            versions.append(view.update(versions[-1], self.values[window], window))
        return [window.end for window in windows], versions
