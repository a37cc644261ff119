"""The laws of panes: what an interpreter's runs have in common, whatever the windows, the trigger and the mode.

Each is a function of the interpreter as well, so that they speak of anybody's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from datetime import timedelta
from typing import TypeAlias, TypeVar

import flowalg_reference
from attrs import evolve
from flowalg_reference import ReferenceRun

from flowalg import (
    FOREVER,
    KV,
    MAX_TIME,
    Accumulation,
    AtCount,
    Change,
    Count,
    DropReason,
    Never,
    OnceTrigger,
    OnTimeBehavior,
    OrFinally,
    Pane,
    PCollection,
    Repeat,
    Timeline,
    TimestampCombiner,
    Timing,
    ToList,
    Trigger,
    Window,
    WindowingStrategy,
)
from flowalg.data.time import event_time
from flowalg.runs.panes import PaneInfo
from flowalg.windows.window_functions import as_merging
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import Interpreter, continuous, elements_of, micro_batch, put_into, refined
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, Reading

A = TypeVar("A")

Lists: TypeAlias = PCollection[KV[str, list[int]]]
Place: TypeAlias = tuple[str, Window]
Bag: TypeAlias = tuple[int, ...]


def listed(strategy: WindowingStrategy) -> Lists:
    """All values of each key and window, under a strategy."""
    return put_into(VALUES, strategy).combine_per_key(ToList())


def bag(values: Sequence[int]) -> Bag:
    """Values as a bag: in no order."""
    return tuple(sorted(values))


def _ended(timeline: Timeline[Reading]) -> bool:
    return timeline.watermark == MAX_TIME


def _of_batch(strategy: WindowingStrategy, timeline: Timeline[Reading]) -> dict[Place, Bag]:
    batch = flowalg_reference.run_batch(listed(strategy), {READINGS: elements_of(timeline)})
    return {(pane.key, pane.window): bag(pane.value) for pane in batch.panes}


def _under(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], mode: Accumulation
) -> tuple[WindowingStrategy, ReferenceRun[KV[str, list[int]]]] | None:
    """The run of a strategy in a mode, if the condition of the theorem of section 11 holds for it."""
    if not _ended(timeline):
        return None
    lateness = FOREVER if as_merging(strategy.windows) else strategy.allowed_lateness
    trigger = Repeat(strategy.trigger) if as_merging(strategy.windows) else strategy.trigger
    chosen = evolve(strategy, accumulation=mode, allowed_lateness=lateness, trigger=trigger)
    done = run(listed(chosen), {READINGS: timeline})
    return None if done.dropped else (chosen, done)


@law
def the_last_accumulating_pane_is_the_batch_pane(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[dict[Place, Bag]] | None:
    """``last(panes(w)) = batch(w)`` for every window ``w`` of the batch, under ACCUMULATING.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 11.

    Relied on by: Spark batch, which runs no trigger.
    """
    found = _under(run, strategy, timeline, Accumulation.ACCUMULATING)
    if found is None:
        return None
    chosen, done = found
    batch = _of_batch(chosen, timeline)
    last = {(pane.key, pane.window): bag(pane.value) for pane in done.panes}
    return Equation({place: last.get(place, ()) for place in batch}, batch)


@law
def the_discarding_panes_merge_to_the_batch_pane(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[dict[Place, Bag]] | None:
    """``merge(panes(w)) = batch(w)`` under DISCARDING, the panes of windows that merged into ``w`` included.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 11.

    Relied on by: Spark batch, which runs no trigger; sinks that add panes up.
    """
    found = _under(run, strategy, timeline, Accumulation.DISCARDING)
    if found is None:
        return None
    chosen, done = found
    batch = _of_batch(chosen, timeline)
    merged: dict[Place, list[int]] = {place: [] for place in batch}
    for pane in done.panes:
        for key, window in batch:
            inside = window.start <= pane.window.start and pane.window.end <= window.end
            if key == pane.key and (pane.window == window or (inside and as_merging(chosen.windows))):
                merged[key, window].extend(pane.value)
    return Equation({place: bag(values) for place, values in merged.items()}, batch)


@law
def the_standing_pane_is_the_batch_pane(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Counter[Hashable]] | None:
    """Under RETRACTING, the panes that are not taken back are those of the batch, each once.

    Where: the input has ended, nothing was dropped, and no merging window closed or expired.

    Source: Dataflow Model, section 2.3; SEMANTICS 11.

    Relied on by: every grouping downstream of one that retracts.
    """
    found = _under(run, strategy, timeline, Accumulation.RETRACTING)
    if found is None:
        return None
    chosen, done = found
    standing: Counter[Hashable] = Counter()
    for pane in done.panes:
        standing[pane.key, pane.window, bag(pane.value)] += 1 if pane.change is Change.VALUE else -1
    batch: Counter[Hashable] = Counter(
        {(*place, values): 1 for place, values in _of_batch(chosen, timeline).items()}
    )
    return Equation(Counter({place: n for place, n in standing.items() if n}), batch)


@law
def every_element_is_accounted_for_once(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Counter[Hashable]] | None:
    """``emitted + dropped = observed``, as bags of elements with their windows, under DISCARDING.

    Where: the input has ended; otherwise what is missing is buffered.

    Source: SEMANTICS 5, conservation.

    Relied on by: users who count drops.
    """
    if not _ended(timeline):
        return None
    done = run(listed(evolve(strategy, accumulation=Accumulation.DISCARDING)), {READINGS: timeline})
    observed: Counter[Hashable] = Counter()
    for one in elements_of(timeline):
        observed[one.key, one.value] += len(strategy.windows.assign(event_time(one.at), one.key))
    found: Counter[Hashable] = Counter()
    for pane in done.panes:
        found.update((pane.key, value) for value in pane.value)
    found.update(_pair(drop.element) for drop in done.dropped)
    return Equation(found, Counter({one: n for one, n in observed.items() if n}))


def _pair(element: object) -> Hashable:
    assert isinstance(element, KV)
    return element.key, element.value


@law
def a_window_speaks_early_then_on_time_then_late(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[list[Timing]]] | None:
    """The timings of a window's panes are ``EARLY* ON_TIME? LATE*``.

    Where: windows do not merge; one that grows by merging starts again.

    Source: SEMANTICS 7 and 13.

    Relied on by: readers of panes.
    """
    if as_merging(strategy.windows):
        return None
    timings = [[pane.timing for pane in panes] for panes in _by_window(run, strategy, timeline)]
    once = [
        [one for i, one in enumerate(found) if one is not Timing.ON_TIME or one not in found[:i]]
        for found in timings
    ]
    return Equation(timings, [sorted(found, key=list(Timing).index) for found in once])


@law
def panes_are_numbered(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[list[tuple[int, bool, bool]]]] | None:
    """The panes of a window have the indices ``0, 1, ...``; the first is ``is_first``, the last may be ``is_last``.

    Where: windows do not merge; one whose bounds change starts again at 0.

    Source: SEMANTICS 7 and 13.
    """
    if as_merging(strategy.windows):
        return None
    found = [
        [(pane.index, pane.is_first, pane.is_last) for pane in panes]
        for panes in _by_window(run, strategy, timeline)
    ]
    wanted = [
        [(n, n == 0, n + 1 == len(panes) and panes[-1][2]) for n in range(len(panes))] for panes in found
    ]
    return Equation(found, wanted)


def _by_window(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> list[list[Pane[KV[str, list[int]]]]]:
    grouped: dict[Place, list[Pane[KV[str, list[int]]]]] = defaultdict(list)
    for pane in run(listed(strategy), {READINGS: timeline}).panes:
        if pane.change is Change.VALUE:
            grouped[pane.key, pane.window].append(pane)
    return list(grouped.values())


@law
def a_retraction_takes_back_the_pane_that_stands(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Hashable]]:
    """Under RETRACTING at most one pane of a window stands, and a retraction repeats it: value, event time and index.

    Source: Dataflow Model, section 2.3; SEMANTICS 7.

    Relied on by: combiners that subtract, and sinks that delete.
    """
    done = run(listed(evolve(strategy, accumulation=Accumulation.RETRACTING)), {READINGS: timeline})
    standing: dict[Place, Hashable] = {}
    odd: list[Hashable] = []
    for pane in done.panes:
        place, said = (pane.key, pane.window), (tuple(pane.value), pane.event_time, pane.index)
        if pane.change is Change.RETRACTION:
            if standing.pop(place, None) != said:
                odd.append(("takes back what does not stand", place, said))
        elif place in standing:
            odd.append(("stands beside another", place, said))
        else:
            standing[place] = said
    return Equation(odd, [])


@law
def panes_come_in_order(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[tuple[object, ...]]] | None:
    """Panes are ordered by instant, then window end, window start and key.

    Where: no two instants show the same clocks, so that a pane tells its instant.

    Source: SEMANTICS 7.

    Relied on by: `batch.run` and `collect`, which sort by it.
    """
    clocks = [(instant.processing_time, instant.watermark) for instant in timeline]
    if len(set(clocks)) < len(clocks):
        return None
    found: list[tuple[object, ...]] = [
        (pane.processing_time, pane.watermark, pane.window, pane.key)
        for pane in run(listed(strategy), {READINGS: timeline}).panes
        if pane.change is Change.VALUE
    ]
    return Equation(found, sorted(found))


@law
def retracting_says_what_accumulating_says(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Hashable]] | None:
    """The values under RETRACTING are the panes under ACCUMULATING: the retractions are all that is added.

    Where: windows do not merge; a merger takes back panes under RETRACTING, which is news.

    Source: Dataflow Model, section 2.3; found here in this form.
    """
    if as_merging(strategy.windows):
        return None
    plain = evolve(strategy, on_time_behavior=OnTimeBehavior.IF_CHANGED)
    one, other = (
        run(listed(evolve(plain, accumulation=mode)), {READINGS: timeline})
        for mode in (Accumulation.RETRACTING, Accumulation.ACCUMULATING)
    )
    return Equation(
        [_said(pane) for pane in one.panes if pane.change is Change.VALUE],
        [_said(pane) for pane in other.panes],
    )


@law
def accumulating_is_the_running_merge_of_discarding(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Hashable]] | None:
    """The n-th accumulating pane is the merge of the first n discarding panes, and comes at the same time.

    Where: windows do not merge, and only what has changed comes out; an unchanged on-time pane discards nothing.

    Source: Dataflow Model, section 2.3; found here in this form.

    Relied on by: sinks that accumulate what discarding panes bring.
    """
    if as_merging(strategy.windows):
        return None
    plain = evolve(
        strategy,
        timestamp_combiner=TimestampCombiner.END_OF_WINDOW,
        on_time_behavior=OnTimeBehavior.IF_CHANGED,
    )
    one, other = (
        run(listed(evolve(plain, accumulation=mode)), {READINGS: timeline})
        for mode in (Accumulation.ACCUMULATING, Accumulation.DISCARDING)
    )
    so_far: dict[Place, list[int]] = defaultdict(list)
    merged: list[Hashable] = []
    for pane in other.panes:
        held = so_far[pane.key, pane.window]
        held.extend(pane.value)
        merged.append((pane.key, pane.window, pane.info, bag(held)))
    return Equation([(pane.key, pane.window, pane.info, bag(pane.value)) for pane in one.panes], merged)


def _said(pane: Pane[KV[str, list[int]]]) -> Hashable:
    info: PaneInfo = pane.info
    return pane.key, pane.window, pane.event_time, info, bag(pane.value)


@law
def longer_lateness_drops_no_more(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], longer: timedelta
) -> Equation[Counter[Hashable]] | None:
    """``expired(lateness + d)`` is contained in ``expired(lateness)``, as bags.

    Where: windows do not merge, and the lateness is a duration.

    Source: found here.

    Relied on by: raising a lateness on a running query.
    """
    lateness = strategy.allowed_lateness
    if as_merging(strategy.windows) or not isinstance(lateness, timedelta):
        return None
    short, long = (
        run(listed(evolve(strategy, allowed_lateness=one)), {READINGS: timeline}).dropped
        for one in (lateness, lateness + longer)
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
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], t: Trigger, u: OnceTrigger
) -> Equation[Counter[Hashable]] | None:
    """``OrFinally(Repeat(t), u)`` finishes exactly when ``u`` is first ready: as closed it drops what ``u`` does.

    Where: windows do not merge; a merged window starts on what no pane has shown, which depends on ``t``.

    Source: SEMANTICS 13.

    Relied on by: `until`, `RepeatUntil` and the early firings.
    """
    if as_merging(strategy.windows):
        return None
    limited, alone = (
        Counter[Hashable](_pair(drop.element) for drop in run_.dropped if drop.reason is DropReason.CLOSED)
        for run_ in (
            run(listed(evolve(strategy, trigger=trigger)), {READINGS: timeline})
            for trigger in (OrFinally(Repeat(t), u), u)
        )
    )
    return Equation(limited, alone)


@law
def nothing_is_dropped_for_ever(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[int]:
    """With a trigger that never finishes and lateness FOREVER, nothing is dropped.

    Source: SEMANTICS 5.
    """
    welcoming = evolve(strategy, trigger=Repeat(strategy.trigger), allowed_lateness=FOREVER)
    return Equation(len(run(listed(welcoming), {READINGS: timeline}).dropped), 0)


@law
def on_time_always_adds_on_time_panes_only(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Counter[Timed]] | None:
    """``panes(IF_CHANGED)`` and ``panes(ALWAYS)`` are equal but for on-time panes, as bags of values.

    Where: windows do not merge, and the mode is accumulating.

    Source: SEMANTICS 5 and 12.
    """
    if as_merging(strategy.windows):
        return None
    plain = evolve(strategy, accumulation=Accumulation.ACCUMULATING)
    one, other = (
        run(listed(evolve(plain, on_time_behavior=choice)), {READINGS: timeline})
        for choice in (OnTimeBehavior.IF_CHANGED, OnTimeBehavior.ALWAYS)
    )
    few, many = (Counter(_timed(pane) for pane in done.panes) for done in (one, other))
    added: Counter[Timed] = Counter(
        {said: n for said, n in (many - few).items() if said[2] is not Timing.ON_TIME}
    )
    return Equation((few - many) + added, Counter())


@law
def on_time_always_waits_for_the_trigger(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[tuple[object, ...]]]:
    """``panes(IF_CHANGED) = panes(ALWAYS)`` under ``AtCount(1) >> Never()`` and under ``AtCount(1)``.

    They fire at no watermark.

    Source: SEMANTICS 5; found here in this form.
    """
    early = [evolve(strategy, trigger=trigger) for trigger in (AtCount(1) >> Never(), AtCount(1))]
    one, other = (
        [run(listed(evolve(each, on_time_behavior=choice)), {READINGS: timeline}).panes for each in early]
        for choice in (OnTimeBehavior.IF_CHANGED, OnTimeBehavior.ALWAYS)
    )
    return Equation([*one], [*other])


Timed: TypeAlias = tuple[str, Window, Timing, int, Bag]


def _timed(pane: Pane[KV[str, list[int]]]) -> Timed:
    return pane.key, pane.window, pane.timing, pane.processing_time, bag(pane.value)


@law
def a_batch_knows_no_trigger(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[list[Hashable]]:
    """In a batch every trigger, mode and lateness give the same panes: one for each window, on time.

    Source: SEMANTICS 11.

    Relied on by: Spark batch.
    """
    plain = WindowingStrategy(strategy.windows, timestamp_combiner=strategy.timestamp_combiner)
    one, other = (
        flowalg_reference.run_batch(listed(chosen), {READINGS: elements_of(timeline)}).panes
        for chosen in (strategy, plain)
    )
    return Equation([_said(pane) for pane in one], [_said(pane) for pane in other])


@law
def bundles_do_not_matter_in_the_end(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[dict[Place, int]] | None:
    """Splitting an instant in two leaves the final counts as they are; the first part has the watermark before.

    Where: the input has ended, windows do not merge, and nothing was dropped either way.

    Source: SEMANTICS 13, final results do not depend on bundling.

    Relied on by: Spark streaming, where micro-batches are as large as they happen to be.
    """
    if not _ended(timeline) or as_merging(strategy.windows):
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
    counted = put_into(VALUES, chosen).combine_per_key(Count())
    one = run(counted, {READINGS: timeline})
    other = run(counted, {READINGS: Timeline(tuple(split))})  # type: ignore[arg-type]  # instants of readings
    if one.dropped or other.dropped:
        return None
    return Equation(
        {(pane.key, pane.window): pane.value for pane in one.panes},
        {(pane.key, pane.window): pane.value for pane in other.panes},
    )


@law
def elements_of_an_instant_are_a_bag(
    run: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[tuple[object, ...]]:
    """Turning round the order of the elements within each instant changes no pane.

    Source: SEMANTICS 4, an instant is atomic.

    Relied on by: Spark, whose rows have no order.
    """
    turned = Timeline(tuple(evolve(one, elements=one.elements[::-1]) for one in timeline))
    counted = put_into(VALUES, strategy).combine_per_key(Count())
    return Equation(run(counted, {READINGS: timeline}).panes, run(counted, {READINGS: turned}).panes)


@law
def continuous_is_micro_batch_refined(
    strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[tuple[object, ...]]:
    """``continuous(T) = micro_batch(T')``, where ``T'`` has an empty instant more at every deadline.

    Source: SEMANTICS 4.

    Relied on by: Spark streaming, whose idle wake-ups are micro-batches.
    """
    whole = listed(strategy)
    woken = continuous(whole, {READINGS: timeline})
    return Equation(micro_batch(whole, {READINGS: refined(timeline, woken)}).panes, woken.panes)


PANE_LAWS: tuple[Law[..., object], ...] = (
    the_last_accumulating_pane_is_the_batch_pane,
    the_discarding_panes_merge_to_the_batch_pane,
    the_standing_pane_is_the_batch_pane,
    every_element_is_accounted_for_once,
    a_window_speaks_early_then_on_time_then_late,
    panes_are_numbered,
    a_retraction_takes_back_the_pane_that_stands,
    panes_come_in_order,
    retracting_says_what_accumulating_says,
    accumulating_is_the_running_merge_of_discarding,
    longer_lateness_drops_no_more,
    a_limit_closes_when_it_is_ready,
    nothing_is_dropped_for_ever,
    on_time_always_adds_on_time_panes_only,
    on_time_always_waits_for_the_trigger,
    a_batch_knows_no_trigger,
    bundles_do_not_matter_in_the_end,
    elements_of_an_instant_are_a_bag,
    continuous_is_micro_batch_refined,
)
"""Every law of panes."""

__all__ = ["PANE_LAWS", "bag", "listed"]
