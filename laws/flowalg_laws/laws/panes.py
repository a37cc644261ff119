"""Laws of panes: properties of every run, for all windows, triggers and modes.

They are stated over an interpreter, so they can test any interpreter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from datetime import timedelta
from typing import TypeAlias, TypeVar

import flowalg_reference
from attrs import evolve
from flowalg_reference import Reference

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    Count,
    Interpreter,
    OrFinally,
    Pane,
    PCollection,
    Repeat,
    Run,
    Timeline,
    ToList,
    Window,
)
from flowalg.data.time import event_time
from flowalg.runs import Change, DropReason, Timing
from flowalg.runs.panes import PaneInfo
from flowalg.triggers import Never, OnceTrigger, Trigger
from flowalg.windows import OnTimeBehavior, TimestampCombiner, WindowingStrategy
from flowalg.windows.window_functions import as_merging, assign_windows
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import CONTINUOUS, MICRO_BATCH, add_timer_instants, apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, EndedTimeline, Reading

A = TypeVar("A")

Lists: TypeAlias = PCollection[KV[str, list[int]]]
Place: TypeAlias = tuple[str, Window]
Bag: TypeAlias = tuple[int, ...]


def to_lists(strategy: WindowingStrategy) -> Lists:
    """Returns the values of each key and window as a list, under a strategy."""
    return apply_windowing(VALUES, strategy).combine_per_key(ToList())


def bag(values: Sequence[int]) -> Bag:
    """Returns the values as a bag, without order."""
    return tuple(sorted(values))


def _of_batch(strategy: WindowingStrategy, timeline: Timeline[Reading]) -> dict[Place, Bag]:
    batch = flowalg_reference.run_batch(to_lists(strategy), {READINGS: timeline.elements})
    return {(pane.key, pane.window): bag(pane.value) for pane in batch.panes}


def _under(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline, mode: Accumulation
) -> tuple[WindowingStrategy, Run[KV[str, list[int]]]] | None:
    """Runs a strategy in a mode; ``None`` if the run violates the condition of the theorem of section 11."""
    lateness = FOREVER if as_merging(strategy.windows) else strategy.allowed_lateness
    trigger = Repeat(strategy.trigger) if as_merging(strategy.windows) else strategy.trigger
    chosen = evolve(strategy, accumulation=mode, allowed_lateness=lateness, trigger=trigger)
    done = engine.run(to_lists(chosen), {READINGS: timeline})
    return None if done.dropped else (chosen, done)


@law
def the_last_accumulating_pane_is_the_batch_pane(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[dict[Place, Bag]] | None:
    """``last(panes(w)) = batch(w)`` for every window ``w`` of the batch, under ACCUMULATING.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 11.

    Relied on by: Spark batch, which runs no trigger.
    """
    outcome = _under(engine, strategy, timeline, Accumulation.ACCUMULATING)
    if outcome is None:
        return None
    chosen, done = outcome
    batch = _of_batch(chosen, timeline)
    last = {(pane.key, pane.window): bag(pane.value) for pane in done.panes}
    return Equation({place: last.get(place, ()) for place in batch}, batch)


@law
def the_discarding_panes_merge_to_the_batch_pane(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[dict[Place, Bag]] | None:
    """``merge(panes(w)) = batch(w)`` under DISCARDING, the panes of windows that merged into ``w`` included.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 11.

    Relied on by: Spark batch, which runs no trigger; sinks that add panes up.
    """
    outcome = _under(engine, strategy, timeline, Accumulation.DISCARDING)
    if outcome is None:
        return None
    chosen, done = outcome
    batch = _of_batch(chosen, timeline)
    merged: dict[Place, list[int]] = {place: [] for place in batch}
    for pane in done.panes:
        for key, window in batch:
            inside = window.start <= pane.window.start and pane.window.end <= window.end
            if key == pane.key and (pane.window == window or (inside and as_merging(chosen.windows))):
                merged[key, window].extend(pane.value)
    return Equation({place: bag(values) for place, values in merged.items()}, batch)


@law
def the_current_pane_is_the_batch_pane(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[Hashable]] | None:
    """Under RETRACTING, the panes that are not retracted are exactly the panes of the batch.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 11.

    Relied on by: every grouping downstream of one that retracts.
    """
    outcome = _under(engine, strategy, timeline, Accumulation.RETRACTING)
    if outcome is None:
        return None
    chosen, done = outcome
    current: Counter[Hashable] = Counter()
    for pane in done.panes:
        current[pane.key, pane.window, bag(pane.value)] += 1 if pane.change is Change.VALUE else -1
    batch: Counter[Hashable] = Counter(
        {(*place, values): 1 for place, values in _of_batch(chosen, timeline).items()}
    )
    return Equation(Counter({place: n for place, n in current.items() if n}), batch)


@law
def every_element_is_accounted_for_once(
    engine: Reference, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[Hashable]]:
    """``emitted + dropped = assigned``, as bags of elements with their windows, under DISCARDING.

    Where: the input has ended; before that, the missing elements are buffered.

    Source: SEMANTICS 5, conservation.

    Relied on by: users who count drops.
    """
    done = engine.run(to_lists(evolve(strategy, accumulation=Accumulation.DISCARDING)), {READINGS: timeline})
    observed: Counter[Hashable] = Counter()
    for element in timeline.elements:
        observed[element.key, element.value] += len(
            assign_windows(strategy.windows, event_time(element.at), element.key, element.value)
        )
    accounted: Counter[Hashable] = Counter()
    for pane in done.panes:
        accounted.update((pane.key, value) for value in pane.value)
    accounted.update(_pair(drop.element) for drop in done.dropped)
    return Equation(accounted, Counter({pair: count for pair, count in observed.items() if count}))


def _pair(element: object) -> Hashable:
    assert isinstance(element, KV)
    return element.key, element.value


@law
def pane_timings_are_ordered(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[list[Timing]]] | None:
    """The timings of a window's panes are ``EARLY* ON_TIME? LATE*``.

    Where: windows do not merge; a window that grows by merging starts again.

    Source: SEMANTICS 7 and 13.

    Relied on by: readers of panes.
    """
    if as_merging(strategy.windows):
        return None
    timings = [[pane.timing for pane in panes] for panes in _by_window(engine, strategy, timeline)]
    once = [
        [
            timing
            for i, timing in enumerate(of_window)
            if timing is not Timing.ON_TIME or timing not in of_window[:i]
        ]
        for of_window in timings
    ]
    return Equation(timings, [sorted(of_window, key=list(Timing).index) for of_window in once])


@law
def panes_are_numbered(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[list[tuple[int, bool, bool]]]] | None:
    """The panes of a window have the indices ``0, 1, ...``; only the first ``is_first``, and only the last may be
    ``is_last``.

    Where: windows do not merge; a window whose bounds change starts again at 0.

    Source: SEMANTICS 7 and 13.
    """
    if as_merging(strategy.windows):
        return None
    numbered = [
        [(pane.index, pane.is_first, pane.is_last) for pane in panes]
        for panes in _by_window(engine, strategy, timeline)
    ]
    wanted = [
        [(n, n == 0, n + 1 == len(panes) and panes[-1][2]) for n in range(len(panes))] for panes in numbered
    ]
    return Equation(numbered, wanted)


def _by_window(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> list[list[Pane[KV[str, list[int]]]]]:
    grouped: dict[Place, list[Pane[KV[str, list[int]]]]] = defaultdict(list)
    for pane in engine.run(to_lists(strategy), {READINGS: timeline}).panes:
        if pane.change is Change.VALUE:
            grouped[pane.key, pane.window].append(pane)
    return list(grouped.values())


@law
def a_retraction_repeats_the_current_pane(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Hashable]]:
    """Under RETRACTING at most one pane of a window is current, and a retraction repeats its value, event time and
    index.

    Source: Dataflow Model, section 2.3; SEMANTICS 7.

    Relied on by: combiners that subtract, and sinks that delete.
    """
    done = engine.run(to_lists(evolve(strategy, accumulation=Accumulation.RETRACTING)), {READINGS: timeline})
    current: dict[Place, Hashable] = {}
    violations: list[Hashable] = []
    for pane in done.panes:
        place, content = (pane.key, pane.window), (tuple(pane.value), pane.event_time, pane.index)
        if pane.change is Change.RETRACTION:
            if current.pop(place, None) != content:
                violations.append(("retracts a pane that is not current", place, content))
        elif place in current:
            violations.append(("a second current pane", place, content))
        else:
            current[place] = content
    return Equation(violations, [])


@law
def panes_are_ordered(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[tuple[object, ...]]] | None:
    """Panes are ordered by instant, then window end, window start and key.

    Where: no two instants have the same clocks, so that a pane identifies its instant.

    Source: SEMANTICS 7.

    Relied on by: ``batch.run`` and ``collect``, which sort by this order.
    """
    clocks = [(instant.processing_time, instant.watermark) for instant in timeline]
    if len(set(clocks)) < len(clocks):
        return None
    emitted: list[tuple[object, ...]] = [
        (pane.processing_time, pane.watermark, pane.window, pane.key)
        for pane in engine.run(to_lists(strategy), {READINGS: timeline}).panes
        if pane.change is Change.VALUE
    ]
    return Equation(emitted, sorted(emitted))


@law
def retracting_adds_only_retractions(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Hashable]] | None:
    """The panes with values under RETRACTING are the panes under ACCUMULATING; only retractions are added.

    Where: windows do not merge; a merge retracts panes under RETRACTING, which is a change.

    Source: Dataflow Model, section 2.3; found here in this form.
    """
    if as_merging(strategy.windows):
        return None
    plain = evolve(strategy, on_time_behavior=OnTimeBehavior.IF_CHANGED)
    retracting, accumulating = (
        engine.run(to_lists(evolve(plain, accumulation=mode)), {READINGS: timeline})
        for mode in (Accumulation.RETRACTING, Accumulation.ACCUMULATING)
    )
    return Equation(
        [_content(pane) for pane in retracting.panes if pane.change is Change.VALUE],
        [_content(pane) for pane in accumulating.panes],
    )


@law
def accumulating_is_the_running_merge_of_discarding(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Hashable]] | None:
    """The n-th accumulating pane is the merge of the first n discarding panes, and is emitted at the same time.

    Where: windows do not merge, and only changed windows emit panes.

    Source: Dataflow Model, section 2.3; found here in this form.

    Relied on by: sinks that accumulate discarding panes.
    """
    if as_merging(strategy.windows):
        return None
    plain = evolve(
        strategy,
        timestamp_combiner=TimestampCombiner.END_OF_WINDOW,
        on_time_behavior=OnTimeBehavior.IF_CHANGED,
    )
    accumulating, discarding = (
        engine.run(to_lists(evolve(plain, accumulation=mode)), {READINGS: timeline})
        for mode in (Accumulation.ACCUMULATING, Accumulation.DISCARDING)
    )
    so_far: dict[Place, list[int]] = defaultdict(list)
    merged: list[Hashable] = []
    for pane in discarding.panes:
        values = so_far[pane.key, pane.window]
        values.extend(pane.value)
        merged.append((pane.key, pane.window, pane.info, bag(values)))
    return Equation(
        [(pane.key, pane.window, pane.info, bag(pane.value)) for pane in accumulating.panes], merged
    )


def _content(pane: Pane[KV[str, list[int]]]) -> Hashable:
    info: PaneInfo = pane.info
    return pane.key, pane.window, pane.event_time, info, bag(pane.value)


@law
def longer_lateness_drops_no_more(
    engine: Reference, strategy: WindowingStrategy, timeline: Timeline[Reading], longer: timedelta
) -> Equation[Counter[Hashable]] | None:
    """``expired(lateness + d)`` is contained in ``expired(lateness)``, as bags of elements.

    Where: windows do not merge, and the lateness is a duration.

    Source: found here.

    Relied on by: users who increase the allowed lateness of a running query.
    """
    lateness = strategy.allowed_lateness
    if as_merging(strategy.windows) or not isinstance(lateness, timedelta):
        return None
    short, long = (
        engine.run(to_lists(evolve(strategy, allowed_lateness=duration)), {READINGS: timeline}).dropped
        for duration in (lateness, lateness + longer)
    )
    few: Counter[Hashable] = Counter(
        _pair(drop.element) for drop in long if drop.reason is DropReason.EXPIRED
    )
    many: Counter[Hashable] = Counter(
        _pair(drop.element) for drop in short if drop.reason is DropReason.EXPIRED
    )
    return Equation(few & many, few)


@law
def a_limit_closes_when_it_is_ready(
    engine: Reference, strategy: WindowingStrategy, timeline: Timeline[Reading], t: Trigger, u: OnceTrigger
) -> Equation[Counter[Hashable]] | None:
    """``OrFinally(Repeat(t), u)`` finishes exactly when ``u`` is first ready: it drops the same elements as ``u``
    after that.

    Where: windows do not merge; a merged window restarts its trigger on its unemitted elements, which depend on ``t``.

    Source: SEMANTICS 13.

    Relied on by: ``until``, ``RepeatUntil`` and early firings.
    """
    if as_merging(strategy.windows):
        return None
    limited, alone = (
        Counter[Hashable](_pair(drop.element) for drop in run_.dropped if drop.reason is DropReason.CLOSED)
        for run_ in (
            engine.run(to_lists(evolve(strategy, trigger=trigger)), {READINGS: timeline})
            for trigger in (OrFinally(Repeat(t), u), u)
        )
    )
    return Equation(limited, alone)


@law
def nothing_is_dropped_with_unlimited_lateness(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[int]:
    """With a trigger that never finishes and an allowed lateness of FOREVER, nothing is dropped.

    Source: SEMANTICS 5.
    """
    accepting = evolve(strategy, trigger=Repeat(strategy.trigger), allowed_lateness=FOREVER)
    return Equation(len(engine.run(to_lists(accepting), {READINGS: timeline}).dropped), 0)


@law
def on_time_always_adds_on_time_panes_only(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Counter[Timed]] | None:
    """``panes(IF_CHANGED)`` and ``panes(ALWAYS)`` differ only in on-time panes, as bags of values.

    Where: windows do not merge, and the mode is accumulating.

    Source: SEMANTICS 5 and 12.
    """
    if as_merging(strategy.windows):
        return None
    plain = evolve(strategy, accumulation=Accumulation.ACCUMULATING)
    if_changed, always = (
        engine.run(to_lists(evolve(plain, on_time_behavior=choice)), {READINGS: timeline})
        for choice in (OnTimeBehavior.IF_CHANGED, OnTimeBehavior.ALWAYS)
    )
    few, many = (Counter(_timed(pane) for pane in done.panes) for done in (if_changed, always))
    added: Counter[Timed] = Counter(
        {pane: n for pane, n in (many - few).items() if pane[2] is not Timing.ON_TIME}
    )
    return Equation((few - many) + added, Counter())


@law
def on_time_always_adds_no_firings(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[tuple[object, ...]]]:
    """``panes(IF_CHANGED) = panes(ALWAYS)`` under ``AtCount(1) >> Never()`` and under ``AtCount(1)``.

    Neither trigger fires at the watermark.

    Source: SEMANTICS 5; found here in this form.
    """
    early = [evolve(strategy, trigger=trigger) for trigger in (AtCount(1) >> Never(), AtCount(1))]
    if_changed, always = (
        [
            engine.run(to_lists(evolve(variant, on_time_behavior=choice)), {READINGS: timeline}).panes
            for variant in early
        ]
        for choice in (OnTimeBehavior.IF_CHANGED, OnTimeBehavior.ALWAYS)
    )
    return Equation([*if_changed], [*always])


Timed: TypeAlias = tuple[str, Window, Timing, int, Bag]


def _timed(pane: Pane[KV[str, list[int]]]) -> Timed:
    return pane.key, pane.window, pane.timing, pane.processing_time, bag(pane.value)


@law
def a_batch_ignores_triggers(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Hashable]]:
    """In a batch all triggers, modes and allowed latenesses return the same panes: one for each window, on time.

    Source: SEMANTICS 11.

    Relied on by: Spark batch.
    """
    plain = WindowingStrategy(strategy.windows, timestamp_combiner=strategy.timestamp_combiner)
    configured, default = (
        flowalg_reference.run_batch(to_lists(chosen), {READINGS: timeline.elements}).panes
        for chosen in (strategy, plain)
    )
    return Equation([_content(pane) for pane in configured], [_content(pane) for pane in default])


@law
def final_results_do_not_depend_on_bundles(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[dict[Place, int]] | None:
    """Splitting an instant into two does not change the final counts. The first part has the previous watermark.

    Where: the input has ended, windows do not merge, and nothing was dropped either way.

    Source: SEMANTICS 13: final results do not depend on bundling.

    Relied on by: Spark streaming, whose micro-batches have arbitrary sizes.
    """
    if as_merging(strategy.windows):
        return None
    chosen = evolve(strategy, accumulation=Accumulation.ACCUMULATING)
    split: list[object] = []
    before = None
    for instant in timeline:
        half = len(instant.elements) // 2
        if half and before is not None:
            early = evolve(
                instant,
                elements=instant.elements[:half],
                watermark=before.watermark,
                percentile_watermarks=before.percentile_watermarks,
                signals=frozenset(),
            )
            split += [early, evolve(instant, elements=instant.elements[half:])]
        else:
            split.append(instant)
        before = instant
    counted = apply_windowing(VALUES, chosen).combine_per_key(Count())
    whole = engine.run(counted, {READINGS: timeline})
    parts = engine.run(counted, {READINGS: Timeline(tuple(split))})  # type: ignore[arg-type]  # instants of readings
    if whole.dropped or parts.dropped:
        return None
    return Equation(
        {(pane.key, pane.window): pane.value for pane in whole.panes},
        {(pane.key, pane.window): pane.value for pane in parts.panes},
    )


@law
def elements_of_an_instant_are_unordered(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[tuple[object, ...]]:
    """Reversing the elements within each instant does not change any pane, even one with a list of values.

    Source: SEMANTICS 4: an instant is atomic; SEMANTICS 8: lists are ordered by event time and value.

    Relied on by: Spark, whose rows are unordered.
    """
    reversed_ = Timeline(tuple(evolve(instant, elements=instant.elements[::-1]) for instant in timeline))
    whole = to_lists(strategy)
    return Equation(
        engine.run(whole, {READINGS: timeline}).panes, engine.run(whole, {READINGS: reversed_}).panes
    )


@law
def continuous_is_micro_batch_with_timer_instants(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[tuple[object, ...]]:
    """``CONTINUOUS.run(T) = MICRO_BATCH.run(T')``, where ``T'`` is ``T`` with an empty instant at every deadline.

    Source: SEMANTICS 4.

    Relied on by: Spark streaming, whose timers fire in micro-batches.
    """
    whole = to_lists(strategy)
    done = CONTINUOUS.run(whole, {READINGS: timeline})
    return Equation(MICRO_BATCH.run(whole, {READINGS: add_timer_instants(timeline, done)}).panes, done.panes)


PANE_LAWS: tuple[Law[..., object], ...] = (
    the_last_accumulating_pane_is_the_batch_pane,
    the_discarding_panes_merge_to_the_batch_pane,
    the_current_pane_is_the_batch_pane,
    every_element_is_accounted_for_once,
    pane_timings_are_ordered,
    panes_are_numbered,
    a_retraction_repeats_the_current_pane,
    panes_are_ordered,
    retracting_adds_only_retractions,
    accumulating_is_the_running_merge_of_discarding,
    longer_lateness_drops_no_more,
    a_limit_closes_when_it_is_ready,
    nothing_is_dropped_with_unlimited_lateness,
    on_time_always_adds_on_time_panes_only,
    on_time_always_adds_no_firings,
    a_batch_ignores_triggers,
    final_results_do_not_depend_on_bundles,
    elements_of_an_instant_are_unordered,
    continuous_is_micro_batch_with_timer_instants,
)
"""All laws of panes."""
