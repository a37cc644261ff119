"""The laws of instants: what a grouping says is what a plain loop over the timeline says.

Equations between triggers hold for many wrong readings of them too, if these are wrong in the same way on both sides.
Here the right side is the table of SEMANTICS 6 itself, over plain lists of what has arrived, for every window at every
instant: no summaries, no alarms, and nothing that is left asleep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Final

from attrs import evolve

from flowalg import (
    FOREVER,
    KV,
    MAX_TIME,
    MIN_TIME,
    Accumulation,
    Always,
    AtCount,
    AtSignal,
    AtWatermark,
    EventTime,
    Never,
    OnceTrigger,
    OnTimeBehavior,
    Or,
    PCollection,
    Repeat,
    RepeatUntil,
    Sessions,
    Sum,
    Timeline,
    TimestampCombiner,
    Timing,
    ToList,
    Trigger,
    Window,
    WindowingStrategy,
)
from flowalg.data.time import event_time
from flowalg.windows.window_functions import as_merging
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import Interpreter, continuous, micro_batch, put_into
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, Crowd, Reading
from flowalg_laws.laws.plain_loop import Loop, Place, Refused, Said, Story
from flowalg_laws.laws.triggers import Small

_SHORT: Final = Sessions(timedelta(minutes=1))


def _told(
    run: Interpreter,
    trigger: Trigger,
    strategy: WindowingStrategy,
    timeline: Timeline[Reading],
    *,
    once: OnceTrigger,
    until: OnceTrigger,
) -> Equation[Story]:
    """What a run says under a trigger, and the loop of what it should mean: ``once`` again and again ``until``."""
    plain = evolve(
        strategy,
        trigger=trigger,
        accumulation=Accumulation.DISCARDING,
        on_time_behavior=OnTimeBehavior.IF_CHANGED,
    )
    done = run(put_into(VALUES, plain).combine_per_key(ToList()), {READINGS: timeline})
    said = [
        Said(
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
) -> Equation[Story]:
    """The panes and drops under a once-trigger are those of a plain loop over the instants, which ends at its firing.

    Where: the mode is discarding.

    Source: the table of SEMANTICS 6; the steps of SEMANTICS 5.

    Relied on by: every law that compares two triggers, which says nothing of what both get wrong.
    """
    return _told(micro_batch, once, strategy, timeline, once=once, until=once)


@law
def a_repeated_trigger_is_its_table_again_and_again(
    once: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story]:
    """The panes and drops under ``Repeat(a)`` are those of a plain loop, which forgets what has come when it fires.

    Where: the mode is discarding.

    Source: the table of SEMANTICS 6; the steps of SEMANTICS 5.

    Relied on by: every law that compares two triggers, which says nothing of what both get wrong.
    """
    return _told(micro_batch, Repeat(once), strategy, timeline, once=once, until=Never())


@law
def a_limit_remembers_from_the_start(
    once: OnceTrigger, until: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story]:
    """The panes and drops under ``RepeatUntil(a, b)`` are those of a loop that forgets nothing for ``b``.

    Where: the mode is discarding.

    Source: SEMANTICS 6, `OrFinally`.

    Relied on by: every law that compares two triggers, which says nothing of what both get wrong.
    """
    return _told(micro_batch, RepeatUntil(once, until), strategy, timeline, once=once, until=until)


@law
def a_continuous_engine_is_a_loop_that_is_woken(
    once: OnceTrigger, until: OnceTrigger, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story]:
    """In a continuous engine the loop runs at each boundary too that a window waits for, before the next instant.

    Where: the mode is discarding.

    Source: SEMANTICS 4.

    Relied on by: early panes that come when nothing else does.
    """
    return _told(continuous, RepeatUntil(once, until), strategy, timeline, once=once, until=until)


@law
def a_window_is_complete_when_the_watermark_reaches_its_end(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story]:
    """The panes and drops under ``Repeat(AtWatermark())`` are those of a plain loop that asks whether ``W >= end``.

    Where: the mode is discarding.

    Source: Dataflow Model, section 2.3; SEMANTICS 4 and 6.

    Relied on by: everything that waits for the watermark.
    """
    return _told(micro_batch, Repeat(AtWatermark()), strategy, timeline, once=AtWatermark(), until=Never())


@law
def some_may_be_behind_a_percentile_watermark(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story]:
    """So are those under ``Repeat(AtWatermark(percentile=q))``, with the q-percentile watermark.

    Where: the mode is discarding.

    Source: MillWheel, section 7.2; SEMANTICS 6.
    """
    return _told(
        micro_batch, Repeat(AtWatermark(0.5)), strategy, timeline, once=AtWatermark(0.5), until=Never()
    )


@law
def a_merger_starts_on_what_is_pending(
    once: OnceTrigger,
    until: OnceTrigger,
    gap: timedelta,
    strategy: WindowingStrategy,
    timeline: Timeline[Reading],
) -> Equation[Story]:
    """Sessions that merge, and those that open again, start their trigger on what no pane has shown.

    Where: the mode is discarding.

    Source: SEMANTICS 6, "when windows merge".

    Relied on by: the laws of composite triggers, under sessions.
    """
    sessions = evolve(strategy, windows=Sessions(gap))
    return _told(continuous, RepeatUntil(once, until), sessions, timeline, once=once, until=until)


@law
def a_session_counts_on(
    count: Small, more: Small, strategy: WindowingStrategy, timeline: Crowd
) -> Equation[Story]:
    """So under ``RepeatUntil(AtCount(n), AtCount(n + m))``, where every element makes a difference.

    Where: the mode is discarding, the lateness is FOREVER, and the gap is a minute.

    Source: SEMANTICS 6, "when windows merge".
    """
    return _counted(AtCount(count), AtCount(count + more), strategy, timeline)


@law
def a_session_counts_to_two(strategy: WindowingStrategy, timeline: Crowd) -> Equation[Story]:
    """So under ``RepeatUntil(AtCount(1), AtCount(2))``, where a session closes unless it forgets how it began.

    Where: the mode is discarding, the lateness is FOREVER, and the gap is a minute.

    Source: SEMANTICS 6, "when windows merge".
    """
    return _counted(AtCount(1), AtCount(2), strategy, timeline)


def _counted(
    once: OnceTrigger, until: OnceTrigger, strategy: WindowingStrategy, timeline: Crowd
) -> Equation[Story]:
    sessions = evolve(strategy, windows=_SHORT, allowed_lateness=FOREVER)
    return _told(micro_batch, RepeatUntil(once, until), sessions, timeline, once=once, until=until)


@law
def a_session_that_opens_again_is_early_again(
    run: Interpreter, strategy: WindowingStrategy, timeline: Crowd
) -> Equation[tuple[object, ...]]:
    """``AtWatermark().with_late_firings(AtCount(1)) = Repeat(AtWatermark())`` where sessions grow beyond the watermark.

    Where: the gap is a minute.

    Source: SEMANTICS 6, "when windows merge".

    Relied on by: early and on-time panes of sessions, which would come at each element of one that was complete once.
    """
    late, default = (
        _summed(evolve(strategy, windows=_SHORT, trigger=trigger))
        for trigger in (AtWatermark().with_late_firings(AtCount(1)), Repeat(AtWatermark()))
    )
    return Equation(run(late, {READINGS: timeline}).panes, run(default, {READINGS: timeline}).panes)


@law
def a_signal_is_heard_by_every_window(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Story]:
    """So are those under ``Repeat(AtSignal(name))``, whether anything else comes to a window or not.

    Where: the mode is discarding.

    Source: SEMANTICS 6.
    """
    return _told(micro_batch, Repeat(AtSignal("x")), strategy, timeline, once=AtSignal("x"), until=Never())


@law
def every_window_has_its_on_time_pane(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Place]] | None:
    """With `OnTimeBehavior.ALWAYS` each window that the watermark finds there says something when it passes, and once.

    Where: windows do not merge, the trigger fires then and at each element, and the mode is accumulating.

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
    return Equation([reading.output for reading in readings], [reading.input for reading in readings])


