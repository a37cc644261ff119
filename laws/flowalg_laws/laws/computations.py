"""Laws of computations: a run is that of a plain loop, and order, batches and holds are as promised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from copy import deepcopy
from datetime import timedelta
from typing import Final, NewType, TypeAlias

from attrs import evolve, frozen
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    EventTime,
    FixedWindows,
    Interpreter,
    Mode,
    PCollection,
    ProcessingTime,
    Repeat,
    Sum,
    Timeline,
    event_time,
)
from flowalg.computations import Clocks, Late, ProcessingTimer, Processor, Timer, Transition
from flowalg.computations.computation import AnyComputation, require_computation
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.runs import Drop, OutputElement
from flowalg.triggers.normal_form import never_finishes
from flowalg.windows import TimestampCombiner, WindowingStrategy
from flowalg_laws.kit.computation_loop import Emitted, plain_loop
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import add_timer_instants, apply_windowing
from flowalg_laws.kit.key_histories import KeyHistory, KeyInstant, Outputs, run_history
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import (
    READINGS,
    VALUES,
    DenseTimeline,
    EndedTimeline,
    Reading,
    without_late_elements,
)
from flowalg_laws.kit.storing import stored
from flowalg_laws.strategies.computations import ECHO, SUMS_OF_FIVE, TOTAL

_HOUR: Final = 3_600_000_000

Values: TypeAlias = PCollection[KV[str, int]]
AComputation: TypeAlias = Processor[str, int, int]
EventTimeComputation = NewType("EventTimeComputation", Processor[str, int, int])
"""A computation that does not depend on processing time."""


def _emitted(elements: Iterable[OutputElement[KV[str, int]]]) -> list[Emitted]:
    return sorted(
        (element.processing_time, element.event_time, element.key, element.value) for element in elements
    )


def _is_beyond_horizon(times: Iterable[EventTime], watermarks: Iterable[EventTime]) -> bool:
    """Returns whether a watermark before the end of the input is beyond the greatest event time."""
    latest = max(times, default=MIN_TIME)
    return any(latest < watermark < MAX_TIME for watermark in watermarks)


def _at_event_times(elements: Iterable[OutputElement[KV[str, int]]]) -> Counter[object]:
    return Counter((element.event_time, element.element) for element in elements)


@law
def a_computation_is_a_plain_loop(
    engine: Reference, computation: AComputation, timeline: Timeline[Reading]
) -> Equation[list[Emitted]]:
    """A computation emits what a plain loop over the instants of each key emits: elements by event time and value, then
    the timers of event time that are due, then those of processing time.

    Source: SEMANTICS 17; MillWheel 4.

    Relied on by: everything that is built of computations.
    """
    run = engine.run(VALUES.process(computation), {READINGS: timeline})
    instants = timeline if engine.mode is Mode.MICRO_BATCH else add_timer_instants(timeline, run)
    checked = require_computation("computation", computation)
    return Equation(_emitted(run.elements), sorted(plain_loop(checked, instants)))


@law
def a_computation_in_order_is_a_plain_loop(
    engine: Reference, computation: EventTimeComputation, timeline: Timeline[Reading]
) -> Equation[list[Emitted]]:
    """In order, an element is observed when the watermark has passed it, after the timers that are due at its time.

    Source: SEMANTICS 17.

    Relied on by: agreement of batches and streams.
    """
    run = engine.run(VALUES.process(computation, in_order=True), {READINGS: timeline})
    checked = require_computation("computation", computation)
    return Equation(_emitted(run.elements), sorted(plain_loop(checked, timeline, in_order=True)))


@law
def a_computation_that_drops_late_elements_is_a_plain_loop(
    engine: Reference, computation: EventTimeComputation, timeline: Timeline[Reading]
) -> Equation[list[Emitted]]:
    """With ``Late.DROP`` a computation observes the elements that are not behind the watermark.

    Source: SEMANTICS 17; MillWheel 3.2.

    Relied on by: results that must not change once the watermark has passed.
    """
    run = engine.run(VALUES.process(computation, late=Late.DROP), {READINGS: timeline})
    checked = require_computation("computation", computation)
    return Equation(_emitted(run.elements), sorted(plain_loop(checked, timeline, drops=True)))


@law
def a_copy_that_arrives_later_is_not_emitted(
    engine: Interpreter, within: timedelta, timeline: Timeline[Reading]
) -> Equation[object] | None:
    """``run(deduplicate(s + copies)) = run(deduplicate(s))``: copies of elements may arrive at any time after them.

    Where: elements of one id have one event time, as copies of one element do.

    Source: MillWheel 6.1.2; SEMANTICS 17.

    Relied on by: sources that deliver records again.
    """
    if not timedelta(0) < within:
        return None
    firsts = READINGS.deduplicate(by=lambda reading: (reading.key, reading.at), within=within)
    delivered: tuple[Reading, ...] = ()
    again = []
    for instant in timeline:
        again.append(evolve(instant, elements=(*instant.elements, *delivered)))
        delivered += instant.elements
    with_copies, without = (
        engine.run(firsts, {READINGS: variant}).elements for variant in (Timeline(tuple(again)), timeline)
    )
    return Equation(with_copies, without)


@law
def in_order_the_outputs_are_those_of_the_batch(
    engine: Interpreter, computation: EventTimeComputation, timeline: EndedTimeline
) -> Equation[Counter[object]] | None:
    """In order, the outputs are a function of the set of elements: a stream emits what the batch emits.

    Where: the input has ended, nothing was dropped, no watermark before the end is beyond the horizon, and the
    computation does not depend on processing time.

    Source: SEMANTICS 17 (the in-order theorem).

    Relied on by: backfills, and tests of computations.
    """
    times = (event_time(reading.at) for reading in timeline.elements)
    if _is_beyond_horizon(times, (instant.watermark for instant in timeline)):
        return None
    pipeline = VALUES.process(computation, in_order=True)
    run = engine.run(pipeline, {READINGS: timeline})
    batch = ReferenceBatch().run(VALUES.process(computation), {READINGS: timeline})
    if run.dropped:
        return None
    return Equation(_at_event_times(run.elements), _at_event_times(batch.elements))


@law
def the_outputs_of_a_replay_are_equal(
    engine: Interpreter, computation: AComputation, timeline: Timeline[Reading]
) -> Equation[object]:
    """Two runs over one timeline have equal outputs and drops.

    Source: SEMANTICS 17.

    Relied on by: recovery from a checkpoint, which runs instants again.
    """
    first, second = (engine.run(VALUES.process(computation), {READINGS: timeline}) for _ in range(2))
    return Equation[object]((first.elements, first.dropped), (second.elements, second.dropped))


@law
def elements_of_an_instant_have_no_order(
    engine: Interpreter, computation: AComputation, timeline: Timeline[Reading]
) -> Equation[list[Emitted]]:
    """The outputs do not depend on the order of the elements in an instant.

    Source: SEMANTICS 17.

    Relied on by: engines, which have no such order.
    """
    reverse = evolve(
        timeline,
        instants=tuple(evolve(instant, elements=instant.elements[::-1]) for instant in timeline.instants),
    )
    pipeline = VALUES.process(computation)
    forward, backward = (engine.run(pipeline, {READINGS: variant}) for variant in (timeline, reverse))
    return Equation(_emitted(forward.elements), _emitted(backward.elements))


@law
def a_computation_after_a_filter_by_key_is_filtered_by_key(
    engine: Interpreter, computation: AComputation, timeline: Timeline[Reading]
) -> Equation[list[Emitted]]:
    """``filter(key).process(c) = process(c).filter(key)``: the outputs of a key depend on its elements alone.

    Source: SEMANTICS 17.

    Relied on by: the division of keys among shards.
    """
    first = VALUES.filter(lambda pair: pair.key == "a").process(computation)
    last = VALUES.process(computation).filter(lambda pair: pair.key == "a")
    before, after = (engine.run(pipeline, {READINGS: timeline}) for pipeline in (first, last))
    return Equation(_emitted(before.elements), _emitted(after.elements))


@law
def every_element_is_observed_or_dropped(
    engine: Interpreter, late: Late, timeline: EndedTimeline
) -> Equation[tuple[int, int]]:
    """Every element is observed by a computation, or dropped and counted, exactly once; also in order.

    Where: the input has ended.

    Source: SEMANTICS 17 (conservation).

    Relied on by: the counts of drops.
    """

    def accounted(drops: Iterable[Drop], elements: Iterable[object]) -> int:
        return sum(drop.count for drop in drops) + sum(1 for _ in elements)

    arriving = engine.run(VALUES.process(ECHO, late=late), {READINGS: timeline})
    in_order = engine.run(VALUES.process(ECHO, in_order=True), {READINGS: timeline})
    number = len(timeline.elements)
    return Equation(
        (accounted(arriving.dropped, arriving.elements), accounted(in_order.dropped, in_order.elements)),
        (number, number),
    )


@law
def outputs_are_not_late_by_themselves(
    engine: Reference, computation: AComputation, timeline: Timeline[Reading]
) -> Equation[list[object]]:
    """No output is behind the watermark that the computation has propagated, as long as no element is late: what it
    holds back, it holds.

    Where: no element is behind the watermark before its instant.

    Source: SEMANTICS 17; MillWheel 3.2 and 4.4 (the low watermark).

    Relied on by: groupings and computations after a computation.
    """
    run = engine.run(VALUES.process(computation), {READINGS: without_late_elements(timeline)})
    times = [MIN_TIME, *(reading.output for reading in run.watermarks)]
    watermark_at: dict[ProcessingTime, EventTime] = {}
    for reading, propagated in zip(run.watermarks, times, strict=False):
        watermark_at.setdefault(reading.processing_time, propagated)
    late: list[object] = [
        element for element in run.elements if element.event_time < watermark_at[element.processing_time]
    ]
    return Equation(late, [])


@law
def fixed_windows_are_a_computation(
    engine: Interpreter, timeline: Timeline[Reading]
) -> Equation[Counter[object]]:
    """A computation with a timer at the end of each window emits the sums of fixed windows, late corrections included.

    Where: each late element corrects its window in its own instant, as a computation with one timer for each window
    does.

    Source: SEMANTICS 5 and 17.

    Relied on by: trust in both.
    """
    run = engine.run(VALUES.process(SUMS_OF_FIVE), {READINGS: timeline})
    windows = FixedWindows(timedelta(minutes=5))
    panes = engine.run(
        VALUES.window(windows, accumulation=Accumulation.DISCARDING).combine_per_key(Sum()),
        {READINGS: timeline},
    ).panes
    ended = [pane for pane in panes if pane.window.end <= timeline.watermark]
    return Equation(
        Counter(
            (element.processing_time, min(element.event_time, MAX_TIME), element.element)
            for element in run.elements
        ),
        Counter((pane.processing_time, pane.window.end, pane.element) for pane in ended),
    )


def _corrected(strategy: WindowingStrategy) -> Values:
    """Returns sums of five minutes that retract."""
    retracting = evolve(
        strategy, windows=FixedWindows(timedelta(minutes=5)), accumulation=Accumulation.RETRACTING
    )
    return apply_windowing(VALUES, evolve(retracting, allowed_lateness=FOREVER)).combine_per_key(Sum())


@law
def a_computation_that_subtracts_ends_with_the_values_that_are_left(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[object] | None:
    """A computation with ``on_retraction`` has the current values in the end, whatever was retracted before.

    Where: the input has ended.

    Source: SEMANTICS 2 and 17.

    Relied on by: computations after groupings that correct themselves.
    """
    if not never_finishes(strategy.trigger):
        return None
    run = engine.run(_corrected(strategy).process(TOTAL), {READINGS: timeline})
    sums: Counter[str] = Counter()
    for reading in timeline.elements:
        sums[reading.key] += reading.value
    return Equation[object]({element.key: element.value for element in run.elements}, dict(sums))


@law
def corrections_before_the_watermark_are_not_observed_in_order(
    engine: Interpreter, strategy: WindowingStrategy, timeline: EndedTimeline
) -> Equation[Counter[object]] | None:
    """A computation in order observes the values that are current when the watermark passes them: those of the batch.

    Where: the input has ended, and nothing was dropped.

    Source: SEMANTICS 17.

    Relied on by: computations in order after groupings with early panes, which need no ``on_retraction``.
    """
    pipeline = _corrected(strategy).process(ECHO, in_order=True)
    run = engine.run(pipeline, {READINGS: timeline})
    if run.dropped:
        return None
    batch = ReferenceBatch().run(pipeline, {READINGS: timeline})
    return Equation(_at_event_times(run.elements), _at_event_times(batch.elements))


@law
def a_retraction_before_the_watermark_is_not_late(
    engine: Interpreter, strategy: WindowingStrategy, timeline: DenseTimeline
) -> Equation[tuple[Drop, ...]]:
    """A computation in order drops nothing of the panes of a grouping that corrects itself: a retraction comes before
    the watermark has passed its element, and both are gone.

    Where: no element is behind the watermark before its instant, the trigger repeats, and panes have the end of their
    window as event time.

    Source: SEMANTICS 9 and 17.

    Relied on by: computations in order after groupings with early panes, which need no ``on_retraction``.
    """
    repeating = evolve(
        strategy,
        trigger=Repeat(strategy.trigger),
        timestamp_combiner=TimestampCombiner.END_OF_WINDOW,
    )
    observed = _corrected(repeating).process(ECHO, in_order=True)
    run = engine.run(observed, {READINGS: without_late_elements(timeline)})
    return Equation(run.dropped, ())


@frozen
class _Call:
    """A call of a function of a computation: what it received, and a copy of its state from before."""

    event: object
    state: object
    copy: object
    transition: Transition[object, object]


def _watched(computation: AnyComputation, calls: list[_Call], *, stores: bool = False) -> AnyComputation:
    """Returns a computation whose calls are recorded; with ``stores`` its states are stored between calls."""

    def watch(f: Callable[..., Transition[object, object]]) -> Callable[..., Transition[object, object]]:
        def call(state: object, event: object, clocks: Clocks) -> Transition[object, object]:
            before = deepcopy(state)
            received = stored(f"a state of {computation.title}", state) if stores else state
            transition = f(received, event, clocks)
            calls.append(_Call(event, received, before, transition))
            return transition

        return call

    return evolve(
        computation,
        on_element=watch(computation.on_element),
        on_timer=computation.on_timer and watch(computation.on_timer),
        on_retraction=computation.on_retraction and watch(computation.on_retraction),
    )


@law
def a_computation_is_deterministic(computation: AComputation, history: KeyHistory) -> Equation[object]:
    """Two runs of a computation over one history have the same transitions, the same outputs and the same state.

    Source: SEMANTICS 17.

    Relied on by: recovery from a checkpoint, which runs instants again.
    """
    checked = require_computation("computation", computation)

    def run() -> object:
        outcome, calls = (
            run_history(checked, history),
            list[_Call](),
        )  # first as it is, for the names in errors
        run_history(_watched(checked, calls), history)
        return outcome, [call.transition for call in calls]

    return Equation(run(), run())


@law
def states_can_be_stored(computation: AComputation, history: KeyHistory) -> Equation[Outputs]:
    """A computation whose states are stored and read again before each transition has the same outputs.

    Source: SEMANTICS 17.

    Relied on by: the state of streams.
    """
    checked = require_computation("computation", computation)
    copied = run_history(_watched(checked, [], stores=True), history)
    return Equation(run_history(checked, history).outputs, copied.outputs)


@law
def states_are_not_modified(computation: AComputation, history: KeyHistory) -> Equation[list[object]]:
    """No function modifies the state that it receives: a transition returns another one.

    Source: SEMANTICS 17: a failed transition leaves the state unchanged.

    Relied on by: retries, and dead letters.
    """
    calls: list[_Call] = []
    run_history(_watched(require_computation("computation", computation), calls), history)
    return Equation([call.state for call in calls], [call.copy for call in calls])


@law
def timers_fire_in_order_and_once(
    computation: AComputation, history: KeyHistory
) -> Equation[list[Timer]] | None:
    """A timer that fires is set; it is the first one that is due, of event time before processing time, by time and
    tag; and it does not fire again unless it is set again.

    Source: SEMANTICS 17; MillWheel 4.5.

    Relied on by: computations with several timers.
    """
    calls: list[_Call] = []
    run_history(_watched(require_computation("computation", computation), calls), history)
    pending: dict[str, Timer] = {}
    fired, first = list[Timer](), list[Timer]()
    for call in calls:
        if isinstance(call.event, Timer):
            kind = type(call.event)
            fired.append(call.event)
            of_kind = [timer for timer in pending.values() if isinstance(timer, kind)]
            first.append(min(of_kind, key=lambda timer: (timer.at, timer.tag)))
            pending.pop(call.event.tag)
        for tag in call.transition.clear:
            pending.pop(tag, None)
        pending.update({timer.tag: timer for timer in call.transition.set})
        if call.transition.state is None:
            pending = {}
    return Equation(fired, first)


@law
def a_commutative_computation_does_not_depend_on_bundles(
    computation: AComputation, history: KeyHistory
) -> Equation[object] | None:
    """If a computation is ``commutative``, elements may come one by one, in any order, at the same clocks: the outputs
    and the state are the same.

    Where: the computation is declared commutative, the elements are on time, none is retracted, and no timer of
    processing time fires. So no timer fires between the elements.

    Source: SEMANTICS 17.

    Relied on by: the readers of a computation, who need not think about the order of elements.
    """
    checked = require_computation("computation", computation)
    if not checked.commutative or _retracts(history):
        return None
    bundled, single, before = list[KeyInstant](), list[KeyInstant](), MIN_TIME
    for instant in history:
        on_time = tuple(element for element in instant.elements if element[1] > before)
        bundled.append(KeyInstant(instant.processing_time, on_time, before))
        single += [KeyInstant(instant.processing_time, (element,), before) for element in on_time[::-1]]
        for instants in (bundled, single):
            instants.append(evolve(instant, elements=()))
        before = instant.watermark
    calls: list[_Call] = []
    together, one_by_one = run_history(checked, bundled), run_history(_watched(checked, calls), single)
    if any(isinstance(call.event, ProcessingTimer) for call in calls):
        return None
    return Equation[object](
        *(
            (Counter(repr(output) for outputs in run.outputs for output in outputs), run.state)
            for run in (together, one_by_one)
        )
    )


@law
def in_order_the_division_into_instants_has_no_effect(
    computation: AComputation, history: KeyHistory
) -> Equation[list[str]] | None:
    """In order, the outputs of a computation are those of all its elements in one instant.

    Where: the input has ended, nothing was dropped or retracted, no watermark before the end is beyond the horizon, and
    the computation does not depend on processing time.

    Source: SEMANTICS 17 (the in-order theorem).

    Relied on by: agreement of batches and streams.
    """
    checked = require_computation("computation", computation)
    elements = tuple(element for instant in history for element in instant.elements)
    if not history or history[-1].watermark != MAX_TIME or _retracts(history):
        return None
    if _is_beyond_horizon((point for _, point in elements), (instant.watermark for instant in history)):
        return None
    calls: list[_Call] = []
    run = run_history(_watched(checked, calls), history, in_order=True)
    later = [
        evolve(instant, processing_time=ProcessingTime(instant.processing_time + _HOUR))
        for instant in history
    ]
    depends_on_clock = run_history(checked, later, in_order=True).outputs != run.outputs
    if run.drops or depends_on_clock or any(_sets_clock(call.transition) for call in calls):
        return None
    batch = run_history(checked, [evolve(history[-1], elements=elements)], in_order=True)
    return Equation(
        *([repr(output) for outputs in outcome.outputs for output in outputs] for outcome in (run, batch))
    )


def _retracts(history: KeyHistory) -> bool:
    return any(instant.retracted for instant in history)


def _sets_clock(transition: Transition[object, object]) -> bool:
    return any(isinstance(timer, ProcessingTimer) for timer in transition.set)


USER_COMPUTATION_LAWS: tuple[Law[[AComputation, KeyHistory], object], ...] = (
    a_computation_is_deterministic,
    states_can_be_stored,
    states_are_not_modified,
    timers_fire_in_order_and_once,
    a_commutative_computation_does_not_depend_on_bundles,
    in_order_the_division_into_instants_has_no_effect,
)
"""The laws that ``check_computation`` tests."""

COMPUTATION_LAWS: tuple[Law[..., object], ...] = (
    a_computation_is_a_plain_loop,
    a_computation_in_order_is_a_plain_loop,
    a_computation_that_drops_late_elements_is_a_plain_loop,
    a_copy_that_arrives_later_is_not_emitted,
    in_order_the_outputs_are_those_of_the_batch,
    the_outputs_of_a_replay_are_equal,
    elements_of_an_instant_have_no_order,
    a_computation_after_a_filter_by_key_is_filtered_by_key,
    every_element_is_observed_or_dropped,
    outputs_are_not_late_by_themselves,
    fixed_windows_are_a_computation,
    a_computation_that_subtracts_ends_with_the_values_that_are_left,
    corrections_before_the_watermark_are_not_observed_in_order,
    a_retraction_before_the_watermark_is_not_late,
    *USER_COMPUTATION_LAWS,
)
"""The laws of computations."""
