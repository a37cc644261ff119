"""Laws of watermarks in a running pipeline: monotone, least at joins, and held back by pending elements."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from attrs import evolve
from flowalg_reference import Reference

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    FixedWindows,
    Interpreter,
    PCollection,
    Repeat,
    Source,
    Sum,
    Timeline,
    flatten,
)
from flowalg.data import INGRESS_TIME
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.runs import Instant
from flowalg.triggers import Trigger
from flowalg.watermarks import IngressTime
from flowalg.windows import TimestampCombiner, WindowingStrategy
from flowalg.windows.window_functions import as_merging
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, Reading, without_late_elements

OTHERS = Source("others", Reading, event_time=lambda reading: reading.at)


def _summed(strategy: WindowingStrategy) -> PCollection[KV[str, int]]:
    return apply_windowing(VALUES, strategy).combine_per_key(Sum())


@law
def the_watermark_downstream_never_moves_back(
    engine: Reference, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[EventTime]]:
    """The output watermarks of a grouping never decrease.

    Source: Watermarks in Stream Processing Systems, section 2; SEMANTICS 9.

    Relied on by: every grouping downstream.
    """
    outputs = [
        watermark.output for watermark in engine.run(_summed(strategy), {READINGS: timeline}).watermarks
    ]
    return Equation(outputs, sorted(outputs))


@law
def the_watermark_downstream_never_leads(
    engine: Reference, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[EventTime]]:
    """``output <= input`` at every instant.

    Source: SEMANTICS 9.
    """
    readings = engine.run(_summed(strategy), {READINGS: timeline}).watermarks
    return Equation(
        [min(reading.input, reading.output) for reading in readings], [reading.output for reading in readings]
    )


@law
def a_join_has_the_least_watermark(
    engine: Reference, timeline: Timeline[Reading], other: Timeline[Reading]
) -> Equation[list[EventTime]] | None:
    """The watermark of ``flatten(a, b)`` is the lesser of the two watermarks, at every instant.

    Where: nothing is pending, so nothing holds back the watermark; no source is idle, and no two instants are at one
    processing time.

    Source: Watermarks in Stream Processing Systems, section 2; SEMANTICS 9.

    Relied on by: co-groups and joins.
    """
    first, second = (
        Timeline(tuple(evolve(i, elements=(), idle_at=None) for i in inputs)) for inputs in (timeline, other)
    )
    others = OTHERS.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)
    joined = flatten(VALUES, others).combine_per_key(Sum())
    readings = engine.run(joined, {READINGS: first, OTHERS: second}).watermarks
    if len({reading.processing_time for reading in readings}) < len(readings):
        return None
    expected = [
        min(_watermark_at(source, reading.processing_time) for source in (first, second))
        for reading in readings
    ]
    return Equation([reading.output for reading in readings], expected)


def _watermark_at(timeline: Timeline[Reading], time: ProcessingTime) -> EventTime:
    """Returns the watermark that a source has published by a time."""
    return max((i.watermark for i in timeline if i.processing_time <= time), default=MIN_TIME)


@law
def an_idle_source_holds_nothing_back(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[object] | None:
    """``flatten(a, b) = a`` if ``b`` has no elements and is idle from the start: the same panes at the same clocks.

    Where: ``a`` has an instant, and does not end; otherwise the idle source is all that is left to wait for.

    Source: Watermarks in Stream Processing Systems, section 2; SEMANTICS 9.

    Relied on by: pipelines with several sources, of which some are silent for long.
    """
    timeline = timeline.without_end()
    if not timeline.instants:
        return None
    start = timeline.instants[0].processing_time
    idle = Timeline[Reading]((Instant(start, (), MIN_TIME, idle_at=start),))
    others = OTHERS.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)
    both = apply_windowing(flatten(VALUES, others), strategy).combine_per_key(Sum())
    with_idle = engine.run(both, {READINGS: timeline, OTHERS: idle})
    alone = engine.run(_summed(strategy), {READINGS: timeline})
    return Equation((with_idle.panes, with_idle.dropped), (alone.panes, alone.dropped))


@law
def the_own_grouping_of_an_idle_source_goes_on(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], other: Timeline[Reading]
) -> Equation[object] | None:
    """``c(flatten(a, b)) = flatten(c(a), c(b))`` for a grouping ``c`` if no key is in both and ``b`` is idle: the same
    panes and drops at the same clocks, since an idle source has the watermark of the others for all that reads it.

    Where: ``b`` is idle from the start, ``a`` has an instant and does not end, and there are no signals, which belong
    to their source.

    Source: Watermarks in Stream Processing Systems, section 2; SEMANTICS 9.

    Relied on by: tables that are updated rarely.
    """
    quiet = tuple(evolve(instant, signals=frozenset()) for instant in timeline.without_end())
    if not quiet:
        return None
    start = min(instant.processing_time for instant in (*quiet, *other.instants))
    idle = (
        Instant(instant.processing_time, instant.elements, MIN_TIME, idle_at=instant.processing_time)
        for instant in (Instant(start, (), MIN_TIME), *other.instants)
    )
    inputs = {READINGS: Timeline(quiet), OTHERS: Timeline(tuple(idle))}
    others = OTHERS.key_by(lambda reading: f"other {reading.key}").map_values(lambda reading: reading.value)
    together = apply_windowing(flatten(VALUES, others), strategy).combine_per_key(Sum())
    apart = flatten(_summed(strategy), apply_windowing(others, strategy).combine_per_key(Sum()))
    runs = [engine.run(pipeline, inputs) for pipeline in (together, apart)]
    sides = [
        (Counter(run.panes), Counter((drop.key, drop.window, drop.reason) for drop in run.dropped))
        for run in runs
    ]
    return Equation[object](*sides)


@law
def a_hold_prevents_late_panes(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], size: timedelta
) -> Equation[int] | None:
    """A grouping of panes without allowed lateness drops none of them, however long their trigger waits.

    Where: no element was behind the watermark on arrival; panes have the end of their window as event time, or the
    mode is discarding; and windows do not merge, or the mode is not retracting. Otherwise a pane repeats an event
    time, of earlier elements or of a pane that it retracts, which the watermark may have passed.

    Source: Dataflow Model, section 3.1; SEMANTICS 9 and 13.

    Relied on by: every grouping downstream.
    """
    mode = strategy.mode
    repeats_times = (
        strategy.timestamp_combiner is not TimestampCombiner.END_OF_WINDOW
        and mode is not Accumulation.DISCARDING
    )
    if repeats_times or (as_merging(strategy.windows) and mode is Accumulation.RETRACTING):
        return None
    first = _summed(evolve(strategy, allowed_lateness=FOREVER, trigger=strategy.trigger.repeat()))
    second = first.map(lambda pair: KV("all", pair.value)).window(
        FixedWindows(size), allowed_lateness=timedelta(0)
    )
    run = engine.run(second.combine_per_key(Count()), {READINGS: without_late_elements(timeline)})
    return Equation(len(run.dropped), 0)


@law
def percentile_watermarks_advance_as_watermarks_do(
    engine: Interpreter,
    strategy: WindowingStrategy,
    timeline: Timeline[Reading],
    other: Timeline[Reading],
) -> Equation[list[object]]:
    """``AtWatermark(percentile=q)`` over ``flatten(c(a), b)``, with a grouping ``c`` that holds elements, fires as
    ``AtWatermark()`` does if the percentile watermark of each source is its watermark: the least at a union, held back,
    never back, and that of the others while its source is idle.

    Where: the triggers of ``c`` do not observe the watermark, the allowed lateness is FOREVER, and ``b`` has no
    percentile watermark of its own, so that it is the watermark itself.

    Source: MillWheel, section 7.2; SEMANTICS 6 and 9.

    Relied on by: percentile triggers after a union or a grouping.
    """
    first = Timeline(tuple(evolve(i, watermark=MIN_TIME) if i.watermark < MAX_TIME else i for i in timeline))
    second = Timeline(tuple(evolve(i, percentile_watermarks={}) for i in other))
    ahead = Timeline(
        tuple(evolve(i, watermark=max([i.watermark, *i.percentile_watermarks.values()])) for i in first)
    )
    counted = evolve(
        strategy,
        trigger=Repeat(AtCount(2)),
        allowed_lateness=FOREVER,
        timestamp_combiner=TimestampCombiner.EARLIEST,
    )
    others = OTHERS.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)

    def fired(trigger: Trigger, inputs: Timeline[Reading]) -> list[object]:
        watching = WindowingStrategy(
            FixedWindows(timedelta(minutes=1)), trigger.repeat(), Accumulation.DISCARDING, FOREVER
        )
        united = flatten(*(apply_windowing(values, watching) for values in (_summed(counted), others)))
        panes = engine.run(united.combine_per_key(Sum()), {READINGS: inputs, OTHERS: second}).panes
        return [(pane.processing_time, pane.window, pane.element) for pane in panes]

    return Equation(fired(AtWatermark(percentile=0.5), first), fired(AtWatermark(), ahead))


@law
def ingress_times_are_arrival_times(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[object]:
    """A source with ``INGRESS_TIME`` gives the panes of one whose function returns when its records arrive.

    Source: Streaming 102, "processing-time windows via ingress time"; SEMANTICS 1.

    Relied on by: windows of processing time over records that carry none.
    """

    def outcome(source: Source[Reading]) -> object:
        arriving = Timeline.from_records(
            source, timeline.elements, processing_time=lambda reading: reading.seen, watermark=IngressTime()
        )
        values = source.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)
        run = engine.run(apply_windowing(values, strategy).combine_per_key(Sum()), {source: arriving})
        return run.panes, run.dropped

    by_hand = Source("arrivals", Reading, event_time=lambda reading: reading.seen)
    return Equation(outcome(Source("arrivals", Reading, event_time=INGRESS_TIME)), outcome(by_hand))


CLOCK_LAWS: tuple[Law[..., object], ...] = (
    the_watermark_downstream_never_moves_back,
    the_watermark_downstream_never_leads,
    a_join_has_the_least_watermark,
    an_idle_source_holds_nothing_back,
    the_own_grouping_of_an_idle_source_goes_on,
    a_hold_prevents_late_panes,
    percentile_watermarks_advance_as_watermarks_do,
    ingress_times_are_arrival_times,
)
"""All laws of watermarks in a pipeline."""