@law
def nothing_is_held_at_the_end(
    run: Interpreter, once: OnceTrigger, strategy: WindowingStrategy, timeline: Crowd
) -> Equation[list[EventTime]]:
    """When the input has ended the watermark downstream is at the end as well, whatever has merged on the way.

    Where: windows are sessions with a gap of a minute, and the trigger repeats.

    Source: SEMANTICS 5 and 9.

    Relied on by: every grouping downstream, which would wait for ever.
    """
    sessions = evolve(strategy, windows=_SHORT, trigger=Repeat(once))
    readings = run(_summed(sessions), {READINGS: timeline}).watermarks
    ended = [reading.output for reading in readings if reading.input == MAX_TIME]
    return Equation(ended, [MAX_TIME] * len(ended))


@law
def what_has_merged_does_not_merge_again(
    run: Interpreter, strategy: WindowingStrategy, timeline: Crowd
) -> Equation[list[tuple[Window, int]]]:
    """A second grouping of sessions adds up the panes of each window of the first one, and of no two together.

    Where: the mode is accumulating, the lateness is FOREVER, and every element makes a pane.

    Source: SEMANTICS 3.

    Relied on by: counts of sessions.
    """
    each = evolve(
        strategy,
        windows=_SHORT,
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.ACCUMULATING,
        on_time_behavior=OnTimeBehavior.IF_CHANGED,
        allowed_lateness=FOREVER,
    )
    once = _summed(each)
    so_far: Counter[Window] = Counter()
    added: list[tuple[Window, int]] = []
    for pane in run(once, {READINGS: timeline}).panes:
        so_far[pane.window] += pane.value
        added.append((pane.window, so_far[pane.window]))
    again = run(once.combine_per_key(Sum()), {READINGS: timeline}).panes
    return Equation([(pane.window, pane.value) for pane in again], added)


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
    if as_merging(strategy.windows):
        return None
    chosen = evolve(strategy, trigger=Never(), allowed_lateness=FOREVER)
    found = [watermark.output for watermark in run(_summed(chosen), {READINGS: timeline}).watermarks]
    times: dict[Place, list[EventTime]] = {}
    output, wanted = MIN_TIME, list[EventTime]()
    for instant in timeline:
        for element in instant.elements:
            for place in _places(chosen, [element]):
                times.setdefault(place, []).append(event_time(element.at))
        ended = instant.watermark == MAX_TIME
        held = [] if ended else [_carried(chosen.timestamp_combiner, *pair) for pair in times.items()]
        output = max(output, min([instant.watermark, *held]))
        wanted.append(output)
    return Equation(found, wanted)


