"""One window of one key: what it holds, what its trigger has seen, and what its panes have said so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from flowalg.data.kv import KV
from flowalg.data.time import MAX_TIME, EventTime
from flowalg.data.values import canonicalize
from flowalg.runs.panes import Change, PaneInfo, Timing
from flowalg.windows.strategy import Accumulation, OnTimeBehavior, TimestampCombiner, WindowingStrategy
from flowalg.windows.window import Window
from flowalg_reference.contents import AnyCombiner, Contents
from flowalg_reference.elements import Clocks, Element
from flowalg_reference.trigger_state import Finished, Seen, TriggerState, fire, observe, ready, start


@frozen
class Rules:
    """What is the same for all windows of a grouping."""

    combiner: AnyCombiner
    strategy: WindowingStrategy
    label: str
    holds: bool

    def expired(self, window: Window, watermark: EventTime) -> bool:
        """Whether a window's end plus the allowed lateness is behind a watermark."""
        lateness = self.strategy.lateness_micros
        return lateness is not None and window.end + lateness <= watermark


@frozen
class Standing:
    """A pane that has been emitted and not taken back."""

    element: object
    window: Window
    event_time: EventTime
    index: int


@define
class Cell:
    """The state of a window. ``pending`` sums up what no pane has shown yet."""

    window: Window
    contents: Contents
    trigger: TriggerState
    pending: Seen = field(factory=Seen)
    changed: bool = False
    panes: int = 0
    standing: list[Standing] = field(factory=list)

    @classmethod
    def open(cls, window: Window, rules: Rules) -> Cell:
        """A window that has seen nothing yet."""
        contents = Contents.empty(rules.combiner, holds=rules.holds)
        return cls(window, contents, start(rules.strategy.trigger))

    @property
    def closed(self) -> bool:
        """Whether the trigger has finished."""
        return isinstance(self.trigger, Finished)

    def take(self, value: object, time: EventTime, weight: int, seen: Seen) -> None:
        """Step 3: contents absorb an element, and the trigger observes it."""
        self.contents.absorb(value, time, weight)
        self.trigger = observe(self.trigger, seen)
        self.pending = self.pending.merge(seen)
        self.changed = True

    def signalled(self, signals: frozenset[str]) -> None:
        """Let the trigger observe the signals of an instant."""
        self.trigger = observe(self.trigger, Seen(signals=signals))

    def evaluate(self, key: object, rules: Rules, before: EventTime, clocks: Clocks) -> Iterator[Element]:
        """Steps 5 and 6: fire if the trigger is ready; emit what is left if the window ends."""
        trigger = rules.strategy.trigger
        fires = ready(trigger, self.trigger, self.window, clocks)
        if fires:
            self.trigger = fire(trigger, self.trigger, self.window, clocks)
        expires = rules.expired(self.window, clocks.watermark)
        if not (fires or expires or clocks.watermark == MAX_TIME):
            return
        when = timing(self.window, before, clocks.watermark)
        insists = (
            fires and when is Timing.ON_TIME and rules.strategy.on_time_behavior is OnTimeBehavior.ALWAYS
        )
        if self.changed or insists:
            yield from self._panes(key, rules, when, clocks, is_last=expires or self.closed, insists=insists)

    def _panes(
        self, key: object, rules: Rules, when: Timing, clocks: Clocks, *, is_last: bool, insists: bool
    ) -> Iterator[Element]:
        """Retractions of what stands, and then the new value, if there is one."""
        mode = rules.strategy.accumulation
        empty = insists and not self.changed and mode is Accumulation.DISCARDING and rules.combiner.total
        gives = empty or self.contents.has_value(mode)
        for position, pane in enumerate(self.standing):
            last = is_last and not gives and position + 1 == len(self.standing)
            info = self._info(Change.RETRACTION, when, pane.index, clocks, is_last=last)
            yield Element(pane.element, pane.event_time, pane.window, -1, info)
        self.standing = []
        if gives:
            value = canonicalize(self.contents.extract(), f"the result of {rules.label}")
            pair, time = KV(key, value), self.pane_time(rules)
            info = self._info(Change.VALUE, when, self.panes, clocks, is_last=is_last)
            yield Element(pair, time, self.window, 1, info)
            if mode is Accumulation.RETRACTING:
                self.standing = [Standing(pair, self.window, time, self.panes)]
            self.panes += 1
        elif mode is Accumulation.DISCARDING:
            return
        if mode is Accumulation.DISCARDING:
            self.contents = self.contents.after_discarding()
        self.changed = False
        self.pending = Seen()

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

    def pane_time(self, rules: Rules) -> EventTime:
        """The event time that the next pane carries (section 7)."""
        match rules.strategy.timestamp_combiner:
            case TimestampCombiner.END_OF_WINDOW:
                found = None
            case TimestampCombiner.EARLIEST:
                found = self.contents.earliest
            case TimestampCombiner.LATEST:
                found = self.contents.latest
        return self.window.last_instant if found is None else found

    def hold(self, rules: Rules) -> EventTime:
        """The least event time that panes still to come for what is pending would carry (section 9)."""
        return min([self.pane_time(rules), *(pane.event_time for pane in self.standing)])


def merged(window: Window, members: Sequence[Cell], rules: Rules, before: EventTime) -> Cell:
    """Step 2: the window that some live windows have become (section 6, "when windows merge").

    One whose bounds stay goes on as it is. One that new elements extend goes on too, unless it was complete and is
    now open again; that, and every merger of several, starts its trigger afresh, on what no pane has shown.
    """
    if not members:
        return Cell.open(window, rules)
    if len(members) == 1:
        (cell,) = members
        if cell.window == window:
            return cell
        reopened = cell.window.end <= before < window.end
        cell.window = window
        cell.panes = 0
        if reopened:
            cell.trigger = _afresh(rules, cell.pending)
        return cell
    whole = Cell.open(window, rules)
    for cell in sorted(members, key=lambda one: one.window):
        whole.contents.take(cell.contents)
        whole.pending = whole.pending.merge(cell.pending)
        whole.standing.extend(cell.standing)
        whole.changed = whole.changed or cell.changed
    whole.changed = whole.changed or bool(whole.standing)
    whole.trigger = _afresh(rules, whole.pending)
    return whole


def _afresh(rules: Rules, pending: Seen) -> TriggerState:
    return observe(start(rules.strategy.trigger), pending)


def timing(window: Window, before: EventTime, after: EventTime) -> Timing:
    """Early, on time or late, by the watermark before an instant and after it (section 7)."""
    if after < window.end:
        return Timing.EARLY
    return Timing.ON_TIME if before < window.end else Timing.LATE


__all__ = ["Cell", "Rules", "Standing", "merged", "timing"]
