"""A plain loop over the instants of a timeline: the meaning of once-triggers, with the elements as its only state.

It keeps lists of elements and evaluates every window at every instant: without summaries, without timers, and without
dormant windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TypeAlias, assert_never

from attrs import define, evolve, field, frozen

from flowalg import KV, AtCount, AtPeriod, AtWatermark, EventTime, ProcessingTime, Timeline, Window, triggers
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.data.time import duration_of, event_time, processing_time
from flowalg.runs import DropReason, Instant, Timing
from flowalg.runs.signals import AnySignal
from flowalg.triggers import (
    AfterDelay,
    AfterInactivity,
    Always,
    And,
    AtElement,
    AtMeasure,
    AtSignal,
    AtValue,
    CustomTrigger,
    Never,
    OnceTrigger,
    Or,
    TriggerClocks,
)
from flowalg.triggers.syntax import leaves
from flowalg.triggers.views import EveryInstant
from flowalg.windows import WindowingStrategy
from flowalg.windows.window import span
from flowalg.windows.window_functions import as_merging, assign_windows
from flowalg_laws.kit.readings import Reading

Place: TypeAlias = tuple[Window, str]
Bag: TypeAlias = tuple[int, ...]


@frozen
class LoopPane:
    """A pane that the loop emits."""

    place: Place
    values: Bag
    timing: Timing
    index: int
    is_last: bool
    processing_time: ProcessingTime
    watermark: EventTime


@frozen
class LoopDrop:
    """A drop of the loop."""

    element: KV[str, int]
    window: Window
    reason: DropReason
    processing_time: ProcessingTime


LoopResult: TypeAlias = tuple[list[LoopPane], list[LoopDrop]]


@define
class Arrivals:
    """The arrivals since some time: values with their processing times, and signals."""

    timed_values: list[tuple[ProcessingTime, int]] = field(factory=list)
    signals: set[str] = field(factory=set)
    latched: set[AtValue] = field(factory=set)

    @property
    def values(self) -> list[int]:
        """The values."""
        return [value for _, value in self.timed_values]

    def latch(self, trigger: OnceTrigger) -> None:
        """Evaluates the predicates of combined values, after all elements of an instant."""
        for leaf in leaves(trigger):
            if isinstance(leaf, AtValue) and self.values:
                combined = reduce(leaf.combiner.add, self.values, leaf.combiner.zero())
                self.latched |= {leaf} if leaf.predicate(leaf.combiner.extract(combined)) else set()


@define
class LoopWindow:
    """The arrivals of a window: since its trigger was set, since its start, and since its last pane."""

    since_set: Arrivals = field(factory=Arrivals)
    all: Arrivals = field(factory=Arrivals)
    pending: list[tuple[ProcessingTime, int]] = field(factory=list)
    panes: int = 0
    closed: bool = False

    @classmethod
    def with_restarted_trigger(cls, pending: list[tuple[ProcessingTime, int]]) -> LoopWindow:
        """Returns a window whose trigger restarts on its unemitted elements (SEMANTICS 6, "when windows merge")."""
        return cls(Arrivals(sorted(pending)), Arrivals(sorted(pending)), pending)


def _names_for(signals: Iterable[AnySignal], key: str, window: Window) -> set[str]:
    """Returns the names of the signals to all windows, to all windows of a key, or to this window of it."""
    return {
        signal if isinstance(signal, str) else signal.name
        for signal in signals
        if isinstance(signal, str) or (signal.key == key and signal.window in (None, window))
    }


Timed: TypeAlias = AtPeriod | AfterDelay | AfterInactivity | CustomTrigger
"""Once-triggers that wait for a processing time."""


def deadline_of(leaf: Timed, arrived: Arrivals) -> int:
    """Returns the first multiple of a period at or after the first arrival; or the first arrival plus a delay, or the
    last one plus a gap; or when a user-defined trigger is due.
    """
    if isinstance(leaf, CustomTrigger):
        if leaf.due is None or isinstance(leaf.due, EveryInstant):
            return MIN_TIME
        due = leaf.due(_summary(leaf, arrived), _arrivals(arrived))
        return MAX_TIME if due is None else processing_time(due)
    if isinstance(leaf, AfterInactivity):
        return arrived.timed_values[-1][0] + duration_of("gap", leaf.gap, allow_zero=False)
    first = arrived.timed_values[0][0]
    if isinstance(leaf, AfterDelay):
        return first + duration_of("delay", leaf.delay, allow_zero=True)
    period = duration_of("period", leaf.period, allow_zero=False)
    offset = duration_of("offset", leaf.offset, allow_zero=True)
    return offset - (offset - first) // period * period


def _summary(leaf: CustomTrigger, arrived: Arrivals) -> object:
    return reduce(leaf.add, arrived.values, leaf.zero)


def _arrivals(arrived: Arrivals) -> triggers.Arrivals:
    times = [time.datetime for time, _ in arrived.timed_values]
    return triggers.Arrivals(min(times), max(times))


def is_ready(trigger: OnceTrigger, window: Window, arrived: Arrivals, instant: Instant[Reading]) -> bool:
    """Evaluates the table of SEMANTICS 6."""
    values = arrived.values
    match trigger:
        case AtWatermark(percentile=None):
            return instant.watermark >= window.end
        case AtWatermark(percentile=float() as q):
            quick = instant.percentile_watermarks.get(q, instant.watermark)
            return quick >= window.end or instant.watermark >= window.end
        case AtCount(count=count):
            return len(values) >= count
        case AtMeasure(measure=measure, amount=amount):
            return sum(map(measure, values)) >= amount
        case AtElement(predicate=predicate):
            return any(map(predicate, values))
        case AtPeriod() | AfterDelay() | AfterInactivity():
            return bool(values) and deadline_of(trigger, arrived) <= instant.processing_time
        case AtValue():
            return trigger in arrived.latched
        case CustomTrigger(ready=ready):
            if not values or instant.processing_time < deadline_of(trigger, arrived):
                return False
            if trigger.due is None:
                return ready(_summary(trigger, arrived))
            now, watermark = instant.processing_time.datetime, instant.watermark.datetime
            clocks = TriggerClocks(now, watermark, window.end.datetime, _arrivals(arrived))
            return ready(_summary(trigger, arrived), clocks)
        case AtSignal(name=name):
            return name in arrived.signals
        case And(triggers=parts):
            return all(is_ready(part, window, arrived, instant) for part in parts)
        case Or(triggers=parts):
            return any(is_ready(part, window, arrived, instant) for part in parts)
        case Never() | Always() | AtWatermark():
            return isinstance(trigger, Always)
    assert_never(trigger)


def merge_touching(windows: Iterable[Window]) -> list[set[Window]]:
    """Returns the groups of windows that overlap or touch, directly or through other windows."""
    groups: list[set[Window]] = []
    for window in windows:
        met = [
            group
            for group in groups
            if any(window.start <= other.end and other.start <= window.end for other in group)
        ]
        groups = [group for group in groups if group not in met]
        groups.append({window}.union(*met))
    return groups


def _timers(trigger: OnceTrigger) -> Iterator[Timed]:
    match trigger:
        case And(triggers=parts) | Or(triggers=parts):
            for part in parts:
                yield from _timers(part)
        case AtPeriod() | AfterDelay() | AfterInactivity() | CustomTrigger():
            yield trigger
        case _:
            return


@define
class Loop:
    """The plain loop: discarding, under a once-trigger that repeats until another is ready."""

    once: OnceTrigger
    until: OnceTrigger
    strategy: WindowingStrategy
    windows: dict[Place, LoopWindow] = field(factory=dict)
    panes: list[LoopPane] = field(factory=list)
    drops: list[LoopDrop] = field(factory=list)
    before: EventTime = MIN_TIME

    def run(self, timeline: Timeline[Reading], *, with_timers: bool) -> LoopResult:
        """Returns the panes and drops over a timeline; ``with_timers`` adds an instant at each deadline."""
        last: Instant[Reading] | None = None
        for instant in timeline:
            while with_timers and last is not None:
                deadlines = [
                    time
                    for time in self._deadlines()
                    if last.processing_time < time < instant.processing_time
                ]
                if not deadlines:
                    break
                last = evolve(
                    last, processing_time=ProcessingTime(min(deadlines)), elements=(), signals=frozenset()
                )
                self._instant(last)
            self._instant(instant)
            last = instant
        return self.panes, self.drops

    def _deadlines(self) -> Iterator[int]:
        for window in self.windows.values():
            for trigger, arrived in ((self.once, window.since_set), (self.until, window.all)):
                if arrived.timed_values and not window.closed:
                    yield from (deadline_of(leaf, arrived) for leaf in _timers(trigger))

    def _expired(self, window: Window, watermark: EventTime) -> bool:
        lateness = self.strategy.lateness_micros
        return lateness is not None and watermark >= window.end + lateness

    def _arrive(self, key: str, elements: list[Reading], now: ProcessingTime) -> None:
        """Adds elements of one key to their windows, after merging."""
        merges = as_merging(self.strategy.windows) is not None
        live = {window: state for (window, of), state in self.windows.items() if of == key}
        closed = [window for window, state in live.items() if state.closed]
        arriving: list[tuple[Reading, Window]] = []
        for element in elements:
            point = event_time(element.at)
            for window in assign_windows(self.strategy.windows, point, key, element.value):
                if any(shut.start <= point < shut.end if merges else window == shut for shut in closed):
                    self.drops.append(LoopDrop(KV(key, element.value), window, DropReason.CLOSED, now))
                else:
                    arriving.append((element, window))
        protos = {window for _, window in arriving}
        candidates = protos | (live.keys() - set(closed))
        for group in merge_touching(candidates) if merges else [{window} for window in protos]:
            joining = [(element, proto) for element, proto in arriving if proto in group]
            if joining:
                self._join(key, group & (live.keys() - set(closed)), span(group), joining, now)

    def _join(
        self,
        key: str,
        members: set[Window],
        window: Window,
        joining: list[tuple[Reading, Window]],
        now: ProcessingTime,
    ) -> None:
        """Merges live windows into one and adds elements; drops the elements if a new window would have expired."""
        if not members and self._expired(window, self.before):
            self.drops += [
                LoopDrop(KV(key, element.value), proto, DropReason.EXPIRED, now) for element, proto in joining
            ]
            return
        old = [(member, self.windows.pop((member, key))) for member in sorted(members)]
        match old:
            case [(member, state)]:
                if member.end <= self.before < window.end:
                    state = LoopWindow.with_restarted_trigger(state.pending)
                state.panes = state.panes if member == window else 0
            case _:
                state = LoopWindow.with_restarted_trigger(
                    [arrival for _, member_state in old for arrival in member_state.pending]
                )
        self.windows[window, key] = state
        for element, _ in joining:
            for arrivals in (state.since_set.timed_values, state.all.timed_values, state.pending):
                arrivals.append((now, element.value))

    def _instant(self, instant: Instant[Reading]) -> None:
        now, watermark = instant.processing_time, instant.watermark
        for key in sorted({element.key for element in instant.elements}):
            self._arrive(key, [element for element in instant.elements if element.key == key], now)
        for (window, key), state in sorted(self.windows.items(), key=lambda pair: pair[0]):
            signals = _names_for(instant.signals, key, window)
            state.since_set.signals |= signals
            state.all.signals |= signals
            state.since_set.latch(self.once)
            state.all.latch(self.until)
            finishes = not state.closed and is_ready(self.until, window, state.all, instant)
            fires = finishes or (not state.closed and is_ready(self.once, window, state.since_set, instant))
            state.closed |= finishes
            ends = self._expired(window, watermark)
            if fires:
                state.since_set = Arrivals()
            if state.pending and (fires or ends or watermark == MAX_TIME):
                timing = Timing.LATE if window.end <= self.before else Timing.ON_TIME
                timing = Timing.EARLY if watermark < window.end else timing
                last = ends or state.closed
                values = tuple(sorted(value for _, value in state.pending))
                self.panes.append(LoopPane((window, key), values, timing, state.panes, last, now, watermark))
                state.pending, state.panes = [], state.panes + 1
            if ends:
                del self.windows[window, key]
        self.before = watermark
