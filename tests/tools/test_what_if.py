"""What-if analysis: the results of each choice equal those of the reference interpreter.

The analysis computes counts from instants and window ends, whereas the reference runs each element through the six
steps of a grouping. The comparison detects wrong bounds, instants that are too early, and wrong watermarks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil
from pathlib import Path

import flowalg_reference as reference
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from attrs import evolve, frozen
from flowalg_laws.strategies import (
    durations,
    fixed_windows,
    fixed_windows_by_key,
    minutes,
    sessions,
    sliding_windows,
    watermark_policies,
)
from flowalg_reference.operators import Operators
from flowalg_reference.run import execute
from flowalg_tools.what_if import Choice, Latency, Recommendation, RecordedDelays, StateSize, WhatIf, what_if
from flowalg_tools.what_if.counting import Arrivals, OnTimeCounts
from flowalg_tools.what_if.formatting import format_duration, format_policy, format_rounded, format_share
from flowalg_tools.what_if.grid import round_up
from flowalg_tools.what_if.observed import ObservedRecords
from flowalg_tools.what_if.ranges import WaveletMatrix
from flowalg_tools.what_if.watermarks import PolicyWatermarks
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import (
    FOREVER,
    KV,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    CalendarDays,
    Count,
    EventTime,
    FixedWindows,
    GlobalWindows,
    Mode,
    MonotonicTimestamps,
    PCollection,
    Sessions,
    Source,
    Timeline,
    Window,
    event_time,
)
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.errors import ArgumentError, MissingExtraError, UnsupportedError, UserFunctionError
from flowalg.runs import Timing
from flowalg.watermarks import ClockView, CustomPolicy, LagQuantile, ProcessingTimeLag, WatermarkPolicy
from flowalg.windows import AllowedLateness, CustomWindows, WindowFn
from flowalg.windows.window_functions import assign_windows
from tests.support.scores import NOON, minute

MINUTE = timedelta(minutes=1)


@frozen
class Sample:
    """A record with both times."""

    key: str
    partition: str
    at: datetime
    observed: datetime


SAMPLES = Source("samples", Sample, event_time=lambda s: s.at)


@frozen
class Case:
    """Recorded elements, and the parameters of an analysis."""

    samples: tuple[Sample, ...]
    policy: WatermarkPolicy
    windows: WindowFn
    lateness: AllowedLateness
    every: timedelta
    tick: timedelta | None
    ends: bool

    @property
    def records(self) -> RecordedDelays:
        """The elements as columns."""
        return RecordedDelays.from_records(
            SAMPLES,
            self.samples,
            processing_time=lambda s: s.observed,
            key=lambda s: s.key,
            partition=lambda s: s.partition,
            kept=lambda s: s.key != "z",
        )

    @property
    def observed(self) -> ObservedRecords:
        """The elements in their instants."""
        return ObservedRecords.of(self.records, every=self.every, tick=self.tick, ends=self.ends)

    @property
    def timeline(self) -> Timeline[Sample]:
        """The timeline of the reference run."""
        return Timeline.from_records(
            SAMPLES,
            self.samples,
            processing_time=lambda s: s.observed,
            watermark=self.policy,
            partition=lambda s: s.partition,
            every=self.every,
            tick=self.tick,
            ends=self.ends,
        )

    @property
    def pipeline(self) -> PCollection[KV[str, int]]:
        """Counts of all keys except z, at the watermark and at each late element."""
        trigger = AtWatermark().with_late_firings(AtCount(1))
        keyed = SAMPLES.filter(lambda s: s.key != "z").key_by(lambda s: s.key)
        return keyed.window(self.windows, trigger=trigger, allowed_lateness=self.lateness).combine_per_key(
            Count()
        )

    @property
    def choice(self) -> Choice:
        """The results of the choice."""
        results = what_if(
            self.records,
            self.windows,
            policies=[self.policy],
            lateness=[self.lateness],
            every=self.every,
            tick=self.tick,
            ends=self.ends,
        )
        (choice,) = results.choices
        return choice


def samples() -> st.SearchStrategy[tuple[Sample, ...]]:
    """Records of three keys, of which a filter drops one, and of three partitions, with independent or close times."""
    free = st.builds(Sample, st.sampled_from("abz"), st.sampled_from("pqr"), minutes(), minutes())
    lags = st.integers(-2, 6).map(lambda lag: lag * MINUTE)
    close = st.builds(
        lambda key, partition, at, lag: Sample(key, partition, at, at + lag),
        st.sampled_from("abz"),
        st.sampled_from("pqr"),
        minutes(),
        lags,
    )
    few = st.builds(Sample, st.just("a"), st.just("p"), minutes(0, 6), minutes(0, 40))
    return st.one_of([st.lists(kind, min_size=1, max_size=25).map(tuple) for kind in (free, close, few)])


def windowings() -> st.SearchStrategy[WindowFn]:
    """Supported windows: fixed, sliding with and without gaps, days, and global."""
    rare = st.sampled_from((CalendarDays("Europe/Berlin"), GlobalWindows()))
    return st.one_of(fixed_windows(), fixed_windows(), sliding_windows(), sliding_windows(), rare)


def cases() -> st.SearchStrategy[Case]:
    """Any records under any policy, in any supported windows."""
    lateness: st.SearchStrategy[AllowedLateness] = st.one_of(
        st.just(timedelta(0)), durations(), durations(), st.sampled_from((FOREVER, timedelta.max))
    )
    every = st.sampled_from((timedelta(microseconds=1), MINUTE, 3 * MINUTE, 20 * MINUTE))
    return st.builds(
        Case,
        samples(),
        watermark_policies(),
        windowings(),
        lateness,
        every,
        st.none() | durations(1, 9),
        st.booleans(),
    )


def run_reference(case: Case) -> reference.ReferenceRun[KV[str, int]]:
    """Runs a case in the reference interpreter."""
    return reference.run(case.pipeline, {SAMPLES: case.timeline})


def in_windows(case: Case) -> list[tuple[Sample, Window, EventTime]]:
    """Each element in each of its windows, with the watermark before the instant in which it is observed."""
    timeline = case.timeline
    before = (MIN_TIME, *(instant.watermark for instant in timeline))
    return [
        (element, window, watermark)
        for instant, watermark in zip(timeline, before, strict=False)
        for element in instant.elements
        if element.key != "z"
        for window in assign_windows(case.windows, event_time(element.at), element.key, element)
    ]


def nearest_rank(latencies: Iterable[int], share: float) -> timedelta:
    """The least latency that at least this share of the latencies does not exceed."""
    ordered = sorted(latencies)
    return timedelta(microseconds=ordered[ceil(round(share * len(ordered), 6)) - 1])


# The law.


# More examples than the profile has: an error at a bound only shows if both times meet there.
more_examples = settings(max_examples=2 * settings().max_examples)


@more_examples
@given(cases(), st.lists(watermark_policies(), max_size=6))
def test_instants_and_watermarks_are_those_of_the_timeline(
    case: Case, policies: list[WatermarkPolicy]
) -> None:
    """Under every policy and option, the instants have the processing times and watermarks of the timeline."""
    watermarks = PolicyWatermarks(case.observed)
    for policy in (case.policy, *policies):
        timeline = evolve(case, policy=policy).timeline
        assert case.observed.clock.tolist() == [instant.processing_time for instant in timeline]
        assert watermarks.of(policy).tolist() == [instant.watermark for instant in timeline]


@more_examples
@given(cases())
def test_late_and_dropped_elements_are_those_of_the_reference(case: Case) -> None:
    """Elements in windows that the watermark had passed are late, and the number of dropped ones is that of the run."""
    choice, assigned = case.choice, in_windows(case)
    assert choice.elements == len(assigned)
    assert choice.late == sum(window.end <= watermark for _, window, watermark in assigned)
    assert choice.dropped == len(run_reference(case).dropped)
    assert choice.dropped <= choice.late <= choice.elements


@more_examples
@given(cases())
def test_panes_are_those_of_the_reference(case: Case) -> None:
    """The numbers of on-time and late panes are those of the run, and of windows too if the input ends."""
    choice, panes = case.choice, run_reference(case).panes
    assert choice.on_time_panes == sum(pane.timing is Timing.ON_TIME for pane in panes)
    assert choice.late_panes == sum(pane.timing is Timing.LATE for pane in panes)
    assert choice.panes == len(panes)
    if case.ends:
        assert choice.windows == len({(pane.key, pane.window) for pane in panes})


@more_examples
@given(cases())
def test_latencies_are_those_of_the_reference(case: Case) -> None:
    """The latencies of all on-time panes, their median and their 95th percentile are those of the run."""
    latencies = [
        pane.processing_time - pane.window.end
        for pane in run_reference(case).panes
        if pane.timing is Timing.ON_TIME
    ]
    counts = OnTimeCounts.of(
        case.observed,
        Arrivals.of(case.observed, case.windows),
        PolicyWatermarks(case.observed).of(case.policy),
    )
    assert np.repeat(counts.latencies, counts.panes).tolist() == sorted(latencies)
    expected = Latency(nearest_rank(latencies, 0.5), nearest_rank(latencies, 0.95)) if latencies else None
    assert case.choice.latency == expected


@more_examples
@given(cases())
def test_live_windows_are_those_of_the_grouping(case: Case) -> None:
    """The state is the number of windows of the reference's grouping after each instant, weighted by duration."""
    timeline = tuple(case.timeline)[: len(case.observed.times)]
    live = []
    for end in range(1, len(timeline) + 1):
        operators = Operators()
        timelines = {"samples": Timeline(timeline[:end])}
        execute({"": case.pipeline}, timelines, Mode.MICRO_BATCH, operators)
        (grouping,) = operators.groupings.values()
        live.append(sum(map(len, grouping.windows.values())))
    times = [instant.processing_time for instant in timeline]
    spans = [after - before for before, after in pairwise(times)]
    mean = (
        sum(count * time for count, time in zip(live, spans, strict=False)) / sum(spans)
        if sum(spans)
        else live[-1]
    )
    state = case.choice.state
    assert state.maximum == max(live)
    assert state.mean == pytest.approx(mean, rel=1e-12)


