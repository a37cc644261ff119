"""One instant at a grouping, in the six steps of SEMANTICS section 5."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import define, evolve, field, frozen

from flowalg.combiners.named_errors import with_named_errors
from flowalg.combiners.subtraction import keeps_values
from flowalg.data.errors import ElementError, errors_of, format_value
from flowalg.data.kv import KV
from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime
from flowalg.data.values import has_float, sort_key
from flowalg.elementwise.functions import require_keyed
from flowalg.pipeline.co_group import Tagged, untagged
from flowalg.pipeline.nodes import GroupingNode
from flowalg.runs.clocks import BEGINNING, Clocks, minimum
from flowalg.runs.elements import Element
from flowalg.runs.panes import DroppedElement, DropReason
from flowalg.runs.signals import AnySignal, name_of, signals_reaching
from flowalg.triggers.syntax import AtSignal, Trigger, leaves
from flowalg.windows.group_errors import errors_in_group
from flowalg.windows.window import Window, overlap
from flowalg.windows.window_functions import MergingWindowFn, as_merging, assign_windows, merged_windows
from flowalg_reference.drops import drop
from flowalg_reference.outputs import NodeOutput
from flowalg_reference.proto_windows import Arrival, regroup
from flowalg_reference.trace import Evaluation
from flowalg_reference.trigger_state import (
    AnyLeaf,
    TriggerSummary,
    fire,
    is_ready,
    next_deadline,
    summarize,
)
from flowalg_reference.window_state import GroupingSpec, WindowState, merge_windows


@frozen
class KeyedWindow:
    """A window of a key."""

    window: Window
    key: object


@define
class Grouping:
    """The state of one grouping: its windows, its clocks, its timers.

    ``fresh`` says that the grouping assigns windows; without it elements keep the windows of the grouping before.
    ``trace``, if given, receives each evaluation of a window. Debugging uses it.

    ``holds`` has the event times that pending windows hold back, and ``deadlines`` the processing time at which each
    trigger becomes ready without new elements. Timers are heaps of (time, serial number, window).
    """

    spec: GroupingSpec
    fresh: bool
    trace: Callable[[Evaluation], None] | None = None
    clocks: Clocks = BEGINNING
    output: Clocks = BEGINNING
    windows: dict[object, dict[Window, WindowState]] = field(factory=lambda: defaultdict(dict))
    drops: list[DroppedElement] = field(factory=list)
    event_timers: list[tuple[int, int, KeyedWindow]] = field(factory=list)
    processing_timers: list[tuple[ProcessingTime, int, KeyedWindow]] = field(factory=list)
    deadlines: dict[KeyedWindow, ProcessingTime] = field(factory=dict)
    ready_again: set[KeyedWindow] = field(factory=set)
    holds: dict[KeyedWindow, EventTime] = field(factory=dict)
    timers_set: int = 0

    @classmethod
    def of(cls, node: GroupingNode, trace: Callable[[Evaluation], None] | None = None) -> Grouping:
        """Returns the grouping of a node, before the first instant."""
        effective = node.windowed_by
        kept = keeps_values(node.combiner, retractions=node.receives_retractions)
        unmerges = effective.merges and node.receives_retractions
        combiner = with_named_errors(node.combiner)
        spec = GroupingSpec(combiner, effective.strategy, node.label, kept, unmerges, node.shape)
        return cls(spec, effective.fresh, trace)

    def advance(self, received: NodeOutput) -> NodeOutput:
        """Advance by one instant: from its elements and input clocks to its panes and output clocks."""
        with errors_of(self.spec.label):
            return self._advance(received)

    def _advance(self, received: NodeOutput) -> NodeOutput:
        before, clocks = self.clocks.watermark, minimum([*received.upstreams.values()], self.clocks)
        # Steps 1 to 3: assign, merge, observe.
        touched = set(self._receive(received.elements, before, clocks.processing_time))
        touched |= set(self._signal(clocks.signals))
        # Step 4: both clocks are read.
        self.clocks = clocks
        affected = touched | set(self._due(clocks))
        # Steps 5 and 6: evaluate, then flush and expire.
        self.ready_again = set()
        keys = {keyed_window.key for keyed_window in affected} if self.spec.unmerges else ()
        open_windows = {key: self._open_windows(key, clocks) for key in keys}
        panes = [
            ordered
            for keyed_window in sorted(affected, key=_order)
            for ordered in self._evaluate(
                keyed_window, before, clocks, open_windows.get(keyed_window.key, ())
            )
        ]
        for key in keys:
            self._free_vacant(key, clocks)
        if self.spec.unmerges:
            panes.sort(key=lambda pane: pane[0])
        self.output = clocks.with_hold(min(self.holds.values(), default=MAX_TIME), self.output)
        return NodeOutput(tuple(element for _, element in panes), {id(self): self.output})

    def _receive(
        self, elements: Iterable[Element], before: EventTime, time: ProcessingTime
    ) -> Iterator[KeyedWindow]:
        """Steps 1 to 3, key by key: assign windows, drop, merge, observe. Yields the windows that have changed."""
        observing = tuple(leaves(self.spec.strategy.trigger))
        by_key: dict[object, list[tuple[Element, Window]]] = defaultdict(list)
        for element in elements:
            key = check_key(require_keyed(element.value, self.spec.label).key, self.spec.label)
            if key not in self.windows:
                sort_key(key)  # raises for a key without an order, in which panes are emitted
            for window in self._assign(element, key):
                if self._is_closed(key, window, element.event_time):
                    self._drop(element, window, DropReason.CLOSED, time)
                else:
                    by_key[key].append((element, window))
        merging = as_merging(self.spec.strategy.windows)
        for key, arriving in by_key.items():
            if merging is not None and self.spec.unmerges:
                arrivals = [self._arrival(observing, element, window, time) for element, window in arriving]
                yield from self._regroup(key, arrivals, merging, before, time)
                continue
            with errors_in_group(key):
                merged = list(self._merge(key, arriving))
            for window, members, joining in merged:
                if not members and self.spec.expired(window, before):
                    for element, assigned in joining:
                        self._drop(element, assigned, DropReason.EXPIRED, time)
                    continue
                with errors_in_group(key, window):
                    state = self._replace_members(key, window, members, before)
                    bundle = TriggerSummary()
                    for element, assigned in joining:
                        arrival = self._arrival(observing, element, assigned, time)
                        state.absorb(arrival.value, element.event_time, element.weight)
                        bundle = bundle.merge(arrival.summary)
                    state.observe(self.spec, bundle)
                yield KeyedWindow(window, key)

    def _arrival(
        self, observing: Sequence[AnyLeaf], element: Element, assigned: Window, time: ProcessingTime
    ) -> Arrival:
        value = require_keyed(element.value, self.spec.label).value
        return Arrival(element, value, assigned, summarize(observing, untagged(value), element.weight, time))

    def _regroup(
        self,
        key: object,
        arrivals: list[Arrival],
        merging: MergingWindowFn,
        before: EventTime,
        time: ProcessingTime,
    ) -> Iterator[KeyedWindow]:
        """Steps 1 to 3 for a key whose merged windows may come apart."""
        windows = self.windows.pop(key, {})
        with errors_in_group(key):
            regrouped = regroup(windows, arrivals, self.spec, merging, before)
        for arrival in regrouped.dropped:
            self._drop(arrival.element, arrival.assigned, DropReason.EXPIRED, time)
        if regrouped.windows:
            self.windows[key] = regrouped.windows
        for window in windows.keys() - regrouped.windows.keys():
            self._forget(KeyedWindow(window, key))
        for window in regrouped.changed:
            self._forget(KeyedWindow(window, key))
            if window not in windows:
                self._set_timers(KeyedWindow(window, key))
            yield KeyedWindow(window, key)

    def _forget(self, keyed_window: KeyedWindow) -> None:
        """Forget the hold and the deadline of a window that is replaced or evaluated again."""
        self.holds.pop(keyed_window, None)
        self.deadlines.pop(keyed_window, None)

    def _assign(self, element: Element, key: object) -> tuple[Window, ...]:
        if not self.fresh:
            return (element.window,)
        value = untagged(require_keyed(element.value, self.spec.label).value)
        return assign_windows(self.spec.strategy.windows, element.event_time, key, value)

    def _is_closed(self, key: object, window: Window, point: EventTime) -> bool:
        """Returns whether an element falls into a window whose trigger has finished."""
        windows = self.windows.get(key, {})
        if as_merging(self.spec.strategy.windows) is None or not self.fresh:
            state = windows.get(window)
            return state is not None and state.closed
        return any(state.closed and point in state.window for state in windows.values())

    def _merge(
        self, key: object, arriving: list[tuple[Element, Window]]
    ) -> Iterator[tuple[Window, list[WindowState], list[tuple[Element, Window]]]]:
        """Step 2: the windows after merging, each with the live windows that it replaces and the elements that join."""
        joining: dict[Window, list[tuple[Element, Window]]] = defaultdict(list)
        for element, window in arriving:
            joining[window].append((element, window))
        windows = self.windows[key]
        merge = as_merging(self.spec.strategy.windows) if self.fresh else None
        if merge is None:
            for window, elements in joining.items():
                yield window, [windows[window]] if window in windows else [], elements
            return
        live = {window: state for window, state in windows.items() if not state.closed}
        for merged in merged_windows(merge, dict.fromkeys((*live, *joining))):
            members = [live[window] for window in merged.parts if window in live]
            elements = [pair for window in merged.parts for pair in joining.get(window, ())]
            if elements or len(members) > 1:
                yield merged.window, members, elements

    def _replace_members(
        self, key: object, window: Window, members: list[WindowState], before: EventTime
    ) -> WindowState:
        """Replace live windows with the window that they have merged into."""
        windows = self.windows[key]
        grown = [member.window for member in members] != [window]
        for member in members:
            del windows[member.window]
            self._forget(KeyedWindow(member.window, key))
        state = merge_windows(window, members, self.spec, before)
        windows[window] = state
        if grown:
            self._set_timers(KeyedWindow(window, key))
        return state

    def _signal(self, signals: frozenset[AnySignal]) -> Iterator[KeyedWindow]:
        """Step 3 for signals: every live window that one of them reaches observes it, if its trigger waits for it."""
        names = {leaf.name for leaf in leaves(self.spec.strategy.trigger) if isinstance(leaf, AtSignal)}
        if not names & set(map(name_of, signals)):
            return
        for key, windows in self.windows.items():
            for state in windows.values():
                reaching = signals_reaching(signals, key, state.window) & names
                if reaching and not state.is_vacant:
                    state.observe_signals(self.spec, reaching)
                    yield KeyedWindow(state.window, key)

    def _evaluate(
        self, keyed_window: KeyedWindow, before: EventTime, clocks: Clocks, open_windows: Sequence[Window]
    ) -> Iterator[tuple[tuple[object, ...], Element]]:
        """Steps 5 and 6 for one window. Then its hold and its timers are set again, unless it has expired.

        Yields panes with their order: the retractions of a window that has come apart by their own window, and before
        its value; all others by the window that emits them. The bounds of an expired window may come again while an
        open window overlaps them.
        """
        key, window = keyed_window.key, keyed_window.window
        state = self.windows[key][window]
        trigger_state, expires = state.trigger, self.spec.expired(window, clocks.watermark)
        returns = any(overlap(window, other) for other in open_windows)
        with errors_in_group(key, window):
            panes = tuple(state.evaluate(key, self.spec, before, clocks, returns=returns))
        is_last = expires and not returns and not panes
        ended = tuple(state.retract_ended(before, clocks, is_last=is_last))
        if self.trace is not None:
            shown = (*ended, *panes)
            self.trace(Evaluation(self.spec, key, window, trigger_state, clocks, shown, state.is_vacant))
        yield from (((*_order(KeyedWindow(pane.window, key)), False), pane) for pane in ended)
        yield from (((*_order(keyed_window), True), pane) for pane in panes)
        self._forget(keyed_window)
        if expires and returns and state.next_index:
            self.windows[key][window] = WindowState.vacant(window, state.next_index, self.spec)
            return
        if expires:
            del self.windows[key][window]
            if not self.windows[key]:
                del self.windows[key]
            return
        if state.changed:
            self.holds[keyed_window] = state.hold(self.spec)
        if not state.closed and not state.is_vacant:
            self._schedule(keyed_window, state, clocks)

    def _open_windows(self, key: object, clocks: Clocks) -> list[Window]:
        """Returns the windows of a key that hold something and do not expire in this instant."""
        states = self.windows.get(key, {}).values()
        return [
            state.window
            for state in states
            if not state.is_vacant and not self.spec.expired(state.window, clocks.watermark)
        ]

    def _free_vacant(self, key: object, clocks: Clocks) -> None:
        """Forget the number of panes of expired bounds that no open window of the key overlaps any more."""
        open_windows = self._open_windows(key, clocks)
        for window in list(self.windows.get(key, {})):
            expired = self.spec.expired(window, clocks.watermark)
            if expired and not any(overlap(window, other) for other in open_windows):
                del self.windows[key][window]
        if not self.windows.get(key, {}):
            self.windows.pop(key, None)

    def _schedule(self, keyed_window: KeyedWindow, state: WindowState, clocks: Clocks) -> None:
        """Record when the trigger is ready next without new elements: in the next instant, or at a deadline."""
        trigger = self.spec.strategy.trigger
        with errors_in_group(keyed_window.key, state.window):
            again = is_ready(trigger, state.trigger, state.window, clocks)
            if again and fire(trigger, state.trigger, state.window, clocks) != state.trigger:
                self.ready_again.add(keyed_window)
            deadline = next_deadline(trigger, state.trigger, state.window, clocks)
        if deadline is not None:
            self.timers_set += 1
            self.deadlines[keyed_window] = deadline
            heapq.heappush(self.processing_timers, (deadline, self.timers_set, keyed_window))

    def next_deadline(self) -> ProcessingTime | None:
        """Returns the next processing time at which the trigger of a window becomes ready without new elements."""
        while self.processing_timers:
            deadline, _, keyed_window = self.processing_timers[0]
            if self.deadlines.get(keyed_window) == deadline:
                return deadline
            heapq.heappop(self.processing_timers)
        return None

    def _set_timers(self, keyed_window: KeyedWindow) -> None:
        """Set timers for the watermark to pass the end of a window, for its expiry, and for the end of the input."""
        end = keyed_window.window.end
        for point in {end, end + (self.spec.strategy.lateness_micros or 0), MAX_TIME}:
            self.timers_set += 1
            heapq.heappush(self.event_timers, (min(point, MAX_TIME), self.timers_set, keyed_window))

    def _due(self, clocks: Clocks) -> Iterator[KeyedWindow]:
        """The windows that the clocks affect: those with a due timer, and those that are ready again at once.

        A timer of a deadline that its window no longer has is ignored, so the evaluations of a window do not depend
        on the timers of other windows.
        """
        due = list(self.ready_again)
        while self.processing_timers and self.processing_timers[0][0] <= clocks.processing_time:
            deadline, _, keyed_window = heapq.heappop(self.processing_timers)
            if self.deadlines.get(keyed_window) == deadline:
                due.append(keyed_window)
        while self.event_timers and self.event_timers[0][0] <= clocks.watermark:
            due.append(heapq.heappop(self.event_timers)[2])
        if depends_on_every_instant(self.spec.strategy.trigger):
            due += [KeyedWindow(window, key) for key, windows in self.windows.items() for window in windows]
        return (one for one in due if one.window in self.windows.get(one.key, {}))

    def _drop(self, element: Element, window: Window, reason: DropReason, time: ProcessingTime) -> None:
        label, before = self.spec.label, self.clocks.watermark
        pair = require_keyed(element.value, label)
        source = pair.value.source if isinstance(pair.value, Tagged) else 0
        shown = evolve(element, value=KV(pair.key, untagged(pair.value)))
        self.drops.append(drop(shown, window, reason, time, before, label, source))


def depends_on_every_instant(trigger: Trigger) -> bool:
    """Returns whether a trigger may become ready in any instant: at a percentile watermark, or by a user-defined
    predicate.
    """
    return any(leaf.is_restless for leaf in leaves(trigger))


def _order(keyed_window: KeyedWindow) -> tuple[Window, tuple[object, ...]]:
    return keyed_window.window, sort_key(keyed_window.key)


def check_key(key: object, label: str) -> object:
    """Returns the key; raises ``ElementError`` if it cannot be one."""
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
