"""The trigger automaton over tables, compared with the reference row by row, before there are panes.

The tests catch faults of the compiled trigger: what it observes, when it is ready, what firing resets, and the next
deadline. They cannot catch faults after a firing; ``test_step.py`` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import polars as pl
import pytest
from attrs import frozen
from flowalg_laws.kit.readings import START
from flowalg_laws.strategies import triggers
from flowalg_laws.strategies.times import event_times
from flowalg_reference import trigger_state as reference
from flowalg_shard.tables.queries import compute
from flowalg_shard.triggers.accumulators import merge_lists
from flowalg_shard.triggers.automaton import CLOSED, FIRES, Automaton
from flowalg_shard.triggers.summary import evaluate_leaf
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import AtCount, AtPeriod, AtWatermark, Repeat, Window
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime, processing_time
from flowalg.errors import UnsupportedError
from flowalg.runs.clocks import Clocks
from flowalg.runs.clocks import Clocks as ReferenceClocks
from flowalg.triggers import AfterDelay, AtElement, AtMeasure, Trigger
from flowalg.triggers.syntax import OrFinally, SequenceOf, leaves

END = "end"
NEW = "new."
MINUTE = 60_000_000


@frozen
class Bundle:
    """The values and the number of retractions that a window observes in an instant."""

    values: tuple[int, ...] = ()
    retractions: int = 0


@frozen
class TriggerInstant:
    """An instant for some windows: the bundle of each, and the clocks."""

    bundles: tuple[Bundle, ...]
    clocks: Clocks


WINDOWS = 3


def bundles() -> st.SearchStrategy[Bundle]:
    """Returns bundles, often empty."""
    any_bundle = st.builds(Bundle, st.lists(st.integers(-3, 5), max_size=3).map(tuple), st.integers(0, 1))
    return st.just(Bundle()) | any_bundle


@st.composite
def instants(draw: st.DrawFn) -> list[TriggerInstant]:
    """Returns instants whose clocks never go back."""
    drawn = []
    clock, watermark, percentile = processing_time(START), MIN_TIME, MIN_TIME
    for _ in range(draw(st.integers(1, 7))):
        clock = ProcessingTime(clock + draw(st.sampled_from((0, 1, 2, 3, 9))) * MINUTE)
        watermark = max(watermark, draw(st.just(MIN_TIME) | event_times()))
        percentile = max(percentile, draw(st.just(MIN_TIME) | event_times()))
        signals = frozenset(draw(st.sampled_from(("", "", "x", "y"))))
        clocks = Clocks(clock, watermark, {0.5: percentile}, signals)
        drawn.append(TriggerInstant(tuple(draw(bundles()) for _ in range(WINDOWS)), clocks))
    return drawn


def ends() -> st.SearchStrategy[list[EventTime]]:
    """Returns the end of each window."""
    return st.lists(event_times() | st.just(MAX_TIME), min_size=WINDOWS, max_size=WINDOWS)


def summaries(automaton: Automaton, instant: TriggerInstant) -> pl.DataFrame:
    """Returns the summary of each window's bundle; null where the bundle is empty."""
    rows = []
    for bundle in instant.bundles:
        row: dict[str, object] = {}
        if bundle.values or bundle.retractions:
            now = instant.clocks.processing_time
            changes = len(bundle.values) + bundle.retractions
            row = {NEW + "count": changes, NEW + "first": now, NEW + "last": now}
            for name, leaf in automaton.summary.data:
                observed = [evaluate_leaf(leaf, value) for value in bundle.values]
                observed += [evaluate_leaf(leaf, 1, -1)] * bundle.retractions
                match leaf:
                    case AtElement():
                        row[NEW + name] = any(observed)
                    case AtMeasure():
                        row[NEW + name] = min(sum(filter(None, observed)), leaf.amount)  # type: ignore[arg-type]  # ints
                    case _:
                        lists = pl.Series([observed], dtype=pl.List(pl.Binary()))
                        row[NEW + name] = merge_lists(leaf, lists.to_frame("lists"), "lists")[0]
        rows.append(row)
    schema = automaton.summary.of_elements.columns(NEW)
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


Outcome = tuple[list[bool], list[bool], list["int | None"]]
"""For each window in an instant: whether it fires, whether it is closed, and the next deadline."""


def run_automaton(
    trigger: Trigger, ends_of_windows: Sequence[EventTime], history: Sequence[TriggerInstant]
) -> list[Outcome]:
    """Returns the firings, finished triggers and deadlines of the compiled automaton, instant by instant."""
    automaton = Automaton.of(trigger)
    table = pl.DataFrame({END: ends_of_windows}).with_columns(**automaton.initial_state())
    outcomes: list[Outcome] = []
    for instant in history:
        observed = summaries(automaton, instant)
        if observed.width:
            table = pl.concat([table, observed], how="horizontal").with_columns(**automaton.observe(NEW))
            table = automaton.accumulate(table, NEW)
            table = automaton.evaluate_accumulators(table, lambda name: pl.col(NEW + name).is_not_null())
            table = table.drop(observed.columns)
        reached = {str(name): pl.lit(True) for name in instant.clocks.signals}
        table = table.with_columns(**automaton.observe_signals(reached))
        table = compute(automaton.evaluate(table.lazy(), END, instant.clocks))
        closed = table[CLOSED].to_list() if automaton.finishes else [False] * WINDOWS
        deadline = automaton.next_deadline(table, END, instant.clocks)
        due: list[int | None] = [None] * WINDOWS if deadline is None else deadline.to_list()
        outcomes.append((table[FIRES].to_list(), closed, due))
        table = table.drop(FIRES)
        assert set(table.columns) == {END, *automaton.columns}
    return outcomes