@given(cases(), st.lists(watermark_policies(), min_size=1, max_size=3))
def test_a_choice_does_not_depend_on_the_others_in_the_grid(
    case: Case, policies: list[WatermarkPolicy]
) -> None:
    """The results of a choice are the same in a larger grid: shared intermediate results do not affect them."""
    grid = what_if(
        case.records,
        case.windows,
        policies=[*policies, case.policy],
        lateness=[timedelta(0), case.lateness],
        every=case.every,
        tick=case.tick,
        ends=case.ends,
    )
    assert grid.choices[-1] == case.choice


@pytest.mark.parametrize("lateness", [FOREVER, timedelta.max, timedelta(days=999)])
def test_an_unlimited_lateness_exceeds_any_delay(lateness: AllowedLateness) -> None:
    """An element that is a year late is accepted, and its window is still live."""
    moments = (0, 1, 200 * 24 * 60, 400 * 24 * 60)
    case = Case(
        tuple(Sample("a", "p", minute(0), minute(at)) for at in moments),
        ProcessingTimeLag(timedelta(0)),
        FixedWindows(MINUTE),
        lateness,
        MINUTE,
        tick=None,
        ends=True,
    )
    assert run_reference(case).dropped == ()
    assert (case.choice.late, case.choice.dropped, case.choice.state) == (2, 0, StateSize(1.0, 1))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.data())
