"""A plain loop over the instants of a timeline: what a once-trigger means, without any state but what has arrived.

It keeps lists of what has come and looks at every window at every instant: no summaries, no alarms, and nothing that
is left asleep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, assert_never

from attrs import define, evolve, field, frozen

from flowalg import (
    KV,
    MAX_TIME,
    MIN_TIME,
    AfterDelay,
    Always,
    And,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtSignal,
    AtWatermark,
    DropReason,
    EventTime,
    Instant,
    Never,
    OnceTrigger,
    Or,
    ProcessingTime,
    Timeline,
    Timing,
    Window,
    WindowingStrategy,
)
from flowalg.data.time import duration_of, event_time
from flowalg.windows.window import span
from flowalg.windows.window_functions import as_merging
from flowalg_laws.kit.readings import Reading

Place: TypeAlias = tuple[Window, str]
Bag: TypeAlias = tuple[int, ...]


@frozen
class Said:
    """A pane, as far as the loop goes."""

    place: Place
    values: Bag
    timing: Timing
    index: int
    is_last: bool
    processing_time: ProcessingTime
    watermark: EventTime


@frozen
class Refused:
    """A drop, as far as the loop goes."""

    element: KV[str, int]
    window: Window
    reason: DropReason
    processing_time: ProcessingTime


Story: TypeAlias = tuple[list[Said], list[Refused]]


@define
class Arrived:
    """What has come since some time: values, with their processing times, and signals."""

    seen: list[tuple[ProcessingTime, int]] = field(factory=list)
    signals: set[str] = field(factory=set)


@define
class Held:
    """What has come to a window: since its trigger was set, ever, and since its last pane."""

    lately: Arrived = field(factory=Arrived)
    ever: Arrived = field(factory=Arrived)
    pending: list[tuple[ProcessingTime, int]] = field(factory=list)
    panes: int = 0
    closed: bool = False

    @classmethod
    def afresh(cls, pending: list[tuple[ProcessingTime, int]]) -> Held:
        """A window whose trigger starts on what is pending (SEMANTICS 6, "when windows merge")."""
        return cls(Arrived(sorted(pending)), Arrived(sorted(pending)), pending)


def boundary(leaf: AtPeriod | AfterDelay, first: ProcessingTime) -> int:
    """The first multiple of a period, plus its offset, at or after a point; or the point plus a delay."""
    if isinstance(leaf, AfterDelay):
        return first + duration_of("delay", leaf.delay, allow_zero=True)
    period = duration_of("period", leaf.period, allow_zero=False)
    offset = duration_of("offset", leaf.offset, allow_zero=True)
    return offset - (offset - first) // period * period


def is_ready(trigger: OnceTrigger, window: Window, arrived: Arrived, instant: Instant[Reading]) -> bool:
    """The table of SEMANTICS 6."""
    values = [value for _, value in arrived.seen]
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
        case AtPeriod() | AfterDelay():
            return bool(values) and boundary(trigger, arrived.seen[0][0]) <= instant.processing_time
        case AtSignal(name=name):
            return name in arrived.signals
        case And(triggers=parts):
            return all(is_ready(part, window, arrived, instant) for part in parts)
        case Or(triggers=parts):
            return any(is_ready(part, window, arrived, instant) for part in parts)
        case Never() | Always() | AtWatermark():
            return isinstance(trigger, Always)
    assert_never(trigger)


def touching(windows: Iterable[Window]) -> list[set[Window]]:
    """Windows that overlap or touch, and those that these touch in turn, together."""
    groups: list[set[Window]] = []
    for window in windows:
        met = [
            group
            for group in groups
            if any(window.start <= one.end and one.start <= window.end for one in group)
        ]
        groups = [group for group in groups if group not in met]
        groups.append({window}.union(*met))
    return groups


def _clocks(trigger: OnceTrigger) -> Iterator[AtPeriod | AfterDelay]:
    match trigger:
        case And(triggers=parts) | Or(triggers=parts):
            for part in parts:
                yield from _clocks(part)
        case AtPeriod() | AfterDelay():
            yield trigger
        case _:
            return


@define
class Loop:
    """The plain loop: discarding, under a once-trigger that repeats until another."""

    once: OnceTrigger
    until: OnceTrigger
    strategy: WindowingStrategy
    windows: dict[Place, Held] = field(factory=dict)
    said: list[Said] = field(factory=list)
    refused: list[Refused] = field(factory=list)
    before: EventTime = MIN_TIME

    def over(self, timeline: Timeline[Reading], *, woken: bool) -> Story:
        """All that it says over a timeline; ``woken`` at each boundary that something waits for."""
        last: Instant[Reading] | None = None
        for instant in timeline:
            while woken and last is not None:
                waiting = [
                    one for one in self._boundaries() if last.processing_time < one < instant.processing_time
                ]
                if not waiting:
                    break
                last = evolve(
                    last, processing_time=ProcessingTime(min(waiting)), elements=(), signals=frozenset()
                )
                self._instant(last)
            self._instant(instant)
            last = instant
        return self.said, self.refused

    def _boundaries(self) -> Iterator[int]:
        for window in self.windows.values():
            for trigger, arrived in ((self.once, window.lately), (self.until, window.ever)):
                if arrived.seen and not window.closed:
                    yield from (boundary(leaf, arrived.seen[0][0]) for leaf in _clocks(trigger))

    def _expired(self, window: Window, watermark: EventTime) -> bool:
        lateness = self.strategy.lateness_micros
        return lateness is not None and watermark >= window.end + lateness

    def _arrive(self, key: str, elements: list[Reading], now: ProcessingTime) -> None:
        """Elements of one key, in the windows that theirs have become."""
        merges = as_merging(self.strategy.windows) is not None
        live = {window: held for (window, of), held in self.windows.items() if of == key}
        closed = [window for window, held in live.items() if held.closed]
        arriving: list[tuple[Reading, Window]] = []
        for element in elements:
            point = event_time(element.at)
            for window in self.strategy.windows.assign(point, key):
                if any(shut.start <= point < shut.end if merges else window == shut for shut in closed):
                    self.refused.append(Refused(KV(key, element.value), window, DropReason.CLOSED, now))
                else:
                    arriving.append((element, window))
        protos = {window for _, window in arriving}
        known = protos | (live.keys() - set(closed))
        for group in touching(known) if merges else [{window} for window in protos]:
            joining = [(one, window) for one, window in arriving if window in group]
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
        """Some live windows become one, in which elements arrive; or these are too late for one of their own."""
        if not members and self._expired(window, self.before):
            self.refused += [
                Refused(KV(key, one.value), proto, DropReason.EXPIRED, now) for one, proto in joining
            ]
            return
        old = [(member, self.windows.pop((member, key))) for member in sorted(members)]
        match old:
            case [(member, held)]:
                if member.end <= self.before < window.end:
                    held = Held.afresh(held.pending)
                held.panes = held.panes if member == window else 0
            case _:
                held = Held.afresh([one for _, each in old for one in each.pending])
        self.windows[window, key] = held
        for one, _ in joining:
            for came in (held.lately.seen, held.ever.seen, held.pending):
                came.append((now, one.value))

    def _instant(self, instant: Instant[Reading]) -> None:
        now, watermark = instant.processing_time, instant.watermark
        for key in sorted({element.key for element in instant.elements}):
            self._arrive(key, [element for element in instant.elements if element.key == key], now)
        for (window, key), held in sorted(self.windows.items(), key=lambda pair: pair[0]):
            held.lately.signals |= instant.signals
            held.ever.signals |= instant.signals
            finishes = not held.closed and is_ready(self.until, window, held.ever, instant)
            fires = finishes or (not held.closed and is_ready(self.once, window, held.lately, instant))
            held.closed |= finishes
            ends = self._expired(window, watermark)
            if fires:
                held.lately = Arrived()
            if held.pending and (fires or ends or watermark == MAX_TIME):
                timing = Timing.LATE if window.end <= self.before else Timing.ON_TIME
                timing = Timing.EARLY if watermark < window.end else timing
                last = ends or held.closed
                values = tuple(sorted(value for _, value in held.pending))
                self.said.append(Said((window, key), values, timing, held.panes, last, now, watermark))
                held.pending, held.panes = [], held.panes + 1
            if ends:
                del self.windows[window, key]
        self.before = watermark


__all__ = ["Loop", "Place", "Refused", "Said", "Story"]
