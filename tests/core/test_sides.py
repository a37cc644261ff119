"""Side inputs on the reference, compared with plain Python: what an element reads, and how long it waits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from datetime import timedelta

import flowalg_reference as reference
import pytest
from attrs import evolve
from flowalg_laws import READINGS
from flowalg_laws.strategies import Reading, free_timelines, readings
from flowalg_polars import PolarsBatch
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    CalendarDays,
    Count,
    FixedWindows,
    GlobalWindows,
    PCollection,
    Repeat,
    Sessions,
    SlidingWindows,
    Source,
    Sum,
    Timeline,
    ToList,
    Window,
)
from flowalg.data.time import EventTime, event_time, processing_time
from flowalg.errors import ArgumentError, ElementError
from flowalg.pipeline import SideInput
from flowalg.runs import Change, DropReason, Timing
from flowalg.triggers import Always
from flowalg.windows import CustomWindows, WindowFn, WindowsByValue
from flowalg.windows.window_functions import assign_windows
from tests.support.scores import POINTS, SCORES, Score, minute

FIVE = FixedWindows(timedelta(minutes=5))
RATES = Source("rates", Reading, event_time=lambda r: r.at)
MANY = st.lists(readings(), max_size=12)
WINDOWS: st.SearchStrategy[WindowFn] = st.sampled_from(
    [FIVE, FixedWindows(timedelta(minutes=7)), CalendarDays("UTC", timedelta(minutes=6)), GlobalWindows()]
)

OTHERS = Source("others", Score, event_time=lambda s: s.at)
TOTALS = OTHERS.map(lambda s: s.points).window(FIVE).combine_globally(Sum())


def window_of(windows: WindowFn, reading: Reading) -> Window:
    """Returns the window of a reading."""
    (window,) = assign_windows(windows, event_time(reading.at), None, None)
    return window


def with_totals(windows: WindowFn) -> PCollection[list[tuple[Reading, int]]]:
    """Returns all readings, each with the sum of the rates of its window."""
    totals = RATES.map(lambda r: r.value).window(windows).combine_globally(Sum()).as_singleton(default=0)
    return READINGS.map_with(totals, lambda reading, total: (reading, total)).combine_globally(ToList())


def last_list(run: reference.ReferenceRun[list[tuple[Reading, int]]]) -> Counter[tuple[Reading, int]]:
    """Returns the list in the last pane, as a bag."""
    return Counter(run.panes[-1].element if run.panes else [])


@given(WINDOWS, MANY, MANY)
def test_an_element_reads_the_side_window_of_its_event_time(
    windows: WindowFn, main: list[Reading], rates: list[Reading]
) -> None:
    """In a batch an element reads the side window that contains its event time."""
    totals: dict[Window, int] = defaultdict(int)
    for rate in rates:
        totals[window_of(windows, rate)] += rate.value
    expected = Counter((reading, totals[window_of(windows, reading)]) for reading in main)
    assert last_list(reference.run_batch(with_totals(windows), {READINGS: main, RATES: rates})) == expected


@given(WINDOWS, MANY, MANY)
def test_a_map_has_the_keys_of_its_window(
    windows: WindowFn, main: list[Reading], rates: list[Reading]
) -> None:
    """A map has the keys of its window, no keys of other windows, and none if the window is empty."""
    by_key = RATES.key_by(lambda r: r.key).window(windows).combine_per_key(Sum.of(lambda r: r.value)).as_map()
    read = READINGS.map_with(
        by_key, lambda reading, values_by_key: (reading, values_by_key.get(reading.key, -99))
    )
    totals: dict[tuple[Window, str], int] = {}
    for rate in rates:
        at = window_of(windows, rate), rate.key
        totals[at] = totals.get(at, 0) + rate.value
    expected = Counter(
        (reading, totals.get((window_of(windows, reading), reading.key), -99)) for reading in main
    )
    run = reference.run_batch(read.combine_globally(ToList()), {READINGS: main, RATES: rates})
    assert last_list(run) == expected


@given(WINDOWS, free_timelines(ends=True), free_timelines(ends=True))
def test_a_stream_reads_the_values_of_the_batch_without_late_side_elements(
    windows: WindowFn, main: Timeline[Reading], rates: Timeline[Reading]
) -> None:
    """A stream reads the values of the batch if no side element is late, and loses no element while waiting."""
    pipeline = with_totals(windows)
    streamed = reference.run(pipeline, {READINGS: main, RATES: rates})
    elements = [element for instant in main for element in instant.elements]
    assert Counter(element for element, _ in last_list(streamed).elements()) == Counter(elements)
    if not streamed.dropped:
        bounded = [element for instant in rates for element in instant.elements]
        batch = reference.run_batch(pipeline, {READINGS: elements, RATES: bounded})
        assert last_list(streamed) == last_list(batch)


@given(WINDOWS, free_timelines(), free_timelines())
def test_a_waiting_element_holds_the_watermark(
    windows: WindowFn, main: Timeline[Reading], rates: Timeline[Reading]
) -> None:
    """A waiting element holds the watermark: an element that is on time upstream is on time downstream."""
    # An idle source has the watermark of the other one, which the pipeline without a side input does not read.
    main = Timeline(tuple(evolve(instant, idle_at=None) for instant in main))
    totals = RATES.map(lambda r: r.value).window(windows).combine_globally(Sum()).as_singleton(default=0)
    plain = READINGS.map(lambda reading: (reading, 0))
    with_side = READINGS.map_with(totals, lambda reading, total: (reading, 0))

    def drops_of(pipeline: PCollection[tuple[Reading, int]], *sources: Source[object]) -> Counter[object]:
        strict = pipeline.window(FIVE, allowed_lateness=timedelta(0)).combine_globally(Count())
        timelines: dict[Source[object], Timeline[object]] = {READINGS: main, RATES: rates}
        run = reference.run(strict, {source: timelines[source] for source in sources})
        return Counter(drop.element for drop in run.dropped if drop.reason is DropReason.EXPIRED)

    assert drops_of(with_side, READINGS, RATES) <= drops_of(plain, READINGS)


@given(WINDOWS, free_timelines(), free_timelines())
def test_the_watermark_after_a_side_input_never_moves_back(
    windows: WindowFn, main: Timeline[Reading], rates: Timeline[Reading]
) -> None:
    """The output watermark never moves back, even for an element that was late before it waited."""
    totals = RATES.map(lambda r: r.value).window(windows).combine_globally(Sum()).as_singleton(default=0)
    with_side = READINGS.map_with(totals, lambda reading, total: (reading, total))
    grouped = with_side.window(FIVE, trigger=Repeat(Always())).combine_globally(Count())
    outputs = [
        evaluation.output for evaluation in reference.run(grouped, {READINGS: main, RATES: rates}).watermarks
    ]
    assert outputs == sorted(outputs)


@given(WINDOWS, MANY, MANY)
def test_a_side_input_has_the_current_pane_of_a_window(
    windows: WindowFn, main: list[Reading], rates: list[Reading]
) -> None:
    """A side input has no retracted values: of successive panes it keeps the last."""
    keyed = RATES.key_by(lambda r: "").map_values(lambda r: r.value)
    totals = keyed.window(
        windows,
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=FOREVER,
    ).combine_per_key(Sum())
    side = totals.map(lambda pair: pair.value).as_singleton(default=0)
    read = READINGS.map_with(side, lambda reading, total: (reading, total)).combine_globally(ToList())
    one_by_one = Timeline[Reading]()
    for number, rate in enumerate(rates):
        one_by_one = one_by_one.at(minute(number), rate)
    at_once = Timeline[Reading]().at(minute(99), *main).end(minute(99))
    run = reference.run(read, {READINGS: at_once, RATES: one_by_one.end(minute(99))})
    batch = reference.run_batch(with_totals(windows), {READINGS: main, RATES: rates})
    assert last_list(run) == last_list(batch)


def test_waiting_elements_are_emitted_first() -> None:
    """Elements that waited are emitted in order of arrival, before those that do not wait."""
    read = SCORES.map_with(TOTALS.as_singleton(default=0), lambda s, total: KV("all", s.points))
    listed = read.combine_per_key(ToList())
    main = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)))
        .at(minute(2), Score("a", 2, minute(1)))
        .at(minute(6), Score("a", 3, minute(1)))
        .end(minute(7))
    )
    others = Timeline[Score]().at(minute(6), watermark=minute(5)).end(minute(7))
    (pane,) = reference.run(listed, {SCORES: main, OTHERS: others}).panes
    assert pane.value == [1, 2, 3]


def test_percentile_watermarks_wait_for_a_side_input() -> None:
    """Percentile watermarks stay ahead of the watermark, wait for waiting elements, and never move back."""
    read = SCORES.map_with(TOTALS.as_singleton(default=0), lambda s, total: KV(s.team, s.points))
    percentile = read.window(
        FixedWindows(timedelta(minutes=20)), trigger=Repeat(AtWatermark(percentile=0.5))
    ).combine_per_key(Sum())
    main = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)), Score("a", 2, minute(7)), percentiles={0.5: minute(20)})
        .at(minute(3))
        .at(minute(4), Score("a", 4, minute(12)), Score("a", 8, minute(3)))
    )
    others = Timeline[Score]().at(minute(1), watermark=minute(5)).at(minute(3), watermark=minute(10))
    panes = reference.run(percentile, {SCORES: main, OTHERS: others}).panes
    assert [(pane.processing_time, pane.value, pane.timing) for pane in panes] == [
        (processing_time(minute(3)), 3, Timing.EARLY),
        (processing_time(minute(4)), 11, Timing.EARLY),
    ]


def test_an_element_reads_its_side_window_once_when_complete() -> None:
    """An element waits until its side window is complete, and the value that it has read never changes."""
    read = SCORES.map_with(TOTALS.as_singleton(), lambda s, total: KV(s.team, s.points * total))
    values = read.window(
        FIVE, trigger=Repeat(AtCount(1)), accumulation=Accumulation.DISCARDING
    ).combine_per_key(Sum())
    main = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)), watermark=minute(4))
        .at(minute(5), watermark=minute(9))
        .at(minute(8), Score("a", 100, minute(2)))
    )
    others = (
        Timeline[Score]()
        .at(minute(1), Score("x", 2, minute(1)))
        .at(minute(3), Score("x", 3, minute(4)))
        .at(minute(6), watermark=minute(5))
        .at(minute(7), Score("x", 70, minute(3)))
    )
    run = reference.run(values, {SCORES: main, OTHERS: others})
    assert [(pane.processing_time, pane.value) for pane in run.panes] == [
        (processing_time(minute(6)), 5),
        (processing_time(minute(8)), 500),
    ]
    assert [(drop.reason, drop.change) for drop in run.dropped] == [
        (DropReason.CLOSED, Change.RETRACTION),
        (DropReason.CLOSED, Change.VALUE),
    ]
    waited = [(reading.processing_time, reading.output) for reading in run.watermarks]
    assert waited[2] == (processing_time(minute(5)), event_time(minute(1)))
    assert waited[3] == (processing_time(minute(6)), event_time(minute(9)))


def test_a_retraction_reads_the_side_value_of_its_value() -> None:
    """A retraction reads the same side value as the value that it retracts."""
    retracting = POINTS.window(
        FIVE, trigger=Repeat(AtCount(1)), accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER
    ).combine_per_key(Sum())
    scaled = retracting.map_with(TOTALS.as_singleton(), lambda pair, total: KV(pair.key, pair.value * total))
    summed = scaled.combine_per_key(Sum())
    main = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(1)))
        .at(minute(2), Score("a", 2, minute(2)), watermark=minute(6))
        .at(minute(8), Score("a", 3, minute(3)))
    )
    others = Timeline[Score]().at(minute(0), Score("x", 10, minute(1)), watermark=minute(5)).end(minute(9))
    panes = reference.run(scaled, {SCORES: main, OTHERS: others}).panes
    assert [(pane.change, pane.value) for pane in panes] == [
        (Change.VALUE, 10),
        (Change.RETRACTION, 10),
        (Change.VALUE, 30),
        (Change.RETRACTION, 30),
        (Change.VALUE, 60),
    ]
    panes = reference.run(summed, {SCORES: main.end(minute(9)), OTHERS: others}).panes
    assert [pane.value for pane in panes if pane.change is Change.VALUE][-1] == 60


def test_a_collection_that_is_used_twice_drops_once() -> None:
    """A collection that is used twice is grouped once, and drops an element once."""
    sums = POINTS.window(FIVE, allowed_lateness=timedelta(0)).combine_per_key(Sum())
    both = sums.inner_join(sums)
    timeline = Timeline[Score]().at(minute(0), watermark=minute(9)).at(minute(9), Score("a", 1, minute(1)))
    assert len(reference.run(both, {SCORES: timeline}).dropped) == 1


def test_filter_and_flat_map_read_side_inputs() -> None:
    """``filter_with`` and ``flat_map_with`` read a side input as ``map_with`` does."""
    scores = [Score("a", 1, minute(1)), Score("b", 3, minute(2))]
    others = [Score("x", 2, minute(1))]
    above = SCORES.filter_with(TOTALS.as_singleton(), lambda s, total: s.points > total).combine_globally(
        ToList()
    )
    repeated = SCORES.flat_map_with(TOTALS.as_singleton(), lambda s, total: [s.team] * total)
    inputs: Mapping[Source[object], list[object]] = {SCORES: [*scores], OTHERS: [*others]}
    assert [pane.element for pane in reference.run_batch(above, inputs).panes] == [[scores[1]]]
    listed = reference.run_batch(repeated.combine_globally(ToList()), inputs).panes
    assert [pane.element for pane in listed] == [["a", "a", "b", "b"]]


def test_a_side_value_must_be_unique_and_present() -> None:
    """A singleton without a value or with several, and a map with one key twice, are errors."""
    scores = [Score("a", 1, minute(1))]
    raw = OTHERS.window(FIVE)
    listed = ToList[object]()

    def read(side: SideInput[object], others: list[Score]) -> None:
        pipeline = SCORES.map_with(side, lambda s, value: value).combine_globally(listed)
        reference.run_batch(pipeline, {SCORES: scores, OTHERS: others})

    with pytest.raises(
        ElementError, match=r"no value in \[2024-01-01T12:00:00Z.*as_singleton\(default=...\)"
    ):
        read(raw.as_singleton(), [])
    two = [Score("x", 1, minute(1)), Score("x", 2, minute(2))]
    with pytest.raises(
        ElementError, match=r"as_singleton\(\) has 2 values in .*must have one\. Combine them"
    ):
        read(raw.as_singleton(), two)
    with pytest.raises(ElementError, match=r"as_map\(\) has .* under 'x' \(str\) in .*must have one value"):
        read(raw.key_by(lambda s: s.team).as_map(), two)


def two_windows(point: EventTime, key: object) -> list[Window]:
    """Returns two windows around a point."""
    return [Window(point, EventTime(point + size)) for size in (1, 2)]


BAD_WINDOWS: list[WindowFn] = [
    Sessions(timedelta(minutes=1)),
    SlidingWindows(timedelta(minutes=2), timedelta(minutes=1)),
    FixedWindows(timedelta(minutes=2), offset_by_key=lambda key: timedelta(0)),
    CalendarDays(lambda key: "UTC"),
    WindowsByValue("by value", lambda point, key, value: two_windows(point, key)),
]


@pytest.mark.parametrize("windows", BAD_WINDOWS, ids=str)
def test_a_side_input_must_have_one_window_for_each_event_time(windows: WindowFn) -> None:
    """Window functions that do not give each event time exactly one window are errors for side inputs."""
    makers: list[Callable[[], object]] = [
        lambda: SCORES.window(windows).as_singleton(),
        lambda: POINTS.window(windows).as_map(),
    ]
    for make, method in zip(makers, ("as_singleton", "as_map"), strict=True):
        with pytest.raises(
            ArgumentError,
            match=rf"the windows of {method}\(\) must be windows that put each event time into one window, .*; got ",
        ):
            make()


def test_a_table_that_changes_slowly_needs_windows_that_follow_each_other() -> None:
    """``latest_complete`` rejects the global window, user-defined windows, and a side input that has it already."""
    halves = CustomWindows("halves", lambda point, key: [Window(point, EventTime(point + 1))])
    for windows in (GlobalWindows(), halves):
        with pytest.raises(
            ArgumentError,
            match=r"the windows of latest_complete\(\) must be windows that follow each other: fixed or calendar",
        ):
            OTHERS.window(windows).as_singleton().latest_complete()
    latest = OTHERS.window(FIVE).as_singleton().latest_complete()
    with pytest.raises(ArgumentError, match=r"as_singleton\(\) or as_map\(\); got LatestComplete"):
        latest.latest_complete()


def test_an_element_without_a_complete_value_needs_a_default() -> None:
    """Before the first complete window, a singleton has its default, or is an error; a mapping is empty."""
    before, after = Score("a", 1, minute(4)), Score("a", 2, minute(5))

    def read(side: SideInput[object]) -> list[object]:
        listed = SCORES.map_with(side, lambda s, value: value)
        run = reference.run_batch(listed, {SCORES: [before, after], OTHERS: [Score("x", 7, minute(1))]})
        return [element.element for element in run.elements]

    assert read(TOTALS.as_singleton(default=None).latest_complete()) == [None, 7]
    mapping = OTHERS.key_by(lambda s: s.team).map_values(lambda s: s.points).window(FIVE).as_map()
    assert read(mapping.latest_complete()) == [{}, {"x": 7}]
    with pytest.raises(
        ElementError, match=r"no value before 2024-01-01T12:00:00Z.*as_singleton\(default=...\)"
    ):
        read(TOTALS.as_singleton().latest_complete())


FOLLOWING: st.SearchStrategy[WindowFn] = st.sampled_from(
    [
        FIVE,
        FixedWindows(timedelta(minutes=7), timedelta(minutes=3)),
        CalendarDays("UTC", timedelta(minutes=6)),
    ]
)


@given(FOLLOWING, MANY, MANY)
def test_the_local_engine_finds_the_newest_complete_values(
    windows: WindowFn, main: list[Reading], rates: list[Reading]
) -> None:
    """In a batch on Polars, elements read the newest complete values of the reference: a join, or in Python."""
    keyed = RATES.key_by(lambda r: r.key).map_values(lambda r: r.value).window(windows)
    totals = keyed.map(lambda pair: pair.value).combine_globally(Sum()).as_singleton(default=-1)
    by_key = keyed.combine_per_key(Sum()).as_map()
    read = READINGS.map_with(totals.latest_complete(), lambda reading, total: (reading, total))
    both = read.map_with(
        by_key.latest_complete(),
        lambda pair, sums: (pair[0].key, pair[1], sums.get(pair[0].key, -1)),
        result=tuple[str, int, int],
    )
    inputs: dict[Source[object], Timeline[object]] = {
        READINGS: Timeline.batch(main, time=minute(0)),
        RATES: Timeline.batch(rates, time=minute(0)),
    }
    assert PolarsBatch().run(both, inputs).elements == reference.ReferenceBatch().run(both, inputs).elements


def test_an_element_waits_for_the_windows_before_its_own() -> None:
    """An element reads as soon as the side's watermark is at the start of its window, and not a window that is open."""
    side = TOTALS.as_singleton(default=0).latest_complete()
    read = SCORES.map_with(side, lambda s, value: (s.points, value))
    main = (
        Timeline[Score]()
        .at(minute(1), Score("a", 1, minute(7)), Score("a", 2, minute(4)))
        .at(minute(9), Score("a", 3, minute(12)), watermark=minute(12))
        .end(minute(20))
    )
    others = (
        Timeline[Score]()
        .at(minute(1), Score("x", 10, minute(1)), Score("x", 70, minute(6)), watermark=minute(0))
        .at(minute(8), watermark=minute(5))
        .at(minute(11), watermark=minute(10))
        .end(minute(30))
    )
    run = reference.run(read, {SCORES: main, OTHERS: others})
    assert [(element.processing_time, element.element) for element in run.elements] == [
        (processing_time(minute(1)), (2, 0)),
        (processing_time(minute(8)), (1, 10)),
        (processing_time(minute(11)), (3, 70)),
    ]


def test_two_side_windows_of_one_event_time_are_an_error() -> None:
    """A user-defined function that gives two side windows for one event time is an error."""
    twice = OTHERS.window(CustomWindows("twice", two_windows)).as_singleton()
    with pytest.raises(ElementError, match="twice puts the event time .* a side input needs one window"):
        reference.run_batch(
            SCORES.with_side(twice).combine_globally(Count()),
            {SCORES: [Score("a", 1, minute(1))], OTHERS: []},
        )