def test_a_wavelet_matrix_finds_any_rank_of_any_range(numbers: list[int], data: st.DataObject) -> None:
    """The result equals that of sorting the range."""
    start = data.draw(st.integers(0, len(numbers) - 1))
    end = data.draw(st.integers(start + 1, len(numbers)))
    ranks = list(range(end - start))
    matrix = WaveletMatrix.of(np.array(numbers, dtype=np.int64))
    smallest = matrix.smallest(
        np.full(len(ranks), start), np.full(len(ranks), end), np.array(ranks, dtype=np.int64)
    )
    assert smallest.tolist() == sorted(numbers[start:end])


# The choices.


def default_grid(samples: Iterable[Sample]) -> WhatIf:
    """The results of the default grid on some records."""
    return what_if(
        RecordedDelays.from_records(
            SAMPLES, samples, processing_time=lambda s: s.observed, key=lambda s: s.key
        ),
        FixedWindows(5 * MINUTE),
    )


@given(samples())
def test_no_choice_dominates_the_frontier(records: tuple[Sample, ...]) -> None:
    """A choice on the frontier is not dominated; every other choice is dominated by a choice on the frontier."""
    grid = default_grid(records)
    costs = [choice.costs for choice in grid.choices]
    for choice in grid.choices:
        better = [
            other
            for other in costs
            if other != choice.costs and all(a <= b for a, b in zip(other, choice.costs, strict=True))  # type: ignore[operator]
        ]
        assert (choice in grid.frontier) == (not better)
        assert not better or any(other.dominates(choice) for other in grid.frontier)


