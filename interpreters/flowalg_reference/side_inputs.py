"""One instant at a ``WithSide``: elements wait for the side input (rules: ``flowalg.pipeline.side_inputs``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from attrs import define, evolve, field

from flowalg.combiners.collections import ToList
from flowalg.combiners.core import AnyCombiner, require_combiner
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.pipeline.nodes import Windowing, WithSide
from flowalg.pipeline.side_inputs import Lateness, LatestComplete, View, time_read, window_read
from flowalg.pipeline.structure import lateness_of_readers
from flowalg.runs.clocks import BEGINNING, Clocks, minimum
from flowalg.runs.elements import Element
from flowalg.runs.panes import DroppedElement, DropReason
from flowalg.windows.window import Window
from flowalg_reference.contents import Contents
from flowalg_reference.drops import drop
from flowalg_reference.outputs import NodeOutput


@define
class SideReader:
    """The state of a ``WithSide``: the windows of the side input, open or complete, and the elements that wait.

    ``values`` has what the elements in each window of the side input read. No window is freed: elements that could only
    read a freed one are dropped.
    """

    label: str
    view: View
    strategy: Windowing
    lateness: Lateness | None
    main_clocks: Clocks = BEGINNING
    side_clocks: Clocks = BEGINNING
    output: Clocks = BEGINNING
    contents: dict[Window, Contents] = field(factory=dict)
    values: dict[Window, object] = field(factory=dict)
    waiting: list[tuple[Window, Element]] = field(factory=list)
    drops: list[DroppedElement] = field(factory=list)

    EVERYTHING: ClassVar[AnyCombiner] = require_combiner("", ToList())

    @classmethod
    def of(cls, node: WithSide) -> SideReader:
        """Returns the state of a node before the first instant."""
        return cls(node.label, node.view, node.side.windowing, lateness_of_readers(node))

    def advance(self, main: NodeOutput, side: NodeOutput) -> NodeOutput:
        """Advance by one instant: the elements that have finished waiting, in order of arrival, with what they read."""
        horizon = MIN_TIME if self.lateness is None else self.lateness.horizon(self.main_clocks.watermark)
        before = self.main_clocks.watermark
        self.main_clocks = minimum([*main.upstreams.values()], self.main_clocks)
        of_side = minimum([*side.upstreams.values()], self.side_clocks)
        for element in side.elements:
            self._absorb(element, of_side.processing_time)
        self.side_clocks = of_side
        arrived = [*self._in_time(main.elements, horizon, before)]
        candidates, self.waiting = [*self.waiting, *arrived], []
        passed = tuple(self._passed(candidates))
        until = min((element.event_time for _, element in self.waiting), default=MAX_TIME)
        self.output = self.main_clocks.with_hold(until, self.output)
        signals = self.main_clocks.signals | of_side.signals
        read = max(self.main_clocks.horizon, of_side.horizon)
        return NodeOutput(passed, {id(self): evolve(self.output, signals=signals, horizon=read)})

    def _absorb(self, element: Element, now: ProcessingTime) -> None:
        """Add an element of the side input to its window; drop it if the window is complete."""
        if not self.strategy.fresh:
            window = element.window
        else:
            window = window_read(self.strategy.strategy.windows, element.event_time)
        before = self.side_clocks.watermark
        if window.end <= before:
            self.drops.append(drop(element, window, DropReason.CLOSED, now, before, self.label, 1))
            return
        contents = self.contents.setdefault(window, Contents.empty(self.EVERYTHING, keeps_values=True))
        contents.absorb(element.value, element.event_time, element.weight)

    def _in_time(
        self, elements: Iterable[Element], horizon: EventTime, before: EventTime
    ) -> Iterator[tuple[Window, Element]]:
        """The elements with the windows of the side input that contain them, without those before the horizon.

        ``before`` is their watermark before the instant.
        """
        now = self.main_clocks.processing_time
        for element in elements:
            window = window_read(self.strategy.strategy.windows, element.event_time)
            if element.event_time >= horizon:
                yield window, element
            else:
                self.drops.append(drop(element, window, DropReason.EXPIRED, now, before, self.label))

    def _passed(self, candidates: list[tuple[Window, Element]]) -> Iterator[Element]:
        for window, element in candidates:
            if time_read(self.view, window) <= self.side_clocks.watermark:
                yield evolve(element, value=(element.value, self._read(window)))
            else:
                self.waiting.append((window, element))

    def _read(self, window: Window) -> object:
        if window not in self.values:
            self.values[window] = self._value(window)
        return self.values[window]

    def _value(self, window: Window) -> object:
        """Returns what the elements in a window of the side input read."""
        match self.view:
            case LatestComplete() as view:
                value = view.initial
                for before in sorted(earlier for earlier in self.contents if earlier.end <= window.start):
                    value = view.update(value, self._values(before), before)
                return view.read(value, window)
            case view:
                return view.read(self._values(window), window)

    def _values(self, window: Window) -> list[object]:
        values = self.contents[window].extract() if window in self.contents else []
        assert isinstance(values, list)
        return values
