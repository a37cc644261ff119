"""Laws of groupings whose input is corrected: the panes of an earlier grouping, with their retractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import timedelta
from typing import TypeVar

import flowalg_reference
from attrs import evolve

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    Count,
    FixedWindows,
    Interpreter,
    Pane,
    PCollection,
    Repeat,
    Sum,
    Timeline,
    ToList,
    final_values,
)
from flowalg.data import MAX_TIME
from flowalg.data.time import processing_time
from flowalg.runs import Change
from flowalg.triggers import Trigger
from flowalg.windows import WindowingStrategy
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, START, VALUES, DenseTimeline, EndedTimeline, Reading
from flowalg_laws.laws.windows import Points

A = TypeVar("A")

Lists = PCollection[KV[str, list[int]]]
Sums = PCollection[KV[str, tuple[int, int]]]


def lists_of_sums(first: WindowingStrategy, second: WindowingStrategy) -> Lists:
    """Returns lists of the positive sums of one strategy, grouped under another; nothing closes or expires."""
    sums = apply_windowing(VALUES, _lasting(first)).combine_per_key(Sum())
    positive = sums.filter(lambda pair: pair.value > 0)
    return apply_windowing(positive, _lasting(second)).combine_per_key(ToList())


def lists_of_even_sums(first: WindowingStrategy, second: WindowingStrategy) -> Lists:
    """As ``lists_of_sums``, of even sums and with unset modes: a window becomes empty when its only sum becomes odd."""
    sums = apply_windowing(VALUES, _lasting(first, None)).combine_per_key(Sum())
    even = sums.filter(lambda pair: pair.value % 2 == 0)
    return apply_windowing(even, _lasting(second, None)).combine_per_key(ToList())


def sums_of_positive_sums(first: WindowingStrategy, second: WindowingStrategy) -> Sums:
    """Returns the sums of the results of a function and the counts of the positive sums of one strategy.

    They are grouped under another, which discards; nothing closes or expires.
    """
    sums = apply_windowing(VALUES, _lasting(first)).combine_per_key(Sum())
    positive = sums.filter(lambda pair: pair.value > 0)
    discarded = apply_windowing(positive, _lasting(second, Accumulation.DISCARDING))
    return discarded.combine_per_key(Sum.of(thrice), Count())


def thrice(value: int) -> int:
    """Returns three times the value."""
    return 3 * value


def _lasting(
    strategy: WindowingStrategy, accumulation: Accumulation | None = Accumulation.RETRACTING
) -> WindowingStrategy:
    return evolve(
        strategy,
        accumulation=accumulation,
        allowed_lateness=FOREVER,
        trigger=Repeat(strategy.trigger),
    )


def _current(panes: Iterable[Pane[KV[str, list[int]]]]) -> Counter[Hashable]:
    """Returns the panes that are not retracted."""
    counts: Counter[Hashable] = Counter()
    for pane in panes:
        content = (pane.key, pane.window, pane.event_time, tuple(sorted(pane.value)))
        counts[content] += 1 if pane.change is Change.VALUE else -1
    return Counter({content: count for content, count in counts.items() if count})


@law
def groupings_of_groupings_converge(
    engine: Interpreter, first: WindowingStrategy, second: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[Hashable]]:
    """``current(run(second . first)) = batch(second . first)``: the theorem holds through several groupings.

    Where: the input has ended, the first grouping retracts, nothing was dropped, and no merging window closed or
    expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 5 and 11.

    Relied on by: every pipeline with two groupings.
    """
    lists = lists_of_sums(first, second)
    batch = flowalg_reference.run_batch(lists, {READINGS: timeline.elements})
    return Equation(_current(engine.run(lists, {READINGS: timeline}).panes), _current(batch.panes))


@law
def discarding_sums_of_corrected_values_add_up(
    engine: Interpreter, first: WindowingStrategy, second: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[tuple[str, str]]]:
    """Under DISCARDING all panes of a key together have its sum and its count in the batch, whatever was corrected.

    The sum is that of a function of the values.

    Where: the input has ended, the first grouping retracts, nothing was dropped, and no merging window closed or
    expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 7, 8 and 11.

    Relied on by: sinks that add panes up.
    """
    sums = sums_of_positive_sums(first, second)
    batch = flowalg_reference.run_batch(sums, {READINGS: timeline.elements})
    return Equation(_totals(engine.run(sums, {READINGS: timeline}).panes), _totals(batch.panes))


def _totals(panes: Iterable[Pane[KV[str, tuple[int, int]]]]) -> Counter[tuple[str, str]]:
    """Returns the totals of the sums and of the counts of each key that are not zero."""
    totals: Counter[tuple[str, str]] = Counter()
    for pane in panes:
        total, count = pane.value
        totals[pane.key, "sum"] += total
        totals[pane.key, "count"] += count
    return Counter({name: number for name, number in totals.items() if number})


@law
def final_values_of_unset_modes_are_those_of_the_batch(
    engine: Interpreter, first: WindowingStrategy, second: WindowingStrategy, timeline: DenseTimeline
) -> Equation[object] | None:
    """``final_values(run(p)) = final_values(batch(p))`` for a chain of groupings whose accumulation is unset.

    Groups that become empty have no final value.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: SEMANTICS 7 and 11.

    Relied on by: pipelines that leave accumulation unset.
    """
    if timeline.watermark != MAX_TIME:
        return None
    lists = lists_of_even_sums(first, second)
    stream, batch = (
        engine.run(lists, {READINGS: timeline}),
        flowalg_reference.run_batch(lists, {READINGS: timeline.elements}),
    )
    return Equation(final_values(stream.panes), batch.final_values())


@law
def final_values_of_a_filtered_grouping_are_those_of_the_batch(
    engine: Interpreter, strategy: WindowingStrategy, timeline: DenseTimeline
) -> Equation[object] | None:
    """``final_values(run(p)) = final_values(batch(p))`` for a filter of the panes of a grouping with an unset mode.

    Neither a pane that the filter drops nor a window that has merged leaves an earlier pane behind.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: SEMANTICS 7.

    Relied on by: outputs whose accumulation is unset.
    """
    if timeline.watermark != MAX_TIME:
        return None
    sums = apply_windowing(VALUES, _lasting(strategy, None)).combine_per_key(Sum())
    even = sums.filter(lambda pair: pair.value % 2 == 0)
    stream = engine.run(even, {READINGS: timeline})
    batch = flowalg_reference.run_batch(even, {READINGS: timeline.elements})
    return Equation(final_values(stream.panes), batch.final_values())


@law
def a_retracted_element_leaves_no_trace(
    engine: Interpreter,
    trigger: Trigger,
    second: WindowingStrategy,
    timeline: Timeline[Reading],
    points: Points,
) -> Equation[Counter[Hashable]]:
    """Merging after an element was inserted and retracted equals never having inserted it: the same panes are current.

    Where: the input has ended, the first grouping retracts, nothing was dropped, and no merging window closed or
    expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 5.

    Relied on by: windows that merge over corrected elements.
    """
    lists = lists_of_sums(WindowingStrategy(FixedWindows(timedelta(minutes=1)), trigger), second)
    without = Timeline(tuple(instant for instant in timeline if instant.watermark < MAX_TIME))
    now = max((instant.processing_time for instant in without), default=processing_time(START)).datetime
    brought = without
    for value in (9, -9):
        brought = brought.at(now, *(Reading("a", value, point.datetime, now) for point in points))
    left, right = (engine.run(lists, {READINGS: variant.end(now)}).panes for variant in (brought, without))
    return Equation(_current(left), _current(right))


CHAIN_LAWS: tuple[Law[..., object], ...] = (
    groupings_of_groupings_converge,
    discarding_sums_of_corrected_values_add_up,
    final_values_of_unset_modes_are_those_of_the_batch,
    final_values_of_a_filtered_grouping_are_those_of_the_batch,
    a_retracted_element_leaves_no_trace,
)