shares = st.sampled_from((0.0, 0.02, 0.1, 0.3, 1.0))


@more_examples
@given(samples(), shares, shares)
def test_the_recommended_choice_is_the_fastest_within_the_limits(
    records: tuple[Sample, ...], late: float, dropped: float
) -> None:
    """It is within both limits, and no other choice within them has a lower median latency; otherwise it is None."""
    grid = default_grid(records)
    acceptable = [
        choice.latency.median
        for choice in grid.choices
        if choice.latency is not None and choice.late_share <= late and choice.dropped_share <= dropped
    ]
    best = grid.recommendation(late=late, dropped=dropped)
    if best.choice is None:
        assert not acceptable
        assert str(best).startswith(f"None of {len(grid.choices)} choices has at most")
    else:
        assert best.choice in grid.choices
        assert best.choice.late_share <= late
        assert best.choice.dropped_share <= dropped
        assert best.choice.latency is not None
        assert best.choice.latency.median == min(acceptable)
        assert str(best).startswith(f"Recommended: {best.choice}.")


@given(samples())
def test_a_table_has_a_line_for_each_choice(records: tuple[Sample, ...]) -> None:
    """The table has two lines of headings and a line for each choice, with ``*`` for the frontier, all equally long."""
    grid = default_grid(records)
    headings, lines = grid.table().splitlines()[:2], grid.table().splitlines()[2:-1]
    assert len(lines) == len(grid.choices)
    assert [line.startswith("*") for line in lines] == [choice in grid.frontier for choice in grid.choices]
    assert {len(line) for line in lines} == {len(headings[0])}
    assert str(grid) == grid.table()


def choice_of(
    late: int, dropped: int, latency: int, live: float, lateness: int = 0, delay: int = 1
) -> Choice:
    """Some results of a policy and a lateness, in minutes, on a hundred elements."""
    return Choice(
        policy=BoundedOutOfOrderness(delay * MINUTE),
        allowed_lateness=lateness * MINUTE,
        elements=100,
        late=late,
        dropped=dropped,
        windows=50,
        on_time_panes=50,
        late_panes=late - dropped,
        latency=Latency(latency * MINUTE, 2 * latency * MINUTE),
        state=StateSize(live, 10),
    )


GRID = WhatIf(
    FixedWindows(timedelta(hours=1)),
    (
        choice_of(30, 2, 1, 5.0, lateness=60, delay=1),
        choice_of(4, 4, 10, 4.0, lateness=0, delay=10),
        choice_of(4, 1, 10, 6.0, lateness=20, delay=10),
        choice_of(4, 0, 10, 8.0, lateness=60, delay=10),
        choice_of(3, 1, 20, 2.0, lateness=0, delay=20),
        choice_of(1, 1, 30, 7.0, lateness=0, delay=30),
    ),
)