def _carried(choice: TimestampCombiner, place: Place, times: Sequence[EventTime]) -> EventTime:
    match choice:
        case TimestampCombiner.EARLIEST:
            return min(times)
        case TimestampCombiner.LATEST:
            return max(times)
        case TimestampCombiner.END_OF_WINDOW:
            return place[0].last_instant


def _places(strategy: WindowingStrategy, elements: Iterable[Reading]) -> Iterator[Place]:
    for element in elements:
        for window in strategy.windows.assign(event_time(element.at), element.key):
            yield window, element.key


def _summed(strategy: WindowingStrategy) -> PCollection[KV[str, int]]:
    return put_into(VALUES, strategy).combine_per_key(Sum())


LOOP_LAWS: tuple[Law[..., object], ...] = (
    a_once_trigger_is_its_table,
    a_repeated_trigger_is_its_table_again_and_again,
    a_limit_remembers_from_the_start,
    a_continuous_engine_is_a_loop_that_is_woken,
    a_window_is_complete_when_the_watermark_reaches_its_end,
    some_may_be_behind_a_percentile_watermark,
    a_merger_starts_on_what_is_pending,
    a_session_counts_on,
    a_session_counts_to_two,
    a_session_that_opens_again_is_early_again,
    a_signal_is_heard_by_every_window,
    every_window_has_its_on_time_pane,
    nothing_is_held_where_nothing_is_pending,
    nothing_is_held_at_the_end,
    what_has_merged_does_not_merge_again,
    the_hold_is_the_least_time_that_panes_would_carry,
)
"""Every law that is judged by a plain loop."""

__all__ = ["LOOP_LAWS"]
