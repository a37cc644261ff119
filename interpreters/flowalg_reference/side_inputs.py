"""One instant at a ``WithSide``: elements wait for the side input (rules: ``flowalg.pipeline.side_inputs``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from attrs import define, evolve, field

from flowalg.combiners.collections import ToList
from flowalg.combiners.core import require_combiner
from flowalg.data.time import MAX_TIME
from flowalg.pipeline.nodes import Windowing, WithSide
from flowalg.pipeline.side_inputs import View, window_read
from flowalg.runs.clocks import BEGINNING, Clocks, minimum
from flowalg.runs.elements import Element
from flowalg.runs.panes import DropReason
from flowalg.windows.window import Window
from flowalg_reference.contents import AnyCombiner, Contents
from flowalg_reference.drops import DroppedElement, drop
from flowalg_reference.outputs import NodeOutput


@define
class SideReader:
    """The state of a ``WithSide``: the windows of the side input, open or complete, and the elements that wait."""

    view: View
    strategy: Windowing
    main_clocks: Clocks = BEGINNING
    side_clocks: Clocks = BEGINNING
    output: Clocks = BEGINNING
    contents: dict[Window, Contents] = field(factory=dict)
    complete: dict[Window, object] = field(factory=dict)
    waiting: list[tuple[Window, Element]] = field(factory=list)
    drops: list[DroppedElement] = field(factory=list)

    EVERYTHING: ClassVar[AnyCombiner] = require_combiner("", ToList())

    @classmethod
    def of(cls, node: WithSide) -> SideReader:
        """The state of a node before the first instant."""
        return cls(node.view, node.side.windowing)

    def advance(self, main: NodeOutput, side: NodeOutput) -> NodeOutput:
        """Advance by one instant: the elements that have finished waiting, in order of arrival, with what they read."""
        self.main_clocks = minimum([*main.upstreams.values()], self.main_clocks)
        of_side = minimum([*side.upstreams.values()], self.side_clocks)
        if of_side.idle:
            # Elements do not wait for an idle side: its windows are complete as far as the elements have come.
            of_side = minimum([of_side, self.main_clocks], self.side_clocks)
        for element in side.elements:
            self._absorb(element, of_side)
        self.side_clocks = of_side
        windows = self.strategy.strategy.windows
        arrived = [(window_read(windows, one.event_time), one) for one in main.elements]
        known, self.waiting = [*self.waiting, *arrived], []
        passed = tuple(self._passed(known))
        until = min((element.event_time for _, element in self.waiting), default=MAX_TIME)
        self.output = self.main_clocks.with_hold(until, self.output)
        signals = self.main_clocks.signals | of_side.signals
        return NodeOutput(passed, {id(self): evolve(self.output, signals=signals)})

    def _absorb(self, element: Element, clocks: Clocks) -> None:
        """Add an element of the side input to its window; drop it if the window is complete."""
        if not self.strategy.fresh:
            window = element.window
        else:
            window = window_read(self.strategy.strategy.windows, element.event_time)
        if window.end <= self.side_clocks.watermark:
            self.drops.append(drop(element, window, DropReason.CLOSED, clocks))
            return
        contents = self.contents.setdefault(window, Contents.empty(self.EVERYTHING, keeps_values=True))
        contents.absorb(element.value, element.event_time, element.weight)

    def _passed(self, known: list[tuple[Window, Element]]) -> Iterator[Element]:
        for window, element in known:
            if window.end <= self.side_clocks.watermark:
                yield evolve(element, value=(element.value, self._read(window)))
            else:
                self.waiting.append((window, element))

    def _read(self, window: Window) -> object:
        if window not in self.complete:
            contents = self.contents.pop(window, None)
            values = [] if contents is None else contents.extract()
            assert isinstance(values, list)
            self.complete[window] = self.view.read(values, window)
        return self.complete[window]


__all__ = ["SideReader"]