def test_a_recommendation_gives_its_reasons() -> None:
    """The text states the rule, the results of the choice, and those of its neighbours."""
    assert str(GRID.recommendation()).splitlines() == [
        "Recommended: BoundedOutOfOrderness(10 min) with an allowed lateness of 20 min.",
        "4 of 6 choices have at most 5.0% late and at most 1.0% dropped elements. This one has the lowest latency: 50% "
        "of its on-time panes fire within 10 min of the end of their window, and 95% within 20 min.",
        "4.0% of the elements are late, and 1.0% are dropped. A window has 1.06 panes on average. There are 6.0 live "
        "windows on average, and at most 10.",
        "Faster: BoundedOutOfOrderness(1 min) with an allowed lateness of 1 h is 9 min faster, but 30.0% of the "
        "elements are late and 2.0% are dropped.",
        "Fewer late elements: BoundedOutOfOrderness(20 min) with an allowed lateness of 0 s has 3.0% late elements, "
        "but is 10 min slower and has 2.0 live windows on average.",
        "Shorter lateness: 0 s would drop 4.0%, more than 1.0%, with 4.0 live windows on average.",
        "Longer lateness: 1 h would drop 0%, with 8.0 live windows on average.",
    ]


def test_without_an_acceptable_choice_the_nearest_choices_are_named() -> None:
    """The text names the choices with the fewest late and dropped elements, and what to change."""
    recommendation = GRID.recommendation(late=0, dropped=0)
    assert recommendation == Recommendation(None, recommendation.text)
    assert str(recommendation).splitlines() == [
        "None of 6 choices has at most 0% late and at most 0% dropped elements.",
        "BoundedOutOfOrderness(30 min) with an allowed lateness of 0 s has the fewest late elements, 1.0%, and drops "
        "1.0%.",
        "BoundedOutOfOrderness(10 min) with an allowed lateness of 1 h has the fewest dropped elements, 0%.",
        "Raise a limit, or try policies that wait longer, and a longer allowed lateness.",
    ]


# The grid.


@given(samples())
def test_the_default_grid_depends_on_the_delays_of_the_records(records: tuple[Sample, ...]) -> None:
    """The grid has distinct policies of three kinds, and allowed lateness from zero to twice the longest delay."""
    grid = default_grid(records).choices
    policies, latenesses = {choice.policy for choice in grid}, {choice.allowed_lateness for choice in grid}
    assert len(grid) == len(policies) * len(latenesses)
    assert {type(policy) for policy in policies} == {BoundedOutOfOrderness, ProcessingTimeLag, LagQuantile}
    assert timedelta(0) in latenesses
    longest = max(timedelta(0), *(sample.observed - sample.at for sample in records))
    assert all(isinstance(lateness, timedelta) and lateness <= 2 * longest for lateness in latenesses)


