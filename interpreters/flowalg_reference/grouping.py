"""One instant at a grouping, in the six steps of SEMANTICS section 5."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from attrs import define, field, frozen

from flowalg.combiners import Combiner
from flowalg.errors import ElementError, describe
from flowalg.functions import keyed
from flowalg.kv import KV
from flowalg.nodes import CombinePerKey, strategy_at
from flowalg.panes import Change, Drop, DropReason, PaneInfo, Timing
from flowalg.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.values import canonical, order_key
from flowalg.windowing import WindowingStrategy
from flowalg.windows import Window
from flowalg_reference.elements import Arrivals, Element
from flowalg_reference.triggering import Finished, TriggerState, fire, ready, start


@frozen
class Place:
    """Where contents are kept: one key in one window."""

    window: Window
    key: object


@define
class Cell:
    """One window of one key: its contents combined, its trigger, and what its panes have shown so far."""

    contents: object
    trigger: TriggerState
    changed: bool = False
    panes: int = 0


@define
class Grouping:
    """The state of one ``combine_per_key``, moved on by one instant at a time."""

    combiner: Combiner[object, object, object]
    strategy: WindowingStrategy
    fresh: bool
    label: str
    watermark: EventTime = MIN_TIME
    output_watermark: EventTime = MIN_TIME
    cells: dict[Place, Cell] = field(factory=dict)
    alarms: list[tuple[EventTime, int, Place]] = field(factory=list)
    drops: list[Drop] = field(factory=list)
    alarms_set: int = 0

    @classmethod
    def of(cls, node: CombinePerKey) -> Grouping:
        """The grouping of a node, before its first instant."""
        effective = strategy_at(node.input)
        return cls(node.combiner, effective.strategy, effective.fresh, node.label)

    def instant(self, time: ProcessingTime, arrivals: Arrivals) -> Arrivals:
        """The panes of one instant, and the output watermark after it."""
        before, after = self.watermark, arrivals.watermark
        touched = {place for element in arrivals.elements for place in self._absorb(element, time)}
        self.watermark = after
        affected = touched | set(self._alarmed())
        panes = tuple(
            pane
            for place in sorted(affected, key=lambda one: (one.window, order_key(one.key)))
            for pane in self._evaluate(place, self.cells[place], before, after, time)
        )
        self.output_watermark = max(self.output_watermark, min(after, self._hold()))
        return Arrivals(panes, self.output_watermark)

    def _absorb(self, element: Element, time: ProcessingTime) -> Iterator[Place]:
        """Steps 1 and 3: assign windows to an element, drop it where it is too late, observe it elsewhere."""
        pair = keyed(element.value, self.label)
        _check_key(pair.key, self.label)
        for window in self._windows(element):
            place = Place(window, pair.key)
            refused = self._refused(place)
            if refused is not None:
                self.drops.append(Drop(pair, element.event_time, window, refused, time, self.watermark))
                continue
            cell = self.cells.get(place) or self._open(place)
            cell.contents = self.combiner.add(cell.contents, pair.value)
            cell.changed = True
            yield place

    def _refused(self, place: Place) -> DropReason | None:
        """Why a window takes no more elements, if it does not."""
        if self._expired(place.window, self.watermark):
            return DropReason.EXPIRED
        cell = self.cells.get(place)
        if cell is not None and isinstance(cell.trigger, Finished):
            return DropReason.CLOSED
        return None

    def _windows(self, element: Element) -> Iterable[Window]:
        return self.strategy.windows.assign(element.event_time) if self.fresh else (element.window,)

    def _open(self, place: Place) -> Cell:
        cell = Cell(self.combiner.zero(), start(self.strategy.trigger))
        self.cells[place] = cell
        self._set_alarm(place.window.end, place)
        lateness = self.strategy.lateness_micros
        if lateness:
            self._set_alarm(EventTime(place.window.end + lateness), place)
        return cell

    def _evaluate(
        self, place: Place, cell: Cell, before: EventTime, after: EventTime, time: ProcessingTime
    ) -> Iterator[Element]:
        """Steps 5 and 6: fire if the trigger is ready; flush and free when the window expires."""
        window = place.window
        fires = ready(self.strategy.trigger, cell.trigger, window, after)
        if fires:
            cell.trigger = fire(self.strategy.trigger, cell.trigger)
        expires = self._expired(window, after)
        if cell.changed and (fires or expires or after == MAX_TIME):
            is_last = expires or isinstance(cell.trigger, Finished)
            info = PaneInfo(
                Change.VALUE,
                timing(window, before, after),
                index=cell.panes,
                is_first=cell.panes == 0,
                is_last=is_last,
                processing_time=time,
                watermark=after,
            )
            cell.changed = False
            cell.panes += 1
            value = canonical(self.combiner.extract(cell.contents), f"the result of {self.label}")
            yield Element(KV(place.key, value), window.last_instant, window, info)
        if expires:
            del self.cells[place]

    def _expired(self, window: Window, watermark: EventTime) -> bool:
        lateness = self.strategy.lateness_micros
        return lateness is not None and window.end + lateness <= watermark

    def _set_alarm(self, point: EventTime, place: Place) -> None:
        """Have the place evaluated when the watermark reaches a point, or when the input ends."""
        self.alarms_set += 1
        heapq.heappush(self.alarms, (min(point, MAX_TIME), self.alarms_set, place))

    def _alarmed(self) -> Iterator[Place]:
        while self.alarms and self.alarms[0][0] <= self.watermark:
            _, _, place = heapq.heappop(self.alarms)
            if place in self.cells:
                yield place

    def _hold(self) -> EventTime:
        """The least event time that a pane still to come for what is buffered would carry (section 9)."""
        waiting = (place.window.last_instant for place, cell in self.cells.items() if cell.changed)
        return min(waiting, default=MAX_TIME)


def timing(window: Window, before: EventTime, after: EventTime) -> Timing:
    """Early, on time or late, by the watermark before an instant and after it (section 7)."""
    if after < window.end:
        return Timing.EARLY
    return Timing.ON_TIME if before < window.end else Timing.LATE


def _check_key(key: object, label: str) -> None:
    if isinstance(key, float):
        raise ElementError(f"{label} was given the key {describe(key)}; floats cannot be compared exactly")
    try:
        hash(key)
    except TypeError as unhashable:
        raise ElementError(
            f"{label} was given the key {describe(key)}, which is not hashable"
        ) from unhashable


__all__ = ["Grouping", "timing"]
