"""Laws of instants: a grouping emits what a plain loop over the timeline emits.

Equations between triggers also hold for wrong semantics that is wrong in the same way on both sides. Here the right
side is the table of SEMANTICS 6 itself, evaluated over plain lists of elements, for every window at every instant:
without summaries, without timers, and without dormant windows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Final

from attrs import evolve
from flowalg_reference import Reference

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    EventTime,
    Interpreter,
    Mode,
    Pane,
    PCollection,
    Repeat,
    Sessions,
    Sum,
    Timeline,
    ToList,
    Window,
)
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.data.time import event_time
from flowalg.runs import Signal, Timing
from flowalg.triggers import Always, AtSignal, Never, OnceTrigger, Or, RepeatUntil, Trigger
from flowalg.windows import OnTimeBehavior, TimestampCombiner, WindowFn, WindowingStrategy
from flowalg.windows.window_functions import as_merging, assign_windows
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import CONTINUOUS, MICRO_BATCH, apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, DenseTimeline, Reading
from flowalg_laws.laws.plain_loop import Loop, LoopDrop, LoopPane, LoopResult, Place
from flowalg_laws.laws.triggers import Small

_SHORT: Final = Sessions(timedelta(minutes=1))


def _compare(
    engine: Reference,
    trigger: Trigger,
    strategy: WindowingStrategy,
    timeline: Timeline[Reading],
    *,
    once: OnceTrigger,
    until: OnceTrigger,
) -> Equation[LoopResult]:
    """Compares a run of a trigger with the plain loop of its meaning: ``once`` repeatedly ``until``."""
    plain = evolve(
        strategy,
        trigger=trigger,
        accumulation=Accumulation.DISCARDING,
        on_time_behavior=OnTimeBehavior.IF_CHANGED,
    )
    done = engine.run(apply_windowing(VALUES, plain).combine_per_key(ToList()), {READINGS: timeline})
    panes = [
        LoopPane(
            (pane.window, pane.key),
            tuple(sorted(pane.value)),
            pane.timing,
            pane.index,
            pane.is_last,
            pane.processing_time,
            pane.watermark,
        )
        for pane in done.panes
    ]
    drops = [
        LoopDrop(drop.element, drop.window, drop.reason, drop.processing_time)
        for drop in done.dropped
        if isinstance(drop.element, KV)
    ]
    loop_panes, loop_drops = Loop(once, until, plain).run(
        timeline, with_timers=engine.mode is Mode.CONTINUOUS
    )
    return Equation((panes, sorted(drops, key=repr)), (loop_panes, sorted(loop_drops, key=repr)))


@law
def a_once_trigger_equals_the_loop(
    once: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[LoopResult]:
    """The panes and drops under a once-trigger are those of a plain loop over the instants that ends at the first
    firing.

    Where: the mode is discarding.

    Source: the table of SEMANTICS 6; the steps of SEMANTICS 5.

    Relied on by: all laws that compare two triggers, which do not detect errors common to both.
    """
    return _compare(MICRO_BATCH, once, strategy, timeline, once=once, until=once)


@law
def a_repeated_trigger_equals_the_loop(
    once: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[LoopResult]:
    """The panes and drops under ``Repeat(a)`` are those of a plain loop that forgets the elements when it fires.

    Where: the mode is discarding.

    Source: the table of SEMANTICS 6; the steps of SEMANTICS 5.

    Relied on by: all laws that compare two triggers, which do not detect errors common to both.
    """
    return _compare(MICRO_BATCH, Repeat(once), strategy, timeline, once=once, until=Never())


@law
def a_limit_observes_from_the_start(
    once: OnceTrigger, until: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[LoopResult]:
    """The panes and drops under ``RepeatUntil(a, b)`` are those of a plain loop that forgets no elements for ``b``.

    Where: the mode is discarding.

    Source: SEMANTICS 6, `OrFinally`.

    Relied on by: all laws that compare two triggers, which do not detect errors common to both.
    """
    return _compare(MICRO_BATCH, RepeatUntil(once, until), strategy, timeline, once=once, until=until)


@law
def continuous_mode_equals_the_loop_with_timers(
    once: OnceTrigger, until: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[LoopResult]:
    """In continuous mode the loop also runs at each deadline of a window, before the next instant.

    Where: the mode is discarding.

    Source: SEMANTICS 4.

    Relied on by: early panes between instants.
    """
    return _compare(CONTINUOUS, RepeatUntil(once, until), strategy, timeline, once=once, until=until)


@law
def at_watermark_compares_with_the_end(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[LoopResult]:
    """The panes and drops under ``Repeat(AtWatermark())`` are those of a plain loop with the condition ``W >= end``.

    Where: the mode is discarding.

    Source: Dataflow Model, section 2.3; SEMANTICS 4 and 6.

    Relied on by: all triggers that wait for the watermark.
    """
    return _compare(MICRO_BATCH, Repeat(AtWatermark()), strategy, timeline, once=AtWatermark(), until=Never())


@law
def a_percentile_trigger_uses_its_own_watermark(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[LoopResult]:
    """The same holds for ``Repeat(AtWatermark(percentile=q))`` with the q-percentile watermark.

    Where: the mode is discarding.

    Source: MillWheel, section 7.2; SEMANTICS 6.
    """
    return _compare(
        MICRO_BATCH, Repeat(AtWatermark(0.5)), strategy, timeline, once=AtWatermark(0.5), until=Never()
    )


@law
def a_merge_restarts_the_trigger_on_unemitted_elements(
    once: OnceTrigger,
    until: OnceTrigger,
    gap: timedelta,
    strategy: WindowingStrategy,
    timeline: Timeline[Reading],
) -> Equation[LoopResult]:
    """Sessions that merge, and sessions that reopen, restart their trigger on their unemitted elements.

    Where: the mode is discarding.

    Source: SEMANTICS 6, "when windows merge".

    Relied on by: the laws of composite triggers, with sessions.
    """
    sessions = evolve(strategy, windows=Sessions(gap))
    return _compare(CONTINUOUS, RepeatUntil(once, until), sessions, timeline, once=once, until=until)


@law
def counts_of_merged_sessions_continue(
    count: Small, more: Small, strategy: WindowingStrategy, timeline: DenseTimeline
) -> Equation[LoopResult]:
    """The same holds for ``RepeatUntil(AtCount(n), AtCount(n + m))``, where every element matters.

    Where: the mode is discarding, the lateness is FOREVER, and the gap is a minute.

    Source: SEMANTICS 6, "when windows merge".
    """
    return _counted(AtCount(count), AtCount(count + more), strategy, timeline)


@law
def merged_sessions_keep_their_limits(
    strategy: WindowingStrategy, timeline: DenseTimeline
) -> Equation[LoopResult]:
    """The same holds for ``RepeatUntil(AtCount(1), AtCount(2))``, where a session closes unless it forgets its first
    element.

    Where: the mode is discarding, the lateness is FOREVER, and the gap is a minute.

    Source: SEMANTICS 6, "when windows merge".
    """
    return _counted(AtCount(1), AtCount(2), strategy, timeline)


def _counted(
    once: OnceTrigger, until: OnceTrigger, strategy: WindowingStrategy, timeline: DenseTimeline
) -> Equation[LoopResult]:
    sessions = evolve(strategy, windows=_SHORT, allowed_lateness=FOREVER)
    return _compare(MICRO_BATCH, RepeatUntil(once, until), sessions, timeline, once=once, until=until)


@law
def a_reopened_session_is_early_again(
    engine: Interpreter, strategy: WindowingStrategy, timeline: DenseTimeline
) -> Equation[tuple[object, ...]]:
    """``AtWatermark().with_late_firings(AtCount(1)) = Repeat(AtWatermark())`` for sessions that grow beyond the
    watermark.

    Where: the gap is a minute.

    Source: SEMANTICS 6, "when windows merge".

    Relied on by: early and on-time panes of sessions, which would fire at each element of a session that was complete
    before.
    """
    late, default = (
        _summed(evolve(strategy, windows=_SHORT, trigger=trigger))
        for trigger in (AtWatermark().with_late_firings(AtCount(1)), Repeat(AtWatermark()))
    )
    return Equation(
        engine.run(late, {READINGS: timeline}).panes, engine.run(default, {READINGS: timeline}).panes
    )


@law
def a_signal_reaches_every_window(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[LoopResult]:
    """The same holds for ``Repeat(AtSignal(name))``: a signal reaches all windows that it names, also those without new
    elements, and no others.

    Where: the mode is discarding.

    Source: SEMANTICS 15.
    """
    return _compare(MICRO_BATCH, Repeat(AtSignal("x")), strategy, timeline, once=AtSignal("x"), until=Never())


@law
def a_signal_to_all_windows_is_one_to_each_key(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[tuple[Pane[KV[str, int]], ...]]:
    """The signal ``name`` is ``Signal(name, key)`` for every key.

    Source: SEMANTICS 15.
    """
    keys = {element.key for element in timeline.elements}
    one_by_one = Timeline(
        tuple(
            evolve(instant, signals=instant.signals - {"x"} | {Signal("x", key) for key in keys})
            if "x" in instant.signals
            else instant
            for instant in timeline
        )
    )
    pipeline = _summed(evolve(strategy, trigger=Repeat(AtSignal("x"))))
    left, right = (engine.run(pipeline, {READINGS: variant}).panes for variant in (timeline, one_by_one))
    return Equation(left, right)


@law
def every_window_has_one_on_time_pane(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Place]] | None:
    """With ``OnTimeBehavior.ALWAYS`` each window that exists when the watermark passes its end emits one on-time pane.

    Where: windows do not merge, the trigger fires at the watermark and at each element, and the mode is accumulating.

    Source: SEMANTICS 5 and 12.
    """
    if as_merging(strategy.windows):
        return None
    chosen = evolve(
        strategy,
        trigger=Repeat(Or(AtWatermark(), AtCount(1))),
        accumulation=Accumulation.ACCUMULATING,
        on_time_behavior=OnTimeBehavior.ALWAYS,
    )
    on_time = [
        (pane.window, pane.key)
        for pane in engine.run(_summed(chosen), {READINGS: timeline}).panes
        if pane.timing is Timing.ON_TIME
    ]
    before, there, passed = MIN_TIME, set[Place](), list[Place]()
    for instant in timeline:
        there |= set(_places(chosen, instant.elements))
        passed += [place for place in there if before < place[0].end <= instant.watermark]
        before = instant.watermark
    return Equation(sorted(on_time), sorted(passed))


@law
def no_hold_without_pending_elements(
    engine: Reference, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[EventTime]]:
    """Under ``Repeat(Always())`` the output watermark is the input watermark.

    Source: SEMANTICS 9, the hold.

    Relied on by: all groupings downstream, which would otherwise wait indefinitely.
    """
    readings = engine.run(
        _summed(evolve(strategy, trigger=Repeat(Always()))), {READINGS: timeline}
    ).watermarks
    return Equation([reading.output for reading in readings], [reading.input for reading in readings])


@law
def no_hold_at_the_end(
    engine: Reference, once: OnceTrigger, strategy: WindowingStrategy, timeline: DenseTimeline
) -> Equation[list[EventTime]]:
    """When the input has ended, the output watermark is at the end as well, also after merges.

    Where: windows are sessions with a gap of a minute, and the trigger repeats.

    Source: SEMANTICS 5 and 9.

    Relied on by: all groupings downstream, which would otherwise wait indefinitely.
    """
    sessions = evolve(strategy, windows=_SHORT, trigger=Repeat(once))
    readings = engine.run(_summed(sessions), {READINGS: timeline}).watermarks
    ended = [reading.output for reading in readings if reading.input == MAX_TIME]
    return Equation(ended, [MAX_TIME] * len(ended))


@law
def downstream_windows_do_not_merge_again(
    engine: Interpreter, strategy: WindowingStrategy, timeline: DenseTimeline
) -> Equation[list[tuple[Window, int]]]:
    """A second grouping of sessions combines the panes of each window of the first grouping, and does not merge
    windows.

    Where: the mode is accumulating, the allowed lateness is FOREVER, and every element emits a pane.

    Source: SEMANTICS 3.

    Relied on by: counts of sessions.
    """
    chosen = evolve(
        strategy,
        windows=_SHORT,
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.ACCUMULATING,
        on_time_behavior=OnTimeBehavior.IF_CHANGED,
        allowed_lateness=FOREVER,
    )
    once = _summed(chosen)
    so_far: Counter[Window] = Counter()
    added: list[tuple[Window, int]] = []
    for pane in engine.run(once, {READINGS: timeline}).panes:
        so_far[pane.window] += pane.value
        added.append((pane.window, so_far[pane.window]))
    again = engine.run(once.combine_per_key(Sum()), {READINGS: timeline}).panes
    return Equation([(pane.window, pane.value) for pane in again], added)


@law
def the_hold_is_the_least_pending_pane_time(
    engine: Reference, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[EventTime]] | None:
    """Under ``Never()`` the output watermark is the least of the input watermark and the event times of all pending
    panes, except that it never moves back.

    Where: windows do not merge, and the allowed lateness is FOREVER.

    Source: SEMANTICS 9, the hold.

    Relied on by: all groupings downstream.
    """
    if as_merging(strategy.windows):
        return None
    chosen = evolve(strategy, trigger=Never(), allowed_lateness=FOREVER)
    outputs = [watermark.output for watermark in engine.run(_summed(chosen), {READINGS: timeline}).watermarks]
    times: dict[Place, list[EventTime]] = {}
    output, wanted = MIN_TIME, list[EventTime]()
    for instant in timeline:
        for element in instant.elements:
            for place in _places(chosen, [element]):
                times.setdefault(place, []).append(event_time(element.at))
        ended = instant.watermark == MAX_TIME
        holds = [] if ended else [_pane_time(chosen.timestamp_combiner, *pair) for pair in times.items()]
        output = max(output, min([instant.watermark, *holds]))
        wanted.append(output)
    return Equation(outputs, wanted)


@law
def a_hold_covers_pending_retractions(
    engine: Reference, windows: WindowFn, timeline: DenseTimeline
) -> Equation[list[list[EventTime]]] | None:
    """Under ``AtCount(1) >> Never()`` the output watermark is the least of the input watermark and, for each window
    that has changed since its pane, of the event times of that pane and of the one that will replace it, except that it
    never moves back.

    Where: windows do not merge, the mode is retracting, and the allowed lateness is FOREVER.

    Source: SEMANTICS 7 and 9, the hold.

    Relied on by: groupings of corrected panes, for which a retraction would be late although its element was not.
    """
    if as_merging(windows):
        return None
    sides = [_retracted_holds(engine, windows, choice, timeline) for choice in TimestampCombiner]
    return Equation([outputs for outputs, _ in sides], [wanted for _, wanted in sides])


def _retracted_holds(
    engine: Reference, windows: WindowFn, choice: TimestampCombiner, timeline: Timeline[Reading]
) -> tuple[list[EventTime], list[EventTime]]:
    """Returns the output watermarks of a run with one pane for each window, and those that are wanted."""
    chosen = WindowingStrategy(
        windows, AtCount(1) >> Never(), Accumulation.RETRACTING, FOREVER, timestamp_combiner=choice
    )
    readings = engine.run(_summed(chosen), {READINGS: timeline}).watermarks
    times: dict[Place, list[EventTime]] = defaultdict(list)
    current: dict[Place, EventTime] = {}
    changed: set[Place] = set()
    output, wanted = MIN_TIME, list[EventTime]()
    for instant in timeline:
        for element in instant.elements:
            for place in _places(chosen, [element]):
                times[place].append(event_time(element.at))
                changed |= {place} & current.keys()
        replacing = {place: _pane_time(choice, place, times[place]) for place in times}
        current = {**replacing, **current}
        ended = instant.watermark == MAX_TIME
        holds = [] if ended else [min(current[place], replacing[place]) for place in changed]
        output = max(output, min([instant.watermark, *holds]))
        wanted.append(output)
    return [reading.output for reading in readings], wanted


def _pane_time(choice: TimestampCombiner, place: Place, times: Sequence[EventTime]) -> EventTime:
    match choice:
        case TimestampCombiner.EARLIEST:
            return min(times)
        case TimestampCombiner.LATEST:
            return max(times)
        case TimestampCombiner.END_OF_WINDOW:
            return place[0].last_instant


def _places(strategy: WindowingStrategy, elements: Iterable[Reading]) -> Iterator[Place]:
    for element in elements:
        for window in assign_windows(strategy.windows, event_time(element.at), element.key, element.value):
            yield window, element.key


def _summed(strategy: WindowingStrategy) -> PCollection[KV[str, int]]:
    return apply_windowing(VALUES, strategy).combine_per_key(Sum())


LOOP_LAWS: tuple[Law[..., object], ...] = (
    a_once_trigger_equals_the_loop,
    a_repeated_trigger_equals_the_loop,
    a_limit_observes_from_the_start,
    continuous_mode_equals_the_loop_with_timers,
    at_watermark_compares_with_the_end,
    a_percentile_trigger_uses_its_own_watermark,
    a_merge_restarts_the_trigger_on_unemitted_elements,
    counts_of_merged_sessions_continue,
    merged_sessions_keep_their_limits,
    a_reopened_session_is_early_again,
    a_signal_reaches_every_window,
    a_signal_to_all_windows_is_one_to_each_key,
    every_window_has_one_on_time_pane,
    no_hold_without_pending_elements,
    no_hold_at_the_end,
    downstream_windows_do_not_merge_again,
    the_hold_is_the_least_pending_pane_time,
    a_hold_covers_pending_retractions,
)
"""All laws that compare a run with the plain loop."""