def run_reference(
    trigger: Trigger, ends_of_windows: Sequence[EventTime], history: Sequence[TriggerInstant]
) -> list[Outcome]:
    """Returns the firings, finished triggers and deadlines of the reference, instant by instant."""
    states = [reference.initial_state(trigger) for _ in ends_of_windows]
    outcomes: list[Outcome] = []
    for instant in history:
        fired, closed, due = [], [], []
        now = instant.clocks.processing_time
        clocks = ReferenceClocks(now, instant.clocks.watermark, instant.clocks.percentiles)
        for number, (end, bundle) in enumerate(zip(ends_of_windows, instant.bundles, strict=True)):
            state, window = states[number], Window(MIN_TIME, end)
            observed = reference.TriggerSummary(signals=frozenset(map(str, instant.clocks.signals)))
            for value in bundle.values:
                observed = observed.merge(reference.summarize(leaves(trigger), value, 1, now))
            for _ in range(bundle.retractions):
                observed = observed.merge(reference.summarize(leaves(trigger), 1, -1, now))
            state = reference.observe(trigger, state, observed)
            ready = reference.is_ready(trigger, state, window, clocks)
            if ready:
                state = reference.fire(trigger, state, window, clocks)
            fired.append(ready)
            closed.append(isinstance(state, reference.Finished))
            due.append(reference.next_deadline(trigger, state, window, clocks))
            states[number] = state
        outcomes.append((fired, closed, [None if deadline is None else int(deadline) for deadline in due]))
    return outcomes


@settings(max_examples=3 * settings().max_examples)
@given(triggers(), ends(), instants())
def test_the_compiled_automaton_equals_the_reference(
    trigger: Trigger, ends_of_windows: list[EventTime], history: list[TriggerInstant]
) -> None:
    """The compiled automaton has the reference's firings, finished triggers and deadlines for any bundles."""
    assert run_automaton(trigger, ends_of_windows, history) == run_reference(
        trigger, ends_of_windows, history
    )


@settings(max_examples=25)
@given(triggers(), triggers(), ends(), instants())
def test_the_automaton_of_nested_triggers_equals_the_reference(
    first: Trigger, second: Trigger, ends_of_windows: list[EventTime], history: list[TriggerInstant]
) -> None:
    """Sequences of repeated sequences with limits, which are deeper than generated triggers, equal the reference."""
    for trigger in (
        Repeat(SequenceOf(OrFinally(Repeat(first), AtCount(3)), second)),
        SequenceOf(
            OrFinally(SequenceOf(first, second), AtCount(4)), Repeat(SequenceOf(second, first, AtWatermark()))
        ),
    ):
        assert run_automaton(trigger, ends_of_windows, history) == run_reference(
            trigger, ends_of_windows, history
        )


@pytest.mark.parametrize("trigger", [AfterDelay(timedelta.max), AtPeriod(timedelta.max), AtCount(2**70)])
def test_delays_and_counts_beyond_all_time_are_never_ready(trigger: Trigger) -> None:
    """Delays and counts beyond all of time never make a trigger ready, and do not overflow."""
    history = [TriggerInstant((Bundle((1,)),) * WINDOWS, Clocks(ProcessingTime(MAX_TIME), MAX_TIME))]
    fired, _, due = run_automaton(trigger, [MAX_TIME] * WINDOWS, history)[0]
    assert not any(fired)
    assert all(deadline is None or deadline > MAX_TIME for deadline in due)


def _largest(value: int) -> int:
    return 2**63 - 1


def test_measures_do_not_wrap() -> None:
    """Measures are added exactly, up to the amount that the trigger waits for."""
    most = AtMeasure(_largest, 2**63 - 1)
    history = [
        TriggerInstant((Bundle((1, 2, 3)), Bundle((1,)), Bundle()), Clocks(ProcessingTime(0), MIN_TIME))
    ] * 2
    assert [fired for fired, _, _ in run_automaton(Repeat(most), [MAX_TIME] * WINDOWS, history)] == [
        [True, True, False]
    ] * 2
    waiting = [*history, TriggerInstant((Bundle(),) * WINDOWS, Clocks(ProcessingTime(1), MAX_TIME))]
    assert [fired for fired, _, _ in run_automaton(most & AtWatermark(), [MAX_TIME] * WINDOWS, waiting)] == [
        [False] * WINDOWS,
        [False] * WINDOWS,
        [True, True, False],
    ]
    with pytest.raises(UnsupportedError, match="AtMeasure.amount is 9223372036854775808"):
        Automaton.of(AtMeasure(_largest, 2**63))
