"""One instant at a grouping, in the six steps of SEMANTICS section 5."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from attrs import define, field, frozen

from flowalg.combiners.core import Group
from flowalg.data.errors import ElementError, format_value
from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime
from flowalg.data.values import has_float, sort_key
from flowalg.elementwise.functions import require_keyed
from flowalg.pipeline.co_group import untagged
from flowalg.pipeline.nodes import GroupingNode
from flowalg.runs.panes import Change, Drop, DropReason
from flowalg.triggers.syntax import AtElement, AtMeasure, AtSignal, AtWatermark
from flowalg.windows.window import Window, span
from flowalg.windows.window_functions import merging
from flowalg_reference.elements import BEGINNING, Arrivals, Clocks, Element
from flowalg_reference.trace import Evaluation
from flowalg_reference.trigger_state import Leaf, due, fire, leaves, ready, seen_of
from flowalg_reference.window_state import Cell, Rules, merged


@frozen
class Place:
    """One window of one key."""

    window: Window
    key: object


@define
class Grouping:
    """The state of one grouping, moved on by one instant at a time.

    ``record`` is given each evaluation of a window, for those who ask why afterwards.
    """

    rules: Rules
    fresh: bool
    record: Callable[[Evaluation], None] | None = None
    clocks: Clocks = BEGINNING
    output: Clocks = BEGINNING
    cells: dict[object, dict[Window, Cell]] = field(factory=lambda: defaultdict(dict))
    drops: list[Drop] = field(factory=list)
    alarms: list[tuple[int, int, Place]] = field(factory=list)
    deadlines: list[tuple[ProcessingTime, int, Place]] = field(factory=list)
    pending: dict[Place, ProcessingTime] = field(factory=dict)
    restless: set[Place] = field(factory=set)
    unshown: dict[Place, EventTime] = field(factory=dict)
    set_so_far: int = 0

    @classmethod
    def of(cls, node: GroupingNode, record: Callable[[Evaluation], None] | None = None) -> Grouping:
        """The grouping of a node, before its first instant."""
        effective = node.windowed_by
        holds = node.combiner.ordered or (node.receives_retractions and not isinstance(node.combiner, Group))
        return cls(Rules(node.combiner, effective.strategy, node.label, holds), effective.fresh, record)

    def instant(self, arrivals: Arrivals, signals: frozenset[str]) -> Arrivals:
        """The panes of one instant, and the clocks downstream after it."""
        before, clocks = self.clocks.watermark, arrivals.clocks
        touched = set(self._arrive(arrivals.elements, before, clocks.processing_time))
        touched |= set(self._signalled(signals))
        self.clocks = clocks
        affected = touched | set(self._woken(clocks))
        self.restless = set()
        panes = [
            pane for place in sorted(affected, key=_order) for pane in self._evaluate(place, before, clocks)
        ]
        self.output = clocks.held(min(self.unshown.values(), default=MAX_TIME), self.output)
        return Arrivals(tuple(panes), self.output)

    def _arrive(
        self, elements: Iterable[Element], before: EventTime, time: ProcessingTime
    ) -> Iterator[Place]:
        """Steps 1 to 3, key by key: assign windows, drop, merge, observe."""
        data: tuple[Leaf, ...] = tuple(
            leaf for leaf in leaves(self.rules.strategy.trigger) if isinstance(leaf, AtMeasure | AtElement)
        )
        by_key: dict[object, list[tuple[Element, Window]]] = defaultdict(list)
        for element in elements:
            key = _checked_key(require_keyed(element.value, self.rules.label).key, self.rules.label)
            for window in self._assigned(element, key):
                if self._meets_closed(key, window, element.event_time):
                    self._drop(element, window, DropReason.CLOSED, time)
                else:
                    by_key[key].append((element, window))
        for key, arriving in by_key.items():
            for window, members, joining in self._groups(key, arriving):
                if not members and self.rules.expired(window, before):
                    for element, proto in joining:
                        self._drop(element, proto, DropReason.EXPIRED, time)
                    continue
                cell = self._replace(key, window, members, before)
                for element, _ in joining:
                    value = require_keyed(element.value, self.rules.label).value
                    seen = seen_of(data, untagged(value), element.weight, time)
                    cell.take(value, element.event_time, element.weight, seen)
                yield Place(window, key)

    def _assigned(self, element: Element, key: object) -> tuple[Window, ...]:
        if not self.fresh:
            return (element.window,)
        return self.rules.strategy.windows.assign(element.event_time, key)

    def _meets_closed(self, key: object, window: Window, point: EventTime) -> bool:
        """Whether an element belongs to a window whose trigger has finished."""
        cells = self.cells.get(key, {})
        if merging(self.rules.strategy.windows) is None or not self.fresh:
            cell = cells.get(window)
            return cell is not None and cell.closed
        return any(cell.closed and point in cell.window for cell in cells.values())

    def _groups(
        self, key: object, arriving: list[tuple[Element, Window]]
    ) -> Iterator[tuple[Window, list[Cell], list[tuple[Element, Window]]]]:
        """Step 2: the windows that there are now, each with the live ones it is made of and what joins it."""
        joining: dict[Window, list[tuple[Element, Window]]] = defaultdict(list)
        for element, window in arriving:
            joining[window].append((element, window))
        cells = self.cells[key]
        merge = merging(self.rules.strategy.windows) if self.fresh else None
        if merge is None:
            for window, elements in joining.items():
                yield window, [cells[window]] if window in cells else [], elements
            return
        live = {window: cell for window, cell in cells.items() if not cell.closed}
        for group in merge.merge(dict.fromkeys((*live, *joining))):
            members = [live[window] for window in group if window in live]
            elements = [pair for window in group for pair in joining.get(window, ())]
            if elements or len(members) > 1:
                yield span(group), members, elements

    def _replace(self, key: object, window: Window, members: list[Cell], before: EventTime) -> Cell:
        """Put the window that some live windows have become in their place."""
        cells = self.cells[key]
        grown = [member.window for member in members] != [window]
        for member in members:
            del cells[member.window]
            self.unshown.pop(Place(member.window, key), None)
            self.pending.pop(Place(member.window, key), None)
        cell = merged(window, members, self.rules, before)
        cells[window] = cell
        if grown:
            self._set_alarms(Place(window, key))
        return cell

    def _signalled(self, signals: frozenset[str]) -> Iterator[Place]:
        """Every live window hears a signal that its trigger could be waiting for."""
        names = {leaf.name for leaf in leaves(self.rules.strategy.trigger) if isinstance(leaf, AtSignal)}
        heard = signals & names
        if heard:
            for key, cells in self.cells.items():
                for cell in cells.values():
                    cell.signalled(heard)
                    yield Place(cell.window, key)

    def _evaluate(self, place: Place, before: EventTime, clocks: Clocks) -> Iterator[Element]:
        """Steps 5 and 6 for one window, and what will wake it next."""
        cell = self.cells[place.key][place.window]
        state, changed = cell.trigger, cell.changed
        panes = tuple(cell.evaluate(place.key, self.rules, before, clocks))
        if self.record is not None:
            self.record(
                Evaluation(self.rules, place.key, place.window, state, changed, before, clocks, panes)
            )
        yield from panes
        self.unshown.pop(place, None)
        self.pending.pop(place, None)
        if self.rules.expired(place.window, clocks.watermark):
            del self.cells[place.key][place.window]
            if not self.cells[place.key]:
                del self.cells[place.key]
            return
        if cell.changed:
            self.unshown[place] = cell.hold(self.rules)
        if cell.closed:
            return
        trigger = self.rules.strategy.trigger
        again = ready(trigger, cell.trigger, cell.window, clocks)
        if again and fire(trigger, cell.trigger, cell.window, clocks) != cell.trigger:
            self.restless.add(place)
        deadline = due(trigger, cell.trigger, cell.window, clocks)
        if deadline is not None:
            self.set_so_far += 1
            self.pending[place] = deadline
            heapq.heappush(self.deadlines, (deadline, self.set_so_far, place))

    def next_deadline(self) -> ProcessingTime | None:
        """The next processing time at which the trigger of a window becomes ready by itself."""
        while self.deadlines:
            deadline, _, place = self.deadlines[0]
            if self.pending.get(place) == deadline:
                return deadline
            heapq.heappop(self.deadlines)
        return None

    def _set_alarms(self, place: Place) -> None:
        """Have a window evaluated when the watermark reaches its end, when it expires, and when the input ends."""
        end = place.window.end
        for point in {end, end + (self.rules.strategy.lateness_micros or 0), MAX_TIME}:
            self.set_so_far += 1
            heapq.heappush(self.alarms, (min(point, MAX_TIME), self.set_so_far, place))

    def _woken(self, clocks: Clocks) -> Iterator[Place]:
        """The windows that the clocks affect: alarms that are due, and those that are ready again at once."""
        places = list(self.restless)
        while self.deadlines and self.deadlines[0][0] <= clocks.processing_time:
            places.append(heapq.heappop(self.deadlines)[2])
        while self.alarms and self.alarms[0][0] <= clocks.watermark:
            places.append(heapq.heappop(self.alarms)[2])
        if any(
            isinstance(leaf, AtWatermark) and leaf.percentile for leaf in leaves(self.rules.strategy.trigger)
        ):
            places.extend(Place(window, key) for key, cells in self.cells.items() for window in cells)
        return (place for place in places if place.window in self.cells.get(place.key, {}))

    def _drop(self, element: Element, window: Window, reason: DropReason, time: ProcessingTime) -> None:
        change = Change.VALUE if element.weight > 0 else Change.RETRACTION
        drop = Drop(element.value, element.event_time, window, reason, time, self.clocks.watermark, change)
        self.drops.append(drop)


def _order(place: Place) -> tuple[Window, tuple[object, ...]]:
    return place.window, sort_key(place.key)


def _checked_key(key: object, label: str) -> object:
    if has_float(key):
        raise ElementError(
            f"{label} was given the key {format_value(key)}; floats cannot be compared exactly"
        )
    try:
        hash(key)
    except TypeError as unhashable:
        raise ElementError(
            f"{label} was given the key {format_value(key)}, which is not hashable"
        ) from unhashable
    return key


__all__ = ["Grouping", "Place"]
