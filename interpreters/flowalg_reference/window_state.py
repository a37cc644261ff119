"""The state of one window of one key: its contents, the state of its trigger, and the panes that it has emitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from flowalg.combiners.core import AnyCombiner
from flowalg.data.kv import KV
from flowalg.data.metadata import Timing
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import MAX_TIME, EventTime
from flowalg.data.values import canonicalize, conform
from flowalg.runs.clocks import Clocks
from flowalg.runs.elements import Element
from flowalg.runs.panes import Change, PaneInfo
from flowalg.windows.strategy import Accumulation, OnTimeBehavior, TimestampCombiner, WindowingStrategy
from flowalg.windows.window import Window
from flowalg_reference.contents import Contents
from flowalg_reference.trigger_state import (
    Finished,
    TriggerState,
    TriggerSummary,
    fire,
    initial_state,
    is_ready,
    observe,
)


@frozen
class GroupingSpec:
    """What all windows of a grouping share.

    ``keeps_values`` says that contents keep values (see ``Contents``), and ``unmerges`` that merged windows come apart
    again, because elements may be retractions. ``output`` is the shape of the key and the result, where it is known.
    """

    combiner: AnyCombiner
    strategy: WindowingStrategy
    label: str
    keeps_values: bool
    unmerges: bool = False
    output: Shape | None = None

    def result_of(self, contents: Contents) -> object:
        """Returns the combiner's result in its normal form, checked to have its type."""
        result, where = contents.extract(), f"the result of {self.label}"
        if not isinstance(self.output, RecordOf):
            return canonicalize(result, where)
        return conform(result, self.output.fields[1].shape, where)

    def expired(self, window: Window, watermark: EventTime) -> bool:
        """Returns whether the end of a window plus the allowed lateness is at or before a watermark."""
        lateness = self.strategy.lateness_micros
        return lateness is not None and window.end + lateness <= watermark


@frozen
class CurrentPane:
    """A pane that has been emitted and not retracted."""

    element: object
    window: Window
    event_time: EventTime
    index: int


@define
class ProtoWindow:
    """What a merged window holds of the elements that were assigned one window.

    ``count`` is the number of these elements less the retracted ones. Since the last pane under ``DISCARDING``, and
    since the beginning otherwise: their contents, whether there were any, and the summary of those observed.
    """

    contents: Contents
    count: int = 0
    changed: bool = False
    observed: TriggerSummary = field(factory=TriggerSummary)

    @classmethod
    def new(cls, spec: GroupingSpec) -> ProtoWindow:
        """Returns a proto-window without elements."""
        return cls(Contents.empty(spec.combiner, keeps_values=spec.keeps_values))

    def absorb(self, value: object, time: EventTime, weight: int) -> None:
        """Absorb an element or a retraction."""
        self.contents.absorb(value, time, weight)
        self.count += weight
        self.changed = True

    def observe(self, summary: TriggerSummary) -> None:
        """Remember an observation, for the trigger of a window that holds this proto-window later."""
        self.observed = self.observed.merge(summary)

    @property
    def is_empty(self) -> bool:
        """Whether all its elements were retracted, and nothing of that is pending."""
        return self.count == 0 and self.contents.is_empty

    def after_discard(self) -> ProtoWindow:
        """Returns the proto-window after a discarding pane."""
        return ProtoWindow(self.contents.after_discard(), self.count)


