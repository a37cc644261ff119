"""Idle sources and the sources that are read together with them (SEMANTICS section 9).

The oracle computes the watermarks of sources from their definition, instant by instant. The vectorized step is compared
with the reference on pipelines of two sources with generated watermarks, idle and active.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby

import flowalg_reference as reference
import pytest
from attrs import evolve
from flowalg_laws.conformance.drawing import full_line
from flowalg_laws.conformance.drops import count_drops
from flowalg_laws.conformance.jobs.transforms import OTHERS, in_fives, other_values
from flowalg_laws.kit.readings import READINGS, VALUES, Reading, event_time_of, key_of, value_of
from flowalg_laws.strategies import free_timelines
from flowalg_laws.strategies.times import point
from flowalg_polars import Cluster, PolarsStreaming
from flowalg_reference import Reference
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    KV,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Interpreter,
    Max,
    Mode,
    PCollection,
    Source,
    Sum,
    Timeline,
    Window,
    flatten,
)
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.data.time import EventTime, ProcessingTime, event_time, processing_time
from flowalg.runs import Timing

MINUTE = timedelta(minutes=1)


def source_watermarks(
    timelines: tuple[Timeline[Reading], ...],
) -> list[tuple[ProcessingTime, list[EventTime]]]:
    """Returns the processing time and the watermarks of sources after each instant, from the definition."""
    numbered = [
        (time, number, source, instant)
        for source, timeline in enumerate(timelines)
        for time, same in groupby(timeline, key=lambda instant: instant.processing_time)
        for number, instant in enumerate(same)
    ]
    readings: list[tuple[ProcessingTime, list[EventTime]]] = []
    watermarks = [MIN_TIME for _ in timelines]
    for moment in sorted({(time, number) for time, number, _, _ in numbered}):
        waiting: list[EventTime] = []
        idle: list[int] = []
        for source in range(len(timelines)):
            past = [
                instant for time, number, of, instant in numbered if of == source and (time, number) <= moment
            ]
            last = past[-1] if past else None
            watermarks[source] = max(watermarks[source], MIN_TIME if last is None else last.watermark)
            if watermarks[source] == MAX_TIME:
                continue
            if last is not None and last.idle_at is not None and last.idle_at <= moment[0]:
                idle.append(source)
            else:
                waiting.append(watermarks[source])
        if idle:
            reached = min(waiting) if waiting else max(watermarks[source] for source in idle)
            for source in idle:
                watermarks[source] = max(watermarks[source], reached)
        readings.append((moment[0], list(watermarks)))
    return readings


THIRD = Source("third", Reading, event_time=event_time_of)
third_values = THIRD.key_by(key_of).map_values(value_of)


@given(free_timelines(), free_timelines(), free_timelines())
def test_the_watermark_of_a_union_leaves_idle_sources_out(
    first: Timeline[Reading], second: Timeline[Reading], third: Timeline[Reading]
) -> None:
    """An idle source has the least watermark of the active ones, or the greatest if all are idle; none moves back."""
    first, second, third = (
        Timeline(tuple(evolve(instant, elements=()) for instant in timeline))
        for timeline in (first, second, third)
    )
    run = reference.run(
        in_fives(flatten(VALUES, other_values, third_values)).combine_per_key(Sum()),
        {READINGS: first, OTHERS: second, THIRD: third},
        mode=Mode.MICRO_BATCH,
    )
    readings = [(reading.processing_time, reading.output) for reading in run.watermarks]
    expected = [(time, min(watermarks)) for time, watermarks in source_watermarks((first, second, third))]
    assert readings == expected
    assert [reading.input for reading in run.watermarks] == [reading.output for reading in run.watermarks]


def add_side_value(pair: KV[str, int], side: int) -> KV[str, int]:
    """Adds the value of a side input to a value."""
    return KV(pair.key, pair.value + side)


TOTALS = in_fives(other_values).map(lambda pair: pair.value).combine_globally(Sum())
UNION = in_fives(flatten(VALUES, other_values)).combine_per_key(Sum())
NESTED = in_fives(
    flatten(in_fives(VALUES).combine_per_key(Sum()), in_fives(other_values).combine_per_key(Sum()))
).combine_per_key(Count())
JOIN = in_fives(VALUES).left_join(in_fives(other_values))
SIDE = in_fives(VALUES.map_with(TOTALS.as_singleton(default=0), add_side_value)).combine_per_key(Sum())


@pytest.mark.long
@pytest.mark.parametrize("pipeline", [UNION, NESTED, JOIN, SIDE], ids=["union", "nested", "join", "side"])
@given(first=free_timelines(), second=free_timelines(), mode=st.sampled_from(Mode))
def test_the_step_leaves_idle_sources_out_as_the_reference_does(
    pipeline: PCollection[KV[str, object]], first: Timeline[Reading], second: Timeline[Reading], mode: Mode
) -> None:
    """With idle sources, the step has the panes and drops of the reference, where two sources meet in any way."""
    inputs = {READINGS: first, OTHERS: second}
    run = PolarsStreaming(Cluster(partitions=2, shards=2), mode=mode).run(pipeline, inputs)
    expected = reference.run(pipeline, inputs, mode=mode)
    assert list(map(full_line, run.panes)) == list(map(full_line, expected.panes))
    assert count_drops(run.dropped) == count_drops(expected.dropped)


@given(free_timelines(), free_timelines())
def test_nested_unions_have_one_watermark(first: Timeline[Reading], second: Timeline[Reading]) -> None:
    """Law: ``flatten`` is associative with idle sources too, although what is left out returns."""
    summed = VALUES.map_values(lambda value: value)
    nested = flatten(flatten(VALUES, other_values), summed)
    flat = flatten(VALUES, flatten(other_values, summed))
    inputs = {READINGS: first, OTHERS: second}
    runs = [reference.run(in_fives(union).combine_per_key(Count()), inputs) for union in (nested, flat)]
    assert runs[0].panes == runs[1].panes
    assert runs[0].watermarks == runs[1].watermarks


def of_source(number: int, values: PCollection[KV[str, int]]) -> PCollection[KV[str, int]]:
    """Returns the sums of values in a grouping of their own, under keys that name their source."""
    return in_fives(values.map(lambda pair: KV(f"{number}{pair.key}", pair.value))).combine_per_key(Sum())


OWN = flatten(
    *(of_source(number, values) for number, values in enumerate((VALUES, other_values, third_values)))
)


@given(free_timelines(), free_timelines(), free_timelines())
def test_the_own_grouping_of_an_idle_source_goes_on(
    first: Timeline[Reading], second: Timeline[Reading], third: Timeline[Reading]
) -> None:
    """Each pane of a grouping of one source shows the watermark of that source, by the same rule."""
    inputs = {READINGS: first, OTHERS: second, THIRD: third}
    run = reference.run(OWN, inputs, mode=Mode.MICRO_BATCH)
    by_time = dict[ProcessingTime, list[list[EventTime]]]()
    for time, watermarks in source_watermarks((first, second, third)):
        by_time.setdefault(time, []).append(watermarks)
    for pane in run.panes:
        source = int(pane.key[0])
        assert pane.watermark in {watermarks[source] for watermarks in by_time[pane.processing_time]}


def timeline(*records: tuple[float, float], policy: BoundedOutOfOrderness) -> Timeline[Reading]:
    """Returns the timeline of records with a processing and an event time in minutes, without its end."""
    return Timeline.from_records(
        READINGS,
        [Reading("a", 1, point(int(at)), point(int(seen))) for seen, at in records],
        processing_time=lambda reading: reading.seen,
        watermark=policy,
        ends=False,
    )


ENGINES: list[Interpreter] = [
    Reference(Mode.MICRO_BATCH),
    Reference(),
    PolarsStreaming(Cluster(partitions=2, shards=2)),
    PolarsStreaming(mode=Mode.CONTINUOUS),
    PolarsStreaming(Cluster(partitions=2, shards=2), generate_watermarks=True),
]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_the_last_update_of_an_idle_table_is_read(engine: Interpreter) -> None:
    """A table falls silent with an update pending in its own grouping: the grouping emits it, and it is read."""
    policy = BoundedOutOfOrderness(timedelta(0), idle_after=4 * MINUTE)
    table = [Reading("a", 10, point(1), point(1)), Reading("a", 20, point(6), point(6))]
    updates = Timeline.from_records(
        OTHERS, table, processing_time=lambda reading: reading.seen, watermark=policy, ends=False
    )
    stream = timeline(*((at, at) for at in range(1, 30, 2)), policy=policy)
    latest = in_fives(other_values).combine_per_key(Sum()).map(lambda pair: pair.value)
    side = latest.window(FixedWindows(5 * MINUTE), allowed_lateness=FOREVER).combine_globally(Max())
    greatest = side.as_singleton(default=0).latest_complete()
    run = engine.run(VALUES.map_with(greatest, add_side_value), {READINGS: stream, OTHERS: updates})
    start = event_time(point(0))
    side_values = [
        ((element.event_time - start) // 60_000_000, element.element.value - 1) for element in run.elements
    ]
    assert side_values == [(at, 0 if at < 5 else 10 if at < 10 else 20) for at in range(1, 30, 2)]
    assert not run.dropped


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_the_own_grouping_of_an_idle_source_emits(engine: Interpreter) -> None:
    """The last window of a silent source is emitted when the other source has passed it, in the same run."""
    policy = BoundedOutOfOrderness(timedelta(0), idle_after=4 * MINUTE)
    inputs = {
        READINGS: timeline((1, 1), policy=policy),
        OTHERS: timeline(*((at, at) for at in range(1, 12)), policy=policy),
    }
    own = in_fives(VALUES.map(lambda pair: KV("own", pair.value))).combine_per_key(Sum())
    others = in_fives(other_values).combine_per_key(Sum())
    panes = engine.run(flatten(own, others), inputs).panes
    start = processing_time(point(0))
    assert [(pane.processing_time - start) // 60_000_000 for pane in panes if pane.key == "own"] == [5]


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_sources_that_nothing_reads_together_do_not_follow_each_other(engine: Interpreter) -> None:
    """Of two outputs the idle source of one waits for its own elements, unless a third output reads both sources."""
    policy = BoundedOutOfOrderness(timedelta(0), idle_after=4 * MINUTE)
    inputs = {
        READINGS: timeline((1, 1), policy=policy),
        OTHERS: timeline(*((at, at) for at in range(1, 12)), policy=policy),
    }
    own = in_fives(VALUES).combine_per_key(Sum())
    apart = {"own": own, "others": in_fives(other_values).combine_per_key(Sum())}
    assert engine.run(apart, inputs)["own"].panes == ()
    start = processing_time(point(0))
    panes = engine.run({**apart, "both": UNION}, inputs)["own"].panes
    assert [(pane.processing_time - start) // 60_000_000 for pane in panes] == [5]


def timings(first: Timeline[Reading], second: Timeline[Reading]) -> list[tuple[int, int, Timing]]:
    """Returns the minute, the value and the timing of each pane of a union."""
    panes = reference.run(
        flatten(VALUES, other_values).window(FixedWindows(5 * MINUTE)).combine_per_key(Sum()),
        {READINGS: first, OTHERS: second},
    ).panes
    start = processing_time(point(0))
    return [((pane.processing_time - start) // 60_000_000, pane.value, pane.timing) for pane in panes]


def test_an_idle_source_is_waited_for_again_when_it_has_records() -> None:
    """A silent source holds the union back until it is idle; what it brings later may be late, and holds it again."""
    policy = BoundedOutOfOrderness(timedelta(0), idle_after=4 * MINUTE)
    steady = timeline((1, 1), (6, 6), (7, 7), (12, 12), (16, 16), (17, 17), policy=policy)
    silent = timeline((3, 3), (13, 4), policy=policy)
    assert timings(steady, silent) == [
        (7, 2, Timing.ON_TIME),
        (12, 2, Timing.ON_TIME),
        (13, 3, Timing.LATE),
        (17, 1, Timing.ON_TIME),
    ]
    patient = timeline((3, 3), (13, 4), policy=BoundedOutOfOrderness(timedelta(0)))
    assert timings(steady, patient) == []


def test_a_source_that_never_starts_is_idle_after_a_while() -> None:
    """A source without any record is idle ``idle_after`` beyond the first instant of any source."""
    policy = BoundedOutOfOrderness(timedelta(0), idle_after=4 * MINUTE)
    steady = timeline((1, 1), (4, 6), (5, 7), policy=policy)
    assert timings(steady, timeline(policy=policy)) == [(5, 1, Timing.ON_TIME)]
    assert timings(steady, timeline(policy=BoundedOutOfOrderness(timedelta(0)))) == []


def test_the_cause_of_waiting_is_not_an_idle_source() -> None:
    """``why_not`` names the source that holds the watermark, and an idle one only if all are idle."""
    policy = BoundedOutOfOrderness(timedelta(0), idle_after=4 * MINUTE)
    steady = timeline((1, 1), (6, 4), policy=policy)
    silent = timeline((1, 2), policy=policy)
    pipeline = flatten(VALUES, other_values).window(FixedWindows(5 * MINUTE)).combine_per_key(Sum())
    run = reference.run(pipeline, {READINGS: steady, OTHERS: silent})
    window = Window(event_time(point(0)), event_time(point(5)))

    def cause(minute: int) -> str:
        return str(reference.why_not(run, "a", window, at=point(minute)).hold)

    assert (
        cause(3)
        == "source 'readings', whose watermark is at 2024-01-01T00:01:00Z; its greatest event time is "
        "2024-01-01T00:01:00Z"
    )
    assert cause(6).startswith("source 'readings', whose watermark is at 2024-01-01T00:04:00Z")
    both = Timeline[Reading]().at(
        point(1), Reading("a", 1, point(1), point(1)), watermark=point(1), idle=True
    )
    run = reference.run(pipeline, {READINGS: both, OTHERS: both.at(point(1), watermark=point(2), idle=True)})
    assert (
        cause(1) == "source 'others', which is idle, as all others are, and whose watermark is at "
        "2024-01-01T00:02:00Z"
    )
