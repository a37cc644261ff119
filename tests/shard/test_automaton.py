"""The trigger automaton over tables, compared with the reference's row by row, before there are panes.

This family catches faults of the compiled trigger: what observes, what is ready, what firing resets, and the next
deadline. It cannot catch faults in what follows a firing; ``test_step.py`` does.
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
from flowalg_shard.step.automaton import CLOSED, FIRES, Automaton
from flowalg_shard.step.trigger_summary import evaluate_leaf
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import (
    AfterDelay,
    AtCount,
    AtElement,
    AtMeasure,
    AtPeriod,
    AtWatermark,
    Repeat,
    Trigger,
    UnsupportedError,
    Window,
)
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime, processing_time
from flowalg.runs.clocks import Clocks
from flowalg.runs.clocks import Clocks as ReferenceClocks
from flowalg.triggers.leaves import DataDrivenTrigger, leaves
from flowalg.triggers.syntax import OrFinally, SequenceOf

END = "end"
NEW = "new."
MINUTE = 60_000_000


@frozen
class Bundle:
    """What one window observes in one instant: values, and a number of retractions."""

    values: tuple[int, ...] = ()
    retractions: int = 0


@frozen
class Moment:
    """One instant for some windows: the bundle of each, the clocks, and whether its trigger restarts."""

    bundles: tuple[Bundle, ...]
    clocks: Clocks


WINDOWS = 3


def bundles() -> st.SearchStrategy[Bundle]:
    """Bundles, often empty."""
    some = st.builds(Bundle, st.lists(st.integers(-3, 5), max_size=3).map(tuple), st.integers(0, 1))
    return st.just(Bundle()) | some


@st.composite
def moments(draw: st.DrawFn) -> list[Moment]:
    """Instants whose clocks never go back."""
    found = []
    clock, watermark, quick = processing_time(START), MIN_TIME, MIN_TIME
    for _ in range(draw(st.integers(1, 7))):
        clock = ProcessingTime(clock + draw(st.sampled_from((0, 1, 2, 3, 9))) * MINUTE)
        watermark = max(watermark, draw(st.just(MIN_TIME) | event_times()))
        quick = max(quick, draw(st.just(MIN_TIME) | event_times()))
        signals = frozenset(draw(st.sampled_from(("", "", "x", "y"))))
        clocks = Clocks(clock, watermark, {0.5: quick}, signals)
        found.append(Moment(tuple(draw(bundles()) for _ in range(WINDOWS)), clocks))
    return found


def ends() -> st.SearchStrategy[list[EventTime]]:
    """The end of each window."""
    return st.lists(event_times() | st.just(MAX_TIME), min_size=WINDOWS, max_size=WINDOWS)


def summaries(automaton: Automaton, moment: Moment) -> pl.DataFrame:
    """The summary of each window's bundle; null where the bundle is empty."""
    rows = []
    for bundle in moment.bundles:
        row: dict[str, object] = {}
        if bundle.values or bundle.retractions:
            row = {NEW + "count": len(bundle.values), NEW + "since": moment.clocks.processing_time}
            for name, leaf in automaton.summary.data:
                found = [evaluate_leaf(leaf, value) for value in bundle.values]
                row[NEW + name] = any(found) if isinstance(leaf, AtElement) else min(sum(found), leaf.amount)
        rows.append(row)
    schema = automaton.summary.of_elements.columns(NEW)
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


Said = tuple[list[bool], list[bool], list["int | None"]]
"""Of each window in an instant: whether it fires, whether it is closed, and the next deadline."""


def stepped(trigger: Trigger, found: Sequence[EventTime], history: Sequence[Moment]) -> list[Said]:
    """The firings, finished triggers and deadlines of the compiled automaton, instant by instant."""
    automaton = Automaton.of(trigger)
    table = pl.DataFrame({END: found}).with_columns(**automaton.initial_state())
    said: list[Said] = []
    for moment in history:
        shown = summaries(automaton, moment)
        if shown.width:
            table = pl.concat([table, shown], how="horizontal").with_columns(**automaton.observe(NEW))
            table = table.drop(shown.columns)
        table = table.with_columns(**automaton.observe_signals(moment.clocks.signals))
        table = automaton.evaluate(table, END, moment.clocks)
        closed = table[CLOSED].to_list() if automaton.finishes else [False] * WINDOWS
        deadline = automaton.next_deadline(END, moment.clocks)
        due: list[int | None] = [None] * WINDOWS
        if deadline is not None:
            due = table.select(one=deadline)["one"].to_list()
        said.append((table[FIRES].to_list(), closed, due))
        table = table.drop(FIRES)
        assert set(table.columns) == {END, *automaton.columns}
    return said