@define
class WindowState:
    """The state of a window.

    ``pending`` summarizes the elements since the last pane, and ``changed`` says whether there were any. After a merge
    the trigger starts again: it observes what is ``unobserved`` together with the elements of the instant.
    ``next_index`` is the index of the next pane. ``current_panes`` are the panes to retract before the next one, under
    ``RETRACTING``. Where merged windows come apart, ``proto_windows`` has what the contents consist of, by assigned
    window; it is ``None`` elsewhere. ``ended_panes`` are then the panes of a window with these bounds that has come
    apart in this instant, which retracts them whatever the trigger.
    """

    window: Window
    contents: Contents
    trigger: TriggerState
    pending: TriggerSummary = field(factory=TriggerSummary)
    unobserved: TriggerSummary = field(factory=TriggerSummary)
    changed: bool = False
    next_index: int = 0
    current_panes: list[CurrentPane] = field(factory=list)
    proto_windows: dict[Window, ProtoWindow] | None = None
    ended_panes: list[CurrentPane] = field(factory=list)

    @classmethod
    def new(cls, window: Window, spec: GroupingSpec) -> WindowState:
        """Returns the state of a window without elements."""
        contents = Contents.empty(spec.combiner, keeps_values=spec.keeps_values)
        return cls(window, contents, initial_state(spec.strategy.trigger))

    @classmethod
    def vacant(cls, window: Window, next_index: int, spec: GroupingSpec) -> WindowState:
        """Returns a window that holds nothing any more: it has come apart, has merged into another, or has expired."""
        state = cls.new(window, spec)
        state.next_index, state.proto_windows = next_index, {}
        return state

    @property
    def is_vacant(self) -> bool:
        """Whether the window holds nothing any more, so that its trigger has no meaning."""
        return self.proto_windows is not None and not self.proto_windows

    @property
    def closed(self) -> bool:
        """Whether the trigger has finished."""
        return isinstance(self.trigger, Finished)

    def merge_proto_windows(self, spec: GroupingSpec) -> None:
        """Step 2: the contents are those of the proto-windows."""
        self.contents = Contents.empty(spec.combiner, keeps_values=spec.keeps_values)
        for proto in (self.proto_windows or {}).values():
            self.contents.merge(proto.contents)

    def restart_trigger(self, spec: GroupingSpec) -> None:
        """Step 2: the trigger starts again, and has yet to observe the unemitted elements."""
        self.trigger, self.unobserved = initial_state(spec.strategy.trigger), self.pending

    def absorb(self, value: object, time: EventTime, weight: int) -> None:
        """Step 3: the contents absorb an element."""
        self.contents.absorb(value, time, weight)
        self.changed = True

    def observe(self, spec: GroupingSpec, summary: TriggerSummary) -> None:
        """Step 3: the trigger observes all elements of an instant, as one bundle."""
        bundle = self.unobserved.merge(summary)
        self.trigger = observe(spec.strategy.trigger, self.trigger, bundle)
        self.pending = self.pending.merge(summary)
        self.unobserved = TriggerSummary()

    def observe_signals(self, spec: GroupingSpec, signals: frozenset[str]) -> None:
        """Step 3: the trigger observes the signals of an instant."""
        self.trigger = observe(spec.strategy.trigger, self.trigger, TriggerSummary(signals=signals))

    def evaluate(
        self, key: object, spec: GroupingSpec, before: EventTime, clocks: Clocks, *, returns: bool = False
    ) -> Iterator[Element]:
        """Steps 5 and 6: fire if the trigger is ready; flush pending changes if the window expires or the input ends.

        ``before`` is the watermark before the instant. ``returns`` says that the bounds may come again.
        """
        if self.is_vacant:
            return
        trigger = spec.strategy.trigger
        fires = is_ready(trigger, self.trigger, self.window, clocks)
        if fires:
            self.trigger = fire(trigger, self.trigger, self.window, clocks)
        expires = spec.expired(self.window, clocks.watermark)
        if not (fires or expires or clocks.watermark == MAX_TIME):
            return
        when = timing(self.window, before, clocks.watermark)
        forced = fires and when is Timing.ON_TIME and spec.strategy.on_time_behavior is OnTimeBehavior.ALWAYS
        if self.changed or forced:
            is_last = (expires and not returns) or self.closed
            yield from self._emit(key, spec, when, clocks, is_last=is_last, forced=forced)

    def _emit(
        self, key: object, spec: GroupingSpec, when: Timing, clocks: Clocks, *, is_last: bool, forced: bool
    ) -> Iterator[Element]:
        """The retractions of current panes, then the pane with the new value if there is one.

        ``forced`` asks for a pane although nothing has changed (``OnTimeBehavior.ALWAYS``).
        """
        mode = spec.strategy.mode
        empty = (
            forced and not self.changed and mode is Accumulation.DISCARDING and spec.combiner.has_empty_result
        )
        has_value = empty or self.contents.has_value(mode)
        yield from self._retract(self.current_panes, when, clocks, is_last=is_last and not has_value)
        self.current_panes = []
        if has_value:
            pair, time = KV(key, spec.result_of(self.contents)), self.pane_event_time(spec)
            info = self._info(Change.VALUE, when, self.next_index, clocks, is_last=is_last)
            yield Element(pair, time, self.window, 1, info)
            if mode is Accumulation.RETRACTING:
                self.current_panes = [CurrentPane(pair, self.window, time, self.next_index)]
            self.next_index += 1
        elif mode is Accumulation.DISCARDING:
            return
        if mode is Accumulation.DISCARDING:
            self._discard()
        self.changed = False
        self.pending = TriggerSummary()

    def retract_ended(self, before: EventTime, clocks: Clocks, *, is_last: bool) -> Iterator[Element]:
        """The retractions of a window with these bounds that has come apart in this instant."""
        when = timing(self.window, before, clocks.watermark)
        yield from self._retract(self.ended_panes, when, clocks, is_last=is_last)
        self.ended_panes = []

    def _retract(
        self, panes: Sequence[CurrentPane], when: Timing, clocks: Clocks, *, is_last: bool
    ) -> Iterator[Element]:
        """The retractions of panes, the last of which may be the last pane of the window."""
        for position, pane in enumerate(panes, start=1):
            last = is_last and position == len(panes)
            info = self._info(Change.RETRACTION, when, pane.index, clocks, is_last=last)
            yield Element(pane.element, pane.event_time, pane.window, -1, info)

    def _discard(self) -> None:
        """Empty the contents, after a discarding pane."""
        self.contents = self.contents.after_discard()
        if self.proto_windows is not None:
            discarded = {at: proto.after_discard() for at, proto in self.proto_windows.items()}
            self.proto_windows = {at: proto for at, proto in discarded.items() if not proto.is_empty}

    def _info(self, change: Change, when: Timing, index: int, clocks: Clocks, *, is_last: bool) -> PaneInfo:
        return PaneInfo(
            change,
            when,
            index,
            is_first=index == 0,
            is_last=is_last,
            processing_time=clocks.processing_time,
            watermark=clocks.watermark,
        )

    def pane_event_time(self, spec: GroupingSpec) -> EventTime:
        """Returns the event time of the next pane (section 7)."""
        match spec.strategy.timestamp_combiner:
            case TimestampCombiner.END_OF_WINDOW:
                event_time = None
            case TimestampCombiner.EARLIEST:
                event_time = self.contents.earliest
            case TimestampCombiner.LATEST:
                event_time = self.contents.latest
        return self.window.last_instant if event_time is None else event_time

    def hold(self, spec: GroupingSpec) -> EventTime:
        """Returns the earliest event time among the panes that pending changes will cause, retractions included
        (section 9).
        """
        return min([self.pane_event_time(spec), *(pane.event_time for pane in self.current_panes)])


