"""Laws of dead letters: a run with bad records is that of the other records, and the bad records as data.

The functions of these laws raise for readings of even value.
"""

from __future__ import annotations

from typing import TypeAlias

from flowalg import KV, Count, EventTime, Interpreter, Pane, PCollection, Sum, Timeline, Window
from flowalg.runs import Drop
from flowalg.windows import WindowingStrategy, WindowsByValue
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import apply_windowing, with_dead_letters
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, Reading

Sums: TypeAlias = PCollection[KV[str, tuple[int, int]]]
Outcome: TypeAlias = tuple[tuple[Pane[object], ...], tuple[Drop, ...], int]
"""The panes and drops of a run, and the number of its bad records."""

ODD: PCollection[KV[str, int]] = VALUES.filter(lambda pair: pair.value % 2 == 1)


def odd(value: int) -> int:
    """Returns an odd value; raises for an even one."""
    if value % 2 == 0:
        raise ValueError("an even value")
    return value


def sums(pairs: PCollection[KV[str, int]], strategy: WindowingStrategy) -> Sums:
    """Returns the sums and counts of windows."""
    return apply_windowing(pairs, strategy).combine_per_key(Sum(), Count())


def _outcome(engine: Interpreter, pipeline: Sums, timeline: Timeline[Reading]) -> Outcome:
    run = with_dead_letters(engine).run(pipeline, {READINGS: timeline})
    return run.panes, run.dropped, len(run.bad_records)


def _of_odd(engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]) -> Outcome:
    """Returns the outcome over the readings of odd value, with the number of all others as bad records."""
    panes, dropped, _ = _outcome(engine, sums(ODD, strategy), timeline)
    return panes, dropped, sum(reading.value % 2 == 0 for reading in timeline.elements)


@law
def an_element_on_which_a_step_raises_is_left_out(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Outcome]:
    """``map(f)`` gives what it gives after a filter of the elements on which f does not raise; the others are the bad
    records.

    Source: SEMANTICS 2.

    Relied on by: backfills over dirty data, which reject what the stream rejected.
    """
    raising = sums(VALUES.map_values(odd), strategy)
    return Equation(_outcome(engine, raising, timeline), _of_odd(engine, strategy, timeline))


@law
def an_element_that_a_combiner_cannot_add_is_left_out(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Outcome]:
    """``Sum.of(f)`` is the sum of f over the elements on which f does not raise; the others are the bad records.

    Source: SEMANTICS 2; ``add(a, v) = merge(a, add(zero(), v))``.

    Relied on by: the admission before a grouping.
    """
    raising = apply_windowing(VALUES, strategy).combine_per_key(Sum.of(odd), Count())
    return Equation(_outcome(engine, raising, timeline), _of_odd(engine, strategy, timeline))


def odd_minute(time: EventTime, key: object, value: object) -> list[Window]:
    """Returns the ten minutes around an event time, for an odd value."""
    assert isinstance(value, int)
    start = time - time % 600_000_000 + 0 * odd(value)
    return [Window(EventTime(start), EventTime(start + 600_000_000))]


@law
def an_element_without_windows_is_left_out(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Outcome]:
    """A grouping in windows that raise for some elements is that of the others; these are the bad records.

    Source: SEMANTICS 2.

    Relied on by: the admission before a grouping.
    """
    windows = WindowsByValue("odd minutes", odd_minute)
    pairs = VALUES.window(windows, allowed_lateness=strategy.allowed_lateness).combine_per_key(Sum(), Count())
    clean = ODD.window(windows, allowed_lateness=strategy.allowed_lateness).combine_per_key(Sum(), Count())
    panes, dropped, _ = _outcome(engine, clean, timeline)
    bad = sum(reading.value % 2 == 0 for reading in timeline.elements)
    return Equation(_outcome(engine, pairs, timeline), (panes, dropped, bad))


@law
def dead_letters_change_nothing_where_nothing_raises(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading]
) -> Equation[Outcome]:
    """A run with dead letters in which no function raises is the run without them.

    Source: SEMANTICS 2.

    Relied on by: the option ``dead_letters`` of all interpreters.
    """
    pipeline = apply_windowing(VALUES, strategy).combine_per_key(Sum.of(abs), Count())
    run = engine.run(pipeline, {READINGS: timeline})
    return Equation(_outcome(engine, pipeline, timeline), (run.panes, run.dropped, 0))


DEAD_LETTER_LAWS: tuple[Law[[Interpreter, WindowingStrategy, Timeline[Reading]], Outcome], ...] = (
    an_element_on_which_a_step_raises_is_left_out,
    an_element_that_a_combiner_cannot_add_is_left_out,
    an_element_without_windows_is_left_out,
    dead_letters_change_nothing_where_nothing_raises,
)
"""The laws of dead letters."""
