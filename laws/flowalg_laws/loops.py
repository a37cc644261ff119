"""The laws of instants: what a grouping says is what a plain loop over the timeline says.

Equations between triggers hold for many wrong readings of them too, if these are wrong in the same way on both sides.
Here the right side is the table of SEMANTICS 6 itself, over plain lists of what has arrived, for every window at every
instant: no summaries, no alarms, and nothing that is left asleep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, assert_never

from attrs import define, evolve, field, frozen

from flowalg import (
    FOREVER,
    KV,
    MAX_TIME,
    MIN_TIME,
    Accumulation,
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
    OnTime,
    Or,
    PaneTime,
    PCollection,
    ProcessingTime,
    Repeat,
    RepeatUntil,
    Sum,
    Timeline,
    Timing,
    ToList,
    Trigger,
    Window,
    WindowingStrategy,
)
from flowalg.assignment import merging
from flowalg.time import duration_of, event_time
from flowalg_laws.equation import Equation
from flowalg_laws.interpreters import Interpreter, continuous, micro_batch, put_into
from flowalg_laws.law import Law, law
from flowalg_laws.readings import READINGS, VALUES, Reading

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
    pending: list[int] = field(factory=list)
    panes: int = 0
    closed: bool = False


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
    """The plain loop: for windows that do not merge, discarding, under a once-trigger that repeats until another."""

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
        for one in self.windows.values():
            for trigger, arrived in ((self.once, one.lately), (self.until, one.ever)):
                if arrived.seen and not one.closed:
                    yield from (boundary(leaf, arrived.seen[0][0]) for leaf in _clocks(trigger))

    def _expired(self, window: Window, watermark: EventTime) -> bool:
        lateness = self.strategy.lateness_micros
        return lateness is not None and watermark >= window.end + lateness

    def _instant(self, instant: Instant[Reading]) -> None:
        now, watermark = instant.processing_time, instant.watermark
        for one in instant.elements:
            for window in self.strategy.windows.assign(event_time(one.at), one.key):
                held = self.windows.get((window, one.key))
                if held is not None and held.closed:
                    self.refused.append(Refused(KV(one.key, one.value), window, DropReason.CLOSED, now))
                elif self._expired(window, self.before):
                    self.refused.append(Refused(KV(one.key, one.value), window, DropReason.EXPIRED, now))
                else:
                    held = self.windows.setdefault((window, one.key), Held())
                    held.lately.seen.append((now, one.value))
                    held.ever.seen.append((now, one.value))
                    held.pending.append(one.value)
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
                values = tuple(sorted(held.pending))
                self.said.append(Said((window, key), values, timing, held.panes, last, now, watermark))
                held.pending, held.panes = [], held.panes + 1
            if ends:
                del self.windows[window, key]
        self.before = watermark


def _told(
    run: Interpreter,
    trigger: Trigger,
    strategy: WindowingStrategy,
    timeline: Timeline[Reading],
    *,
    once: OnceTrigger,
    until: OnceTrigger,
) -> Equation[Story] | None:
    """What a run says under a trigger, and the loop of what it should mean: ``once`` again and again ``until``."""
    if merging(strategy.windows):
        return None
    plain = evolve(strategy, trigger=trigger, accumulation=Accumulation.DISCARDING, on_time=OnTime.IF_CHANGED)
    done = run(put_into(VALUES, plain).combine_per_key(ToList()), {READINGS: timeline})
    said = [
        Said(
            (one.window, one.key),
            tuple(sorted(one.value)),
            one.timing,
            one.index,
            one.is_last,
            one.processing_time,
            one.watermark,
        )
        for one in done.panes
    ]
    refused = [
        Refused(drop.element, drop.window, drop.reason, drop.processing_time)
        for drop in done.dropped
        if isinstance(drop.element, KV)
    ]
    said_plainly, refused_plainly = Loop(once, until, plain).over(timeline, woken=run is continuous)
    return Equation((said, sorted(refused, key=repr)), (said_plainly, sorted(refused_plainly, key=repr)))


@law
def a_once_trigger_is_its_table(
    once: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story] | None:
    """The panes and drops under a once-trigger are those of a plain loop over the instants, which ends at its firing.

    Where: windows do not merge, and the mode is discarding.

    Source: the table of SEMANTICS 6; the steps of SEMANTICS 5.

    Relied on by: every law that compares two triggers, which says nothing of what both get wrong.
    """
    return _told(micro_batch, once, strategy, timeline, once=once, until=once)


@law
def a_repeated_trigger_is_its_table_again_and_again(
    once: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story] | None:
    """The panes and drops under ``Repeat(a)`` are those of a plain loop, which forgets what has come when it fires.

    Where: windows do not merge, and the mode is discarding.

    Source: the table of SEMANTICS 6; the steps of SEMANTICS 5.

    Relied on by: every law that compares two triggers, which says nothing of what both get wrong.
    """
    return _told(micro_batch, Repeat(once), strategy, timeline, once=once, until=Never())


@law
def a_limit_remembers_from_the_start(
    once: OnceTrigger, until: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story] | None:
    """The panes and drops under ``RepeatUntil(a, b)`` are those of a loop that forgets nothing for ``b``.

    Where: windows do not merge, and the mode is discarding.

    Source: SEMANTICS 6, `OrFinally`.

    Relied on by: every law that compares two triggers, which says nothing of what both get wrong.
    """
    return _told(micro_batch, RepeatUntil(once, until), strategy, timeline, once=once, until=until)


@law
def a_continuous_engine_is_a_loop_that_is_woken(
    once: OnceTrigger, until: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story] | None:
    """In a continuous engine the loop runs at each boundary too that a window waits for, before the next instant.

    Where: windows do not merge, and the mode is discarding.

    Source: SEMANTICS 4.

    Relied on by: early panes that come when nothing else does.
    """
    return _told(continuous, RepeatUntil(once, until), strategy, timeline, once=once, until=until)


@law
def a_window_is_complete_when_the_watermark_reaches_its_end(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story] | None:
    """The panes and drops under ``Repeat(AtWatermark())`` are those of a plain loop that asks whether ``W >= end``.

    Where: windows do not merge, and the mode is discarding.

    Source: Dataflow Model, section 2.3; SEMANTICS 4 and 6.

    Relied on by: everything that waits for the watermark.
    """
    return _told(micro_batch, Repeat(AtWatermark()), strategy, timeline, once=AtWatermark(), until=Never())


@law
def some_may_be_behind_a_percentile_watermark(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story] | None:
    """So are those under ``Repeat(AtWatermark(percentile=q))``, with the q-percentile watermark.

    Where: windows do not merge, and the mode is discarding.

    Source: MillWheel, section 7.2; SEMANTICS 6.
    """
    return _told(
        micro_batch, Repeat(AtWatermark(0.5)), strategy, timeline, once=AtWatermark(0.5), until=Never()
    )


@law
def a_signal_is_heard_by_every_window(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story] | None:
    """So are those under ``Repeat(AtSignal(name))``, whether anything else comes to a window or not.

    Where: windows do not merge, and the mode is discarding.

    Source: SEMANTICS 6.
    """
    return _told(micro_batch, Repeat(AtSignal("x")), strategy, timeline, once=AtSignal("x"), until=Never())


@law
def every_window_has_its_on_time_pane(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Place]] | None:
    """With `OnTime.ALWAYS` each window that the watermark finds there says something when it passes, and once.

    Where: windows do not merge, the trigger fires then and at each element, and the mode is accumulating.

    Source: SEMANTICS 5 and 12.
    """
    if merging(strategy.windows):
        return None
    chosen = evolve(
        strategy,
        trigger=Repeat(Or(AtWatermark(), AtCount(1))),
        accumulation=Accumulation.ACCUMULATING,
        on_time=OnTime.ALWAYS,
    )
    found = [
        (pane.window, pane.key)
        for pane in run(_summed(chosen), {READINGS: timeline}).panes
        if pane.timing is Timing.ON_TIME
    ]
    before, there, passed = MIN_TIME, set[Place](), list[Place]()
    for instant in timeline:
        there |= set(_places(chosen, instant.elements))
        passed += [place for place in there if before < place[0].end <= instant.watermark]
        before = instant.watermark
    return Equation(sorted(found), sorted(passed))


@law
def nothing_is_held_where_nothing_is_pending(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[EventTime]]:
    """Under ``Repeat(Always())`` the watermark downstream is the watermark.

    Source: SEMANTICS 9, the hold.

    Relied on by: every grouping downstream, which would wait for ever.
    """
    readings = run(_summed(evolve(strategy, trigger=Repeat(Always()))), {READINGS: timeline}).watermarks
    return Equation([one.output for one in readings], [one.input for one in readings])


@law
def the_hold_is_the_least_time_that_panes_would_carry(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[EventTime]] | None:
    """Under ``Never()`` the watermark downstream is the least of the watermark and of the event times of all panes to
    come, except that it does not move back.

    Where: windows do not merge, and the lateness is FOREVER.

    Source: SEMANTICS 9, the hold.

    Relied on by: every grouping downstream.
    """
    if merging(strategy.windows):
        return None
    chosen = evolve(strategy, trigger=Never(), allowed_lateness=FOREVER)
    found = [one.output for one in run(_summed(chosen), {READINGS: timeline}).watermarks]
    times: dict[Place, list[EventTime]] = {}
    output, wanted = MIN_TIME, list[EventTime]()
    for instant in timeline:
        for one in instant.elements:
            for place in _places(chosen, [one]):
                times.setdefault(place, []).append(event_time(one.at))
        ended = instant.watermark == MAX_TIME
        held = [] if ended else [_carried(chosen.pane_time, *pair) for pair in times.items()]
        output = max(output, min([instant.watermark, *held]))
        wanted.append(output)
    return Equation(found, wanted)


def _carried(choice: PaneTime, place: Place, times: Sequence[EventTime]) -> EventTime:
    match choice:
        case PaneTime.EARLIEST:
            return min(times)
        case PaneTime.LATEST:
            return max(times)
        case PaneTime.END_OF_WINDOW:
            return place[0].last_instant


def _places(strategy: WindowingStrategy, elements: Iterable[Reading]) -> Iterator[Place]:
    for one in elements:
        for window in strategy.windows.assign(event_time(one.at), one.key):
            yield window, one.key


def _summed(strategy: WindowingStrategy) -> PCollection[KV[str, int]]:
    return put_into(VALUES, strategy).combine_per_key(Sum())


LOOP_LAWS: tuple[Law[..., object], ...] = (
    a_once_trigger_is_its_table,
    a_repeated_trigger_is_its_table_again_and_again,
    a_limit_remembers_from_the_start,
    a_continuous_engine_is_a_loop_that_is_woken,
    a_window_is_complete_when_the_watermark_reaches_its_end,
    some_may_be_behind_a_percentile_watermark,
    a_signal_is_heard_by_every_window,
    every_window_has_its_on_time_pane,
    nothing_is_held_where_nothing_is_pending,
    the_hold_is_the_least_time_that_panes_would_carry,
)
"""Every law that is judged by a plain loop."""

__all__ = ["LOOP_LAWS", "Loop"]