@given(st.timedeltas(timedelta(0), timedelta(days=5000)))
def test_rounding_up_is_idempotent(duration: timedelta) -> None:
    """A rounded duration is not shorter than the original, and rounding it again does not change it."""
    micros = duration // timedelta(microseconds=1)
    assert round_up(micros) >= duration
    assert round_up(round_up(micros) // timedelta(microseconds=1)) == round_up(micros)


# The input.


def test_columns_of_every_kind_are_the_same_records() -> None:
    """Datetimes, microseconds, and columns of Polars, Arrow and numpy in any zone and unit give equal records."""
    at, seen = [minute(0), minute(3), minute(1)], [minute(2), minute(4), minute(9)]
    micros = np.array([event_time(time) for time in at]), np.array([event_time(time) for time in seen])
    polars = pl.Series(at).dt.convert_time_zone("Asia/Tokyo"), pl.Series(seen).dt.cast_time_unit("ms")
    arrow = (
        pa.array(at, pa.timestamp("us", "UTC")),
        pa.chunked_array([pa.array(seen, pa.timestamp("ns", "UTC"))]),
    )
    expected = RecordedDelays.of(at, seen, keys=["x", "y", "x"], partitions=[0, 1, 0])
    for events, times in (micros, polars, arrow, (micros[0].tolist(), seen)):
        records = RecordedDelays.of(
            events, times, keys=pl.Series([0, 1, 0]), partitions=np.array(["0", "1", "0"])
        )
        assert records.frame.equals(expected.frame)
    assert len(expected) == 3


def test_partitions_keep_their_names() -> None:
    """A user-defined policy receives the names of the partitions."""
    names: list[set[str]] = []

    def record_names(view: ClockView) -> None:
        names.append(set(view.partitions))

    records = RecordedDelays.of([minute(0), minute(1)], [minute(2), minute(3)], partitions=["north", "south"])
    what_if(records, GlobalWindows(), policies=[CustomPolicy("recording", record_names)])
    assert names == [{"north"}, {"north", "south"}]


NAIVE = datetime(2024, 1, 1)


@pytest.mark.parametrize(
    ("events", "times", "message"),
    [
        ([NAIVE], [NOON], "event_times must be .*naive"),
        ([NOON], [NAIVE], "processing_times must be .*naive"),
        (pl.Series([NAIVE]), [NOON], "event_times must be timezone-aware datetimes, .*; got Datetime"),
        (pl.Series([1.5]), [NOON], "event_times must be .*; got Float64"),
        ([1.5], [NOON], "event_times must be .*; got 1.5"),
        ([True], [NOON], "event_times must be .*; got True"),
        ([2**62], [NOON], "event_times must be .*; got 4611686018427387904"),
        (pl.Series([2**62]), [NOON], "event_times must be .*; got 4611686018427387904"),
        ([MAX_TIME], [NOON], "before MAX_TIME"),
        (pl.Series([0, None]), [NOON, NOON], "event_times must be .*; got None"),
        ([NOON], [NOON, NOON], "the length of processing_times must be .*; got 2"),
        ("noon", [NOON], "event_times must be .*; got 'noon'"),
        ([], [], "event_times must be the event times of at least one record; got"),
    ],
)
def test_invalid_times_are_rejected(events: Iterable[object], times: Iterable[object], message: str) -> None:
    """The error names the column."""
    with pytest.raises(ArgumentError, match=message):
        RecordedDelays.of(events, times)


@pytest.mark.parametrize("keys", [[0.5], [(1, 0.5)], [[1]], pl.Series([0.5])])
def test_keys_that_cannot_be_compared_are_rejected(keys: Iterable[object]) -> None:
    """Keys with floats and unhashable keys are rejected, as in a grouping."""
    with pytest.raises(ArgumentError, match="keys must be (without floats, .*|hashable); got"):
        RecordedDelays.of([NOON], [NOON], keys=keys)


@pytest.mark.parametrize(
    "partitions", [[0.5], [None], pl.Series([None], dtype=pl.String()), pl.Series([0.5])]
)
def test_partitions_are_strings_or_integers(partitions: Iterable[object]) -> None:
    """Other partitions and nulls are rejected."""
    with pytest.raises(ArgumentError, match="partitions must be strings or integers(, without nulls)?; got"):
        RecordedDelays.of([NOON], [NOON], partitions=partitions)


def test_a_key_function_that_raises_is_a_user_function_error() -> None:
    """The error names the function."""
    with pytest.raises(UserFunctionError, match="key"):
        RecordedDelays.from_records(
            SAMPLES,
            [Sample("a", "p", NOON, NOON)],
            processing_time=lambda s: s.observed,
            key=lambda s: s.key[5],
        )


ONE = RecordedDelays.of([NOON], [NOON])
HOURS = FixedWindows(timedelta(hours=1))


@given(sessions() | fixed_windows_by_key() | st.just(CustomWindows("own", lambda point, key: ())))
def test_unsupported_windows_are_rejected(windows: WindowFn) -> None:
    """Windows that merge, and windows that a Python function assigns, are rejected."""
    message = "they merge" if isinstance(windows, Sessions) else "a Python function assigns"
    with pytest.raises(UnsupportedError, match=message):
        what_if(ONE, windows)


# The output.


@given(st.timedeltas(timedelta(0), timedelta(days=400)))
def test_a_formatted_duration_can_be_parsed(duration: timedelta) -> None:
    """``format_duration`` is exact, and the error of ``format_rounded`` is at most one part in 40."""

    def parse(text: str) -> timedelta:
        units = {"d": "days", "h": "hours", "min": "minutes", "s": "seconds", "ms": "milliseconds"}
        parts = re.findall(r"([\d.]+) (\w+)", text)
        micros = {"days": 86_400_000_000, "hours": 3_600_000_000, "minutes": 60_000_000}
        micros |= {"seconds": 1_000_000, "milliseconds": 1000}
        return timedelta(
            microseconds=sum(round(float(number) * micros[units[unit]]) for number, unit in parts)
        )

    assert parse(format_duration(duration)) == duration
    assert abs(parse(format_rounded(duration)) - duration) <= duration / 40
    if duration:
        assert format_duration(-duration) == f"-{format_duration(duration)}"


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (BoundedOutOfOrderness(timedelta(hours=1, minutes=30)), "BoundedOutOfOrderness(1 h 30 min)"),
        (ProcessingTimeLag(timedelta(0), idle_after=MINUTE), "ProcessingTimeLag(0 s, idle_after=1 min)"),
        (LagQuantile(0.99, percentiles=(0.5,)), "LagQuantile(0.99, percentiles=(0.5,))"),
        (MonotonicTimestamps(), "MonotonicTimestamps"),
        (CustomPolicy("mine", lambda view: None, max_ahead=MINUTE), "mine(max_ahead=1 min)"),
    ],
)
def test_a_policy_is_formatted_with_its_arguments(policy: WatermarkPolicy, text: str) -> None:
    """The text has the arguments, and the options that differ from their defaults."""
    assert format_policy(policy) == text


