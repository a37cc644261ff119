"""Laws of side inputs: what elements read, and which are too late to read anything.

The readings of one timeline read a side input that is made of the readings of another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from typing import TypeAlias

from flowalg_reference import Reference

from flowalg import KV, FixedWindows, Interpreter, Pane, PCollection, SlidingWindows, Source, Sum, Timeline
from flowalg.runs import DropReason
from flowalg.windows import WindowingStrategy
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import (
    READINGS,
    START,
    VALUES,
    EndedTimeline,
    Reading,
    event_time_of,
    key_of,
    value_of,
)

Pair: TypeAlias = KV[str, int]
Read: TypeAlias = Counter[tuple[Reading, Hashable]]

RATES = Source("rates", Reading, event_time=event_time_of)
RATE_VALUES: PCollection[Pair] = RATES.key_by(key_of).map_values(value_of)
TOTALS = RATES.map(value_of).window(FixedWindows(timedelta(minutes=7))).combine_globally(Sum())


def _add_total(values: PCollection[Pair]) -> PCollection[Pair]:
    """Adds to each value what it reads of the side input."""
    return values.map_with(TOTALS.as_singleton(default=0), lambda pair, rate: KV(pair.key, pair.value + rate))


def _summed(values: PCollection[Pair], strategy: WindowingStrategy) -> PCollection[Pair]:
    return apply_windowing(values, strategy).combine_per_key(Sum())


def _last_complete_window(size: timedelta, rates: Iterable[Reading], time: datetime) -> list[Reading]:
    """Returns the rates of the newest window of a size that has any and that ends at or before a time."""
    by_end: dict[datetime, list[Reading]] = {}
    for rate in rates:
        end = START + ((rate.at - START) // size + 1) * size
        if end <= time:
            by_end.setdefault(end, []).append(rate)
    return by_end[max(by_end)] if by_end else []


def _read(
    engine: Interpreter,
    pipeline: PCollection[tuple[Reading, Hashable]],
    main: EndedTimeline,
    rates: EndedTimeline,
) -> Read | None:
    """Returns the elements with what they read, as a bag; ``None`` if any was dropped."""
    run = engine.run(pipeline, {READINGS: main, RATES: rates})
    return None if run.dropped else Counter(element.element for element in run.elements)


@law
def the_latest_complete_singleton_is_found_by_an_as_of_lookup(
    engine: Interpreter, size: timedelta, main: EndedTimeline, rates: EndedTimeline
) -> Equation[Read] | None:
    """An element reads the value of the newest window with values that ends at or before its event time.

    Where: both inputs have ended, and no element of the side input was late. So what elements read does not depend on
    how the inputs are divided into instants, and a stream reads what the batch reads.

    Source: SEMANTICS 10.

    Relied on by: enrichment from a table that changes slowly.
    """
    offset = (START - datetime(1970, 1, 1, tzinfo=START.tzinfo)) % size
    totals = RATES.map(value_of).window(FixedWindows(size, offset)).combine_globally(Sum())
    side = totals.as_singleton(default=-1).latest_complete()
    read = _read(engine, READINGS.with_side(side), main, rates)
    if read is None:
        return None

    def look_up(time: datetime) -> int:
        last = _last_complete_window(size, rates.elements, time)
        return sum(rate.value for rate in last) if last else -1

    return Equation(read, Counter((reading, look_up(reading.at)) for reading in main.elements))


@law
def the_latest_complete_mapping_is_found_by_an_as_of_lookup_of_each_key(
    engine: Interpreter, size: timedelta, main: EndedTimeline, rates: EndedTimeline
) -> Equation[Read] | None:
    """A key has the value of the newest window with values of that key that ends at or before the event time.

    Where: both inputs have ended, and no element of the side input was late.

    Source: SEMANTICS 10.

    Relied on by: enrichment from a table whose rows change one at a time.
    """
    offset = (START - datetime(1970, 1, 1, tzinfo=START.tzinfo)) % size
    side = RATE_VALUES.window(FixedWindows(size, offset)).combine_per_key(Sum()).as_map().latest_complete()
    pipeline = READINGS.map_with(side, lambda reading, newest: (reading, newest.get(reading.key)))
    read = _read(engine, pipeline, main, rates)
    if read is None:
        return None

    def look_up(key: str, time: datetime) -> int | None:
        of_key = [rate for rate in rates.elements if rate.key == key]
        last = _last_complete_window(size, of_key, time)
        return sum(rate.value for rate in last) if last else None

    return Equation(read, Counter((reading, look_up(reading.key, reading.at)) for reading in main.elements))


@law
def a_side_input_drops_no_pane(
    engine: Reference, strategy: WindowingStrategy, main: Timeline[Reading], rates: Timeline[Reading]
) -> Equation[Counter[object]] | None:
    """No pane of a grouping is too late to read a side input: early, late and retracted ones read it.

    Where: no source is idle. An idle source follows the sources that it is read together with, so the grouping has
    another watermark, and other drops, if its panes read a side input than if they do not.

    Source: SEMANTICS 10.

    Relied on by: engines, which free the windows of a side input that no element can read any more.
    """
    if any(instant.idle_at is not None for instant in (*main.instants, *rates.instants)):
        return None
    panes = _summed(VALUES, strategy)
    without = engine.run(panes, {READINGS: main})
    run = engine.run(_add_total(panes), {READINGS: main, RATES: rates})
    expired: list[Counter[object]] = [
        Counter(drop for drop in outcome.dropped if drop.reason is DropReason.EXPIRED)
        for outcome in (run, without)
    ]
    return Equation(*expired)


@law
def a_side_input_drops_what_the_next_grouping_drops(
    engine: Reference, strategy: WindowingStrategy, main: Timeline[Reading]
) -> Equation[tuple[tuple[Pane[Pair], ...], frozenset[object]]] | None:
    """The elements that are too late for a side input are too late for a grouping in their windows.

    Where: each element is in a window, and the grouping follows the side input, whose values are complete. Its panes
    are those of a pipeline that assigns the windows after the side input, and the same elements are dropped.

    Source: SEMANTICS 10.

    Relied on by: engines, which free the windows of a side input that no element can read any more.
    """
    if isinstance(strategy.windows, SlidingWindows) and strategy.windows.period > strategy.windows.size:
        return None
    rates = Timeline[Reading]().end(START)
    windowed_first = _add_total(apply_windowing(VALUES, strategy)).combine_per_key(Sum())
    runs = [
        engine.run(pipeline, {READINGS: main, RATES: rates})
        for pipeline in (windowed_first, _summed(_add_total(VALUES), strategy))
    ]
    left, right = (
        (run.panes, frozenset((drop.key, drop.event_time, drop.reason) for drop in run.dropped))
        for run in runs
    )
    return Equation(left, right)


SIDE_INPUT_LAWS: tuple[Law[..., object], ...] = (
    the_latest_complete_singleton_is_found_by_an_as_of_lookup,
    the_latest_complete_mapping_is_found_by_an_as_of_lookup_of_each_key,
    a_side_input_drops_no_pane,
    a_side_input_drops_what_the_next_grouping_drops,
)
"""The laws of side inputs."""
