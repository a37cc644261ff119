"""Elements that wait for a side input: one instant at a ``WithSide`` (the rules are in ``flowalg.sides``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from attrs import define, evolve, field

from flowalg.combiners.collections import ToList
from flowalg.combiners.core import as_combiner
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.pipeline.nodes import Windowing, WithSide
from flowalg.pipeline.side_inputs import View, window_read
from flowalg.runs.panes import Change, Drop, DropReason
from flowalg.windows.window import Window
from flowalg_reference.contents import AnyCombiner, Contents
from flowalg_reference.elements import BEGINNING, Arrivals, Clocks, Element


@define
class SideReader:
    """What the side's windows hold, the elements that wait for them, and what has been read."""

    view: View
    strategy: Windowing
    watermark: EventTime = MIN_TIME
    output: Clocks = BEGINNING
    contents: dict[Window, Contents] = field(factory=dict)
    complete: dict[Window, object] = field(factory=dict)
    waiting: list[tuple[Window, Element]] = field(factory=list)
    drops: list[Drop] = field(factory=list)

    EVERYTHING: ClassVar[AnyCombiner] = as_combiner("", ToList())

    @classmethod
    def of(cls, node: WithSide) -> SideReader:
        """The state of a node before its first instant."""
        return cls(node.view, node.side.windowing)

    def instant(self, main: Arrivals, side: Arrivals) -> Arrivals:
        """The elements that are done waiting, in order of arrival, each beside what it reads."""
        for element in side.elements:
            self._absorb(element, side.clocks)
        self.watermark = side.clocks.watermark
        windows = self.strategy.strategy.windows
        arrived = [(window_read(windows, one.event_time), one) for one in main.elements]
        known, self.waiting = [*self.waiting, *arrived], []
        passed = tuple(self._passed(known))
        until = min((element.event_time for _, element in self.waiting), default=MAX_TIME)
        self.output = main.clocks.held(until, self.output)
        return Arrivals(passed, self.output)

    def _absorb(self, element: Element, clocks: Clocks) -> None:
        """Take in an element of the side, unless it is late for a window that has been complete."""
        if not self.strategy.fresh:
            window = element.window
        else:
            window = window_read(self.strategy.strategy.windows, element.event_time)
        if window.end <= self.watermark:
            change = Change.VALUE if element.weight > 0 else Change.RETRACTION
            self.drops.append(
                Drop(
                    element.value,
                    element.event_time,
                    window,
                    DropReason.CLOSED,
                    clocks.processing_time,
                    clocks.watermark,
                    change,
                )
            )
            return
        held = self.contents.setdefault(window, Contents.empty(self.EVERYTHING, holds=True))
        held.absorb(element.value, element.event_time, element.weight)

    def _passed(self, known: list[tuple[Window, Element]]) -> Iterator[Element]:
        for window, element in known:
            if window.end <= self.watermark:
                yield evolve(element, value=(element.value, self._read(window)))
            else:
                self.waiting.append((window, element))

    def _read(self, window: Window) -> object:
        if window not in self.complete:
            held = self.contents.pop(window, None)
            values = [] if held is None else held.extract()
            assert isinstance(values, list)
            self.complete[window] = self.view.read(values, window)
        return self.complete[window]


__all__ = ["SideReader"]