def referred(trigger: Trigger, found: Sequence[EventTime], history: Sequence[Moment]) -> list[Said]:
    """The firings, finished triggers and deadlines of the reference, instant by instant."""
    data: tuple[DataDrivenTrigger, ...] = tuple(
        leaf for leaf in leaves(trigger) if isinstance(leaf, AtMeasure | AtElement)
    )
    states = [reference.initial_state(trigger) for _ in found]
    said: list[Said] = []
    for moment in history:
        fired, closed, due = [], [], []
        now = moment.clocks.processing_time
        clocks = ReferenceClocks(now, moment.clocks.watermark, moment.clocks.percentiles)
        for number, (end, bundle) in enumerate(zip(found, moment.bundles, strict=True)):
            state, window = states[number], Window(MIN_TIME, end)
            for value in bundle.values:
                state = reference.observe(state, reference.summarize(data, value, 1, now))
            for _ in range(bundle.retractions):
                state = reference.observe(state, reference.summarize(data, None, -1, now))
            state = reference.observe(state, reference.TriggerSummary(signals=moment.clocks.signals))
            ready = reference.is_ready(trigger, state, window, clocks)
            if ready:
                state = reference.fire(trigger, state, window, clocks)
            fired.append(ready)
            closed.append(isinstance(state, reference.Finished))
            due.append(reference.next_deadline(trigger, state, window, clocks))
            states[number] = state
        said.append((fired, closed, [None if one is None else int(one) for one in due]))
    return said


@settings(max_examples=100)
@given(triggers(), ends(), moments())
def test_the_compiled_automaton_is_the_reference_row_by_row(
    trigger: Trigger, found: list[EventTime], history: list[Moment]
) -> None:
    """The compiled automaton has the reference's firings, finished triggers and deadlines for any bundles."""
    assert stepped(trigger, found, history) == referred(trigger, found, history)


@settings(max_examples=25)
@given(triggers(), triggers(), ends(), moments())
def test_nested_triggers_too(
    one: Trigger, other: Trigger, found: list[EventTime], history: list[Moment]
) -> None:
    """Sequences of repeated sequences with limits, deeper than generated triggers, behave as in the reference."""
    for trigger in (
        Repeat(SequenceOf(OrFinally(Repeat(one), AtCount(3)), other)),
        SequenceOf(
            OrFinally(SequenceOf(one, other), AtCount(4)), Repeat(SequenceOf(other, one, AtWatermark()))
        ),
    ):
        assert stepped(trigger, found, history) == referred(trigger, found, history)


@pytest.mark.parametrize("trigger", [AfterDelay(timedelta.max), AtPeriod(timedelta.max), AtCount(2**70)])
def test_what_lies_beyond_all_time_is_never_ready(trigger: Trigger) -> None:
    """Delays and counts beyond all of time never make a trigger ready, and overflow nothing."""
    history = [Moment((Bundle((1,)),) * WINDOWS, Clocks(ProcessingTime(MAX_TIME), MAX_TIME))]
    fired, _, due = stepped(trigger, [MAX_TIME] * WINDOWS, history)[0]
    assert not any(fired)
    assert all(one is None or one > MAX_TIME for one in due)


def _largest(value: int) -> int:
    return 2**63 - 1


def test_measures_do_not_wrap() -> None:
    """Measures are added exactly, up to the amount that the trigger waits for."""
    most = AtMeasure(_largest, 2**63 - 1)
    history = [Moment((Bundle((1, 2, 3)), Bundle((1,)), Bundle()), Clocks(ProcessingTime(0), MIN_TIME))] * 2
    assert [fired for fired, _, _ in stepped(Repeat(most), [MAX_TIME] * WINDOWS, history)] == [
        [True, True, False]
    ] * 2
    waiting = [*history, Moment((Bundle(),) * WINDOWS, Clocks(ProcessingTime(1), MAX_TIME))]
    assert [fired for fired, _, _ in stepped(most & AtWatermark(), [MAX_TIME] * WINDOWS, waiting)] == [
        [False] * WINDOWS,
        [False] * WINDOWS,
        [True, True, False],
    ]
    with pytest.raises(UnsupportedError, match="AtMeasure.amount is 9223372036854775808"):
        Automaton.of(AtMeasure(_largest, 2**63))