def test_only_a_share_of_zero_is_formatted_as_zero() -> None:
    """A tiny share is ``<0.01%``."""
    texts = [format_share(share) for share in (0.0, 0.00001, 0.0042, 0.05, 1.0)]
    assert texts == ["0%", "<0.01%", "0.42%", "5.0%", "100.0%"]


@pytest.mark.parametrize(("suffix", "signature"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_a_picture_is_drawn(tmp_path: Path, suffix: str, signature: bytes) -> None:
    """The format is that of the suffix, with and without a recommendation, and equal pictures are equal files."""
    GRID.draw(tmp_path / f"first.{suffix}")
    GRID.draw(
        str(tmp_path / f"other.{suffix}"), title="None", recommendation=GRID.recommendation(late=0, dropped=0)
    )
    GRID.draw(tmp_path / f"second.{suffix}")
    first, second, other = (
        (tmp_path / f"{name}.{suffix}").read_bytes() for name in ("first", "second", "other")
    )
    assert first.startswith(signature)
    assert first == second != other


def test_a_picture_needs_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib, the error names the extra that installs it."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.startswith("flowalg_tools.pictures")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'flowalg[plot]'")):
        GRID.draw(tmp_path / "grid.png")


def test_a_longer_wait_never_increases_late_or_dropped_elements() -> None:
    """A longer delay of a policy means fewer late elements, and a longer lateness means fewer dropped elements."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    events = [start + number * MINUTE for number in range(500)]
    times = [event + (number * 37 % 101) * MINUTE for number, event in enumerate(events)]
    delays = [count * MINUTE for count in (0, 10, 30, 60, 120)]
    grid = what_if(
        RecordedDelays.of(events, times), HOURS, policies=[*map(ProcessingTimeLag, delays)], lateness=delays
    )
    late = [choice.late for choice in grid.choices[:: len(delays)]]
    assert late == sorted(late, reverse=True)
    assert late[0] > late[-1] == 0
    dropped = [choice.dropped for choice in grid.choices[: len(delays)]]
    assert dropped == sorted(dropped, reverse=True)