def merge_windows(
    window: Window, members: Sequence[WindowState], spec: GroupingSpec, before: EventTime
) -> WindowState:
    """Step 2: merge live windows into one, with new bounds (section 6, "when windows merge").

    A window whose bounds stay the same stays as it is. So does a single window that new elements extend, except that a
    window that was complete and is now open again restarts its trigger. A merger of several windows restarts its
    trigger too. A restarted trigger observes the summary of pending elements.
    """
    if not members:
        return WindowState.new(window, spec)
    if len(members) == 1:
        (state,) = members
        if state.window == window:
            return state
        reopened = state.window.end <= before < window.end
        state.window = window
        state.next_index = 0
        if reopened:
            state.restart_trigger(spec)
        return state
    merged = WindowState.new(window, spec)
    for state in sorted(members, key=lambda one: one.window):
        if state.window == window:
            merged.next_index = state.next_index
        merged.contents.merge(state.contents)
        merged.pending = merged.pending.merge(state.pending)
        merged.current_panes.extend(state.current_panes)
        merged.changed = merged.changed or state.changed
    merged.changed = merged.changed or bool(merged.current_panes)
    merged.restart_trigger(spec)
    return merged


def timing(window: Window, before: EventTime, after: EventTime) -> Timing:
    """Early, on time or late, by the watermark before an instant and after it (section 7)."""
    if after < window.end:
        return Timing.EARLY
    return Timing.ON_TIME if before < window.end else Timing.LATE
