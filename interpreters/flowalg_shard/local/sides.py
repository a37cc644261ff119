"""Elements that wait for a side input in the local engine (the rules are in ``flowalg.sides``)."""

from __future__ import annotations

from attrs import define, evolve, field

from flowalg.kv import KV
from flowalg.nodes import EffectiveStrategy, WithSide, strategy_at
from flowalg.panes import DropReason
from flowalg.sides import View, window_read
from flowalg.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.windows import Window
from flowalg_shard.clocks import BEGINNING, Clocks
from flowalg_shard.local.elements import Arrivals, Element
from flowalg_shard.local.grouping import Dropped
from flowalg_shard.objects import Held, Line


@define
class SideReader:
    """What the side's windows hold, the elements that wait for them, and what has been read."""

    view: View
    strategy: EffectiveStrategy
    watermark: EventTime = MIN_TIME
    output: Clocks = BEGINNING
    lines: dict[Window, Line] = field(factory=dict)
    read: dict[Window, object] = field(factory=dict)
    waiting: list[tuple[Window, Element]] = field(factory=list)
    drops: list[Dropped] = field(factory=list)

    @classmethod
    def of(cls, node: WithSide) -> SideReader:
        """The state of a node before its first instant."""
        return cls(node.view, strategy_at(node.side))

    def instant(self, main: Arrivals, side: Arrivals) -> Arrivals:
        """The elements that are done waiting, in order of arrival, each beside what it reads."""
        for element in side.elements:
            self._absorb(element, side.clocks)
        self.watermark = side.clocks.watermark
        windows = self.strategy.strategy.windows
        known = [*self.waiting, *((window_read(windows, one.event_time), one) for one in main.elements)]
        self.waiting = [pair for pair in known if pair[0].end > self.watermark]
        passed = [
            evolve(element, value=(element.value, self._reading(window)))
            for window, element in known
            if window.end <= self.watermark
        ]
        until = min((element.event_time for _, element in self.waiting), default=MAX_TIME)
        self.output = main.clocks.held(until, self.output)
        return Arrivals(tuple(passed), self.output)

    def _absorb(self, element: Element, clocks: Clocks) -> None:
        """Take in an element of the side, unless it is late for a window that has been complete."""
        windows = self.strategy.strategy.windows
        window = window_read(windows, element.event_time) if self.strategy.fresh else element.window
        if window.end > self.watermark:
            held = Held(element.value, element.event_time, element.weight)
            self.lines.setdefault(window, Line()).take(held)
            return
        key = element.value.key if isinstance(element.value, KV) else element.value
        self.drops.append(Dropped(key, window, DropReason.CLOSED.value, 1, clocks.processing_time))

    def _reading(self, window: Window) -> object:
        if window not in self.read:
            held = self.lines.pop(window, Line()).held
            values = [one.value for one in sorted(held, key=lambda one: one.event_time) if one.weight > 0]
            self.read[window] = self.view.read(values, window)
        return self.read[window]


__all__ = ["SideReader"]
