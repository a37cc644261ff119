"""Side inputs that change slowly: examples on the reference and on the step, with what they keep and free.

These tests catch values that are freed although an element can still read them, which generated runs seldom show.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from flowalg_laws import READINGS
from flowalg_laws.kit.readings import VALUES, Reading
from flowalg_laws.strategies.times import point
from flowalg_polars import Cluster, PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    FixedWindows,
    Interpreter,
    PCollection,
    Repeat,
    Source,
    Sum,
    Timeline,
)
from flowalg.errors import ElementError
from flowalg.pipeline import SideInput

MINUTE = timedelta(minutes=1)
FIVE = FixedWindows(5 * MINUTE)
RATES = Source("rates", Reading, event_time=lambda r: r.at)
KEYED = RATES.key_by(lambda r: r.key).map_values(lambda r: r.value)
BOUNDED = VALUES.window(FIVE, allowed_lateness=timedelta(0))

engines = pytest.mark.parametrize(
    "engine",
    [Reference(), PolarsStreaming(), PolarsStreaming(Cluster(shards=3))],
    ids=["reference", "step", "3 shards"],
)


def rate(key: str, value: int, at: int) -> Reading:
    """Returns a rate with an event time."""
    return Reading(key, value, point(at), point(at))


def total_of(rates: PCollection[int]) -> SideInput[int]:
    """Returns the newest complete sum of rates in five minutes, or -1."""
    windowed = rates.window(FIVE, allowed_lateness=timedelta(0))
    return windowed.combine_globally(Sum()).as_singleton(default=-1).latest_complete()


def read_by(
    engine: Interpreter, side: SideInput[int], main: Timeline[Reading], rates: Timeline[Reading]
) -> list[int]:
    """Returns what bounded elements read, in order of time."""
    read = BOUNDED.map_with(side, lambda pair, total: total, result=int)
    return [element.element for element in engine.run(read, {READINGS: main, RATES: rates}).elements]


@engines
def test_the_newest_value_is_never_freed(engine: Interpreter) -> None:
    """However far the watermark of the elements is, the newest value is there; older ones are as long as needed."""
    rates = Timeline[Reading]().at(point(0), rate("a", 1, 1), rate("a", 2, 6), rate("a", 3, 11)).end(point(0))
    main = Timeline[Reading]()
    for minute in (4, 12, 17, 99, 400):
        main = main.at(point(minute), rate("a", 0, minute), watermark=point(minute))
    assert read_by(engine, total_of(KEYED.map(lambda pair: pair.value)), main, rates) == [-1, 2, 3, 3, 3]


@engines
def test_waiting_elements_keep_what_they_read(engine: Interpreter) -> None:
    """An element that waits for its side input reads it, although its window expires meanwhile for new elements."""
    arrived = Timeline[Reading]().at(point(0), rate("a", 1, 1), watermark=point(0))
    rates = arrived.at(point(80), watermark=point(90))
    values = RATES.map(lambda r: r.value).window(FIVE, allowed_lateness=timedelta(0)).as_singleton(default=-1)
    main = Timeline[Reading]().at(point(3), rate("a", 0, 3)).at(point(60), watermark=point(60))
    assert read_by(engine, values, main, rates) == [1]
    later = Timeline[Reading]().at(point(3), rate("a", 0, 8)).at(point(60), watermark=point(60))
    assert read_by(engine, values.latest_complete(), later, rates) == [1]


@engines
def test_each_key_has_its_newest_value(engine: Interpreter) -> None:
    """A mapping has the newest value of each key, of several windows, and keys do not disappear."""
    side = KEYED.window(FIVE, allowed_lateness=timedelta(0)).combine_per_key(Sum()).as_map().latest_complete()
    read = BOUNDED.map_with(
        side, lambda pair, sums: KV(sums.get("a", 0), sums.get("b", 0)), result=KV[int, int]
    )
    rates = Timeline[Reading]().at(point(0), rate("a", 1, 1), rate("b", 2, 6), rate("a", 3, 11)).end(point(0))
    main = Timeline[Reading]()
    for minute in (4, 7, 12, 17, 99):
        main = main.at(point(minute), rate("a", 0, minute), watermark=point(minute))
    elements = engine.run(read, {READINGS: main, RATES: rates}).elements
    assert [(element.key, element.value) for element in elements] == [(0, 0), (1, 0), (1, 2), (3, 2), (3, 2)]


@engines
def test_a_window_without_current_values_does_not_count(engine: Interpreter) -> None:
    """If all values of a window were retracted, elements read the window before it."""
    corrected = (
        RATES.map(lambda r: r.value)
        .window(
            FIVE,
            trigger=Repeat(AtCount(1)),
            accumulation=Accumulation.RETRACTING,
            allowed_lateness=FOREVER,
        )
        .combine_globally(Sum())
        .filter(lambda total: total > 0)
    )
    side = corrected.as_singleton(default=-1).latest_complete()
    rates = (
        Timeline[Reading]()
        .at(point(0), rate("a", 4, 1), rate("a", 5, 6))
        .at(point(1), rate("a", -5, 6))
        .end(point(2))
    )
    main = Timeline[Reading]().at(point(12), rate("a", 0, 12), rate("a", 0, 3))
    assert read_by(engine, side, main, rates) == [-1, 4]


SINGLE = KEYED.map(lambda pair: pair.value).window(FIVE).as_singleton(default=-1).latest_complete()
MAPPING = KEYED.window(FIVE).as_map().latest_complete()


@pytest.mark.parametrize(
    "engine",
    [Reference(), PolarsStreaming(), ReferenceBatch(), PolarsBatch()],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize(
    "read",
    [
        VALUES.map_with(SINGLE, lambda pair, value: value, result=int),
        VALUES.map_with(MAPPING, lambda pair, mapping: mapping.get("a", -1), result=int),
        VALUES.map_with(MAPPING, lambda pair, mapping: max(mapping.values(), default=-1), result=int),
    ],
    ids=["singleton", "lookup", "mapping"],
)
def test_two_values_are_an_error_where_an_element_reads_them(
    engine: Interpreter, read: PCollection[int]
) -> None:
    """Two values of a window fail the elements that read them: none before it, and none after a newer value."""
    rates = Timeline.batch([rate("a", 1, 1), rate("a", 2, 2), rate("a", 9, 6)], time=point(0))

    def values_at(*minutes: int) -> list[int]:
        main = Timeline.batch([rate("a", 0, minute) for minute in minutes], time=point(0))
        return [element.element for element in engine.run(read, {READINGS: main, RATES: rates}).elements]

    assert values_at() == []
    assert values_at(3, 13) == [-1, 9]
    with pytest.raises(ElementError, match="must have one"):
        values_at(3, 8, 13)
