"""Laws of joins: what their panes add up to.

The readings of one timeline are joined with those of even value, so that values have no match, one or several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TypeAlias, TypeVar

import flowalg_reference
from attrs import evolve

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    Count,
    GlobalWindows,
    Interpreter,
    Pane,
    PCollection,
    Repeat,
    Timeline,
    final_values,
    flatten,
)
from flowalg.runs import Change
from flowalg.windows import WindowingStrategy
from flowalg.windows.window_functions import as_merging
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, EndedTimeline, Reading

B = TypeVar("B")

Joined: TypeAlias = PCollection[KV[str, tuple[int | None, int | None]]]
EVEN: PCollection[KV[str, int]] = VALUES.filter(lambda pair: pair.value % 2 == 0)
SMALL: PCollection[KV[str, int]] = VALUES.filter(lambda pair: pair.value < 3)


def inner(strategy: WindowingStrategy) -> Joined:
    """Returns the readings joined with those of even value."""
    joined = apply_windowing(VALUES, strategy).inner_join(apply_windowing(EVEN, strategy))
    return joined.map_values(lambda pair: pair, result=tuple[int | None, int | None])


def sums_of_pairs(strategy: WindowingStrategy) -> PCollection[KV[str, int]]:
    """Returns the sum of each pair of ``inner``."""
    joined = apply_windowing(VALUES, strategy).inner_join(apply_windowing(EVEN, strategy))
    return joined.map_values(sum, result=int)


def full(strategy: WindowingStrategy) -> Joined:
    """Returns the small readings joined with those of even value."""
    return apply_windowing(SMALL, strategy).full_join(apply_windowing(EVEN, strategy))


def _pairs(panes: Iterable[Pane[B]], *, merged: bool) -> Counter[Hashable]:
    """Returns the elements as a bag, less those that are retracted; with their windows, unless these merge."""
    bag: Counter[Hashable] = Counter()
    for pane in panes:
        weight = 1 if pane.change is Change.VALUE else -1
        bag[(pane.element, None if merged else pane.window)] += weight
    return Counter({place: count for place, count in bag.items() if count})


def _total_and_batch(
    engine: Interpreter,
    pipeline: PCollection[B],
    timeline: Timeline[Reading],
    *,
    merged: bool,
    expected: PCollection[B] | None = None,
) -> Equation[Counter[Hashable]] | None:
    run = engine.run(pipeline, {READINGS: timeline})
    if run.dropped:
        return None
    batch = flowalg_reference.run_batch(
        pipeline if expected is None else expected, {READINGS: timeline.elements}
    )
    return Equation(_pairs(run.panes, merged=merged), _pairs(batch.panes, merged=merged))


def _endless(strategy: WindowingStrategy, mode: Accumulation) -> WindowingStrategy:
    """Returns the strategy in a mode; merging windows neither close nor expire."""
    if as_merging(strategy.windows) is None:
        return evolve(strategy, accumulation=mode)
    return evolve(strategy, accumulation=mode, allowed_lateness=FOREVER, trigger=Repeat(strategy.trigger))


@law
def discarding_joins_emit_each_pair_once(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[Hashable]] | None:
    """Under DISCARDING, all panes of an inner join together are the bag of the pairs of the batch.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 14.

    Relied on by: joins without windows, whose panes are the new pairs.
    """
    chosen = _endless(strategy, Accumulation.DISCARDING)
    merged = as_merging(strategy.windows) is not None
    return _total_and_batch(engine, inner(chosen), timeline, merged=merged)


@law
def retracting_joins_converge(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[Hashable]] | None:
    """Under RETRACTING, the pairs of a full join that are not retracted are the pairs of the batch.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 14.

    Relied on by: outer joins, whose pairs with ``None`` are retracted when a match arrives.
    """
    chosen = _endless(strategy, Accumulation.RETRACTING)
    return _total_and_batch(engine, full(chosen), timeline, merged=False)


@law
def pairs_are_windowed_where_they_happened(
    engine: Interpreter, first: WindowingStrategy, second: WindowingStrategy, timeline: EndedTimeline
) -> Equation[object]:
    """Counts of the pairs of a join in other windows are those of the batch, by any event time of the pairs.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: SEMANTICS 11 and 14.

    Relied on by: windows after a join without windows, whose own window has no end.
    """
    joined = sums_of_pairs(_endless(_lasting(first), Accumulation.RETRACTING))
    counted = apply_windowing(joined, _endless(_lasting(second), Accumulation.RETRACTING)).combine_per_key(
        Count()
    )
    stream = engine.run(counted, {READINGS: timeline})
    batch = flowalg_reference.run_batch(counted, {READINGS: timeline.elements})
    return Equation(final_values(stream.panes), batch.final_values())


@law
def new_pairs_are_windowed_where_they_happened(
    engine: Interpreter, first: WindowingStrategy, second: WindowingStrategy, timeline: EndedTimeline
) -> Equation[object]:
    """As pairs that are retracted, for the discarding panes of a join without windows.

    Where: the input has ended, and nothing was dropped.

    Source: SEMANTICS 11 and 14.

    Relied on by: windows after the usual join of two streams.
    """
    without_windows = evolve(_lasting(first), windows=GlobalWindows(), accumulation=Accumulation.DISCARDING)
    counted = apply_windowing(
        sums_of_pairs(without_windows), _endless(_lasting(second), Accumulation.RETRACTING)
    ).combine_per_key(Count())
    stream = engine.run(counted, {READINGS: timeline})
    batch = flowalg_reference.run_batch(counted, {READINGS: timeline.elements})
    return Equation(final_values(stream.panes), batch.final_values())


@law
def discarding_semi_joins_emit_each_value_once(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[Hashable]] | None:
    """Under DISCARDING, all panes of a semi join together are the left values of the batch that have a match.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 14.

    Relied on by: semi joins without windows, whose panes are the new left values.
    """
    chosen = _endless(strategy, Accumulation.DISCARDING)
    semi = apply_windowing(VALUES, chosen).semi_join(apply_windowing(EVEN, chosen))
    return _total_and_batch(engine, semi, timeline, merged=as_merging(strategy.windows) is not None)


@law
def semi_and_anti_joins_are_the_left_collection(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[object]:
    """The values of a semi join and those of an anti join together are the left collection, in its windows.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired. The windows of the right
    collection merge none of the left.

    Source: SEMANTICS 14.

    Relied on by: splitting a collection by whether there is a match.
    """
    chosen = _endless(_lasting(strategy), Accumulation.RETRACTING)
    left, right = apply_windowing(VALUES, chosen), apply_windowing(EVEN, chosen)
    both = flatten(left.semi_join(right), left.anti_join(right))
    run = engine.run(_listed(both), {READINGS: timeline})
    batch = flowalg_reference.run_batch(_listed(left), {READINGS: timeline.elements})
    return Equation(final_values(run.panes), batch.final_values())


def _listed(values: PCollection[KV[str, int]]) -> PCollection[KV[str, list[int]]]:
    return values.group_by_key().map_values(sorted, result=list[int])


@law
def a_difference_undoes_a_union(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[Hashable]] | None:
    """``flatten(a, b).except_(b)`` has the elements of ``a``.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: SEMANTICS 14.

    Relied on by: taking back what has been added.
    """
    chosen = _endless(strategy, Accumulation.RETRACTING)
    small, even = _elements(SMALL, chosen), _elements(EVEN, chosen)
    merged = as_merging(strategy.windows) is not None
    difference = flatten(small, even).except_(even)
    return _total_and_batch(engine, difference, timeline, merged=merged, expected=_regrouped(small))


def _elements(values: PCollection[KV[str, int]], strategy: WindowingStrategy) -> PCollection[int]:
    return apply_windowing(values.map(lambda pair: pair.value), strategy)


def _regrouped(values: PCollection[int]) -> PCollection[int]:
    """Returns the same elements in panes: those of a co-group by the element, in a batch."""
    return values.key_by(lambda value: value).group_by_key().flat_map(lambda group: group.value)


@law
def nothing_takes_away_nothing(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[Hashable]] | None:
    """``a.except_(b)`` has the elements of ``a`` if ``b`` is empty.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: SEMANTICS 14.

    Relied on by: the difference of bags, whose right unit is the empty bag.
    """
    chosen = _endless(strategy, Accumulation.RETRACTING)
    values = _elements(VALUES, chosen)
    difference = values.except_(values.filter(lambda value: False))
    return _total_and_batch(engine, difference, timeline, merged=False, expected=_regrouped(values))


@law
def a_collection_takes_itself_away(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[Hashable]] | None:
    """``a.except_(a)`` is empty.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: SEMANTICS 14.

    Relied on by: comparing two collections by their differences.
    """
    chosen = _endless(strategy, Accumulation.RETRACTING)
    values = _elements(VALUES, chosen)
    run = engine.run(values.except_(values), {READINGS: timeline})
    return None if run.dropped else Equation(_pairs(run.panes, merged=False), Counter())


def _lasting(strategy: WindowingStrategy) -> WindowingStrategy:
    return evolve(strategy, allowed_lateness=FOREVER, trigger=Repeat(strategy.trigger))


JOIN_LAWS: tuple[Law[..., object], ...] = (
    discarding_joins_emit_each_pair_once,
    retracting_joins_converge,
    pairs_are_windowed_where_they_happened,
    new_pairs_are_windowed_where_they_happened,
    discarding_semi_joins_emit_each_value_once,
    semi_and_anti_joins_are_the_left_collection,
    a_difference_undoes_a_union,
    nothing_takes_away_nothing,
    a_collection_takes_itself_away,
)
"""The laws of joins."""
