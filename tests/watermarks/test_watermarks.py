"""Watermark policies compared with plain Python that evaluates the whole history at every instant.

The oracle is quadratic and stateless, so it does not share faults of the state machine, such as a record that is
lost or counted twice. Laws and small examples cover the rest.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import count
from math import ceil, exp, fsum, lgamma, log
from statistics import NormalDist

import flowalg_reference as reference
import pytest
from attrs import frozen
from flowalg_laws import (
    READINGS,
    VALUES,
    WATERMARK_LAWS,
    History,
    check_watermark_policy,
    histories,
    watermark_policies,
)
from flowalg_laws.strategies import (
    Reading,
    apply_windowing,
    batches,
    halfway,
    observations,
    quantiles,
    readings,
    window_fns,
)
from hypothesis import given
from hypothesis import strategies as st

from flowalg import (
    AtWatermark,
    BoundedOutOfOrderness,
    EventTime,
    MonotonicTimestamps,
    Perfect,
    ProcessingTime,
    Repeat,
    Sum,
    Timeline,
    event_time,
    processing_time,
)
from flowalg.data import MAX_TIME, MIN_TIME
from flowalg.runs import Timing
from flowalg.watermarks import (
    ClockSummary,
    CustomPolicy,
    FittedLag,
    IngressTime,
    LagDistribution,
    LagQuantile,
    Observation,
    ProcessingTimeLag,
    Publication,
    SourceClock,
    Timeout,
    WatermarkPolicy,
)
from flowalg.watermarks.history import SourceInstant, replay_policy
from flowalg.watermarks.lags import RecentLags, lag_of
from flowalg.watermarks.reached import ReachedTimes
from flowalg.watermarks.summaries import PartitionClock, PublishedWatermarks
from flowalg.watermarks.timestamps import EventTimeCounts
from flowalg.windows import WindowFn, WindowingStrategy
from tests.support.scores import minute

MINUTE = timedelta(minutes=1)


def micros(duration: timedelta) -> int:
    """Returns a duration in microseconds."""
    return duration // timedelta(microseconds=1)


# The oracle.


def records_that_count(policy: WatermarkPolicy, history: History) -> list[tuple[ProcessingTime, Observation]]:
    """Returns the records whose event time counts, each with the processing time of its instant."""
    records = [(instant.processing_time, record) for instant in history for record in instant.observations]
    if policy.max_ahead is None:
        return records
    far = micros(policy.max_ahead)
    return [(now, record) for now, record in records if record.event_time <= record.processing_time + far]


def publications(history: History) -> list[tuple[str, int, int]]:
    """Returns what the source has published: partition, watermark, processing time."""
    return [
        (publication.partition, publication.watermark, publication.processing_time)
        for instant in history
        for publication in (
            *instant.publications,
            *(
                Publication(record.partition, record.published, record.processing_time)
                for record in instant.observations
                if record.published is not None
            ),
        )
    ]


def is_active(policy: WatermarkPolicy, history: History, name: str) -> bool:
    """Whether a partition has had a record or published something within ``idle_after``."""
    times = [
        *(
            record.processing_time
            for _, record in records_that_count(policy, history)
            if record.partition == name
        ),
        *(time for partition, _, time in publications(history) if partition == name),
    ]
    return policy.idle_after is None or history[-1].processing_time - max(times) < micros(policy.idle_after)


def reached(policy: WatermarkPolicy, history: History) -> int | None:
    """Returns the event time that all active partitions have reached; the most advanced partition's if all are idle."""
    records = [record for _, record in records_that_count(policy, history)]
    furthest, active = [], []
    for name in {record.partition for record in records}:
        of_partition = [record for record in records if record.partition == name]
        furthest.append(max(record.event_time for record in of_partition))
        if is_active(policy, history, name):
            active.append(furthest[-1])
    return min(active) if active else max(furthest, default=None)


def reached_in_time(policy: WatermarkPolicy, history: History, delay: timedelta) -> int | None:
    """Returns the event time that all active partitions had reached a delay ago; see ``reached`` if all are idle."""
    now = history[-1].processing_time
    records = [record for _, record in records_that_count(policy, history)]
    step = max((10**n for n in range(18) if 10**n * 128 <= micros(delay)), default=1)
    furthest, active = [], []
    for name in {record.partition for record in records}:
        of_partition = [record for record in records if record.partition == name]
        in_time = [
            record.event_time
            for record in of_partition
            if record.processing_time + (-record.processing_time) % step <= now - micros(delay)
        ]
        furthest.append(max(in_time, default=None))
        if is_active(policy, history, name):
            active.append(furthest[-1])
    reached = [point for point in active or furthest if point is not None]
    if len(reached) < len(active):
        return None
    return min(reached) if active else max(reached, default=None)


def published(policy: WatermarkPolicy, history: History) -> int | None:
    """Returns the least watermark that active partitions have published; the greatest if all are idle."""
    entries = publications(history)
    greatest = {
        name: max(watermark for partition, watermark, _ in entries if partition == name)
        for name, _, _ in entries
    }
    active = [watermark for name, watermark in greatest.items() if is_active(policy, history, name)]
    return min(active) if active else max(greatest.values(), default=None)


def is_believed(policy: WatermarkPolicy, history: History) -> bool:
    """Whether all declared partitions have had a record or published something."""
    heard = {record.partition for _, record in records_that_count(policy, history)}
    return policy.partitions <= heard | {partition for partition, _, _ in publications(history)}


def recent_records(policy: WatermarkPolicy, history: History) -> list[Observation]:
    """Returns the records of the recent period and of at most an eighth before it."""
    records = records_that_count(policy, history)
    slice_ = -(-micros(policy.recent) // 8)
    newest = max((now // slice_ for now, _ in records), default=0)
    return [record for now, record in records if now // slice_ >= newest - 8]


def lags(policy: WatermarkPolicy, history: History) -> list[int]:
    """Returns the lags of recent records."""
    return [
        round_lag_up(record.processing_time - record.event_time, micros(policy.resolution))
        for record in recent_records(policy, history)
    ]


def lag(policy: WatermarkPolicy, history: History, q: float) -> int | None:
    """Returns the least lag that a share of the recent records does not exceed."""
    return quantile(lags(policy, history), q)


def quantile(durations: list[int], q: float) -> int | None:
    """Returns the least duration that a share of them does not exceed."""
    for candidate in sorted(durations):
        if len([other for other in durations if other <= candidate]) >= Decimal(str(q)) * len(durations):
            return candidate
    return None


def fitted_lag(policy: FittedLag, history: History) -> int | None:
    """Returns the quantile of the distribution with the mean and variance of the recent lags."""
    recent_lags = lags(policy, history)
    if not recent_lags:
        return None
    mean = Fraction(sum(recent_lags), len(recent_lags))
    variance = Fraction(sum(lag * lag for lag in recent_lags), len(recent_lags)) - mean**2
    lag = policy.distribution.quantile(float(mean), float(variance), policy.q)
    return ceil(lag / micros(policy.resolution)) * micros(policy.resolution)


def disorder(policy: WatermarkPolicy, history: History, q: float) -> int | None:
    """Returns how far a share of the recent records were at most behind the event time reached before them."""
    kept = recent_records(policy, history)
    resolution = micros(policy.resolution)
    behind = []
    for number, instant in enumerate(history):
        counted = [record for record in kept if any(record is observed for observed in instant.observations)]
        if not counted:
            continue
        before = reached(policy, history[:number]) if number else None
        greatest = max(record.event_time for record in counted) // resolution
        for record in counted:
            unit, width = record.event_time // resolution, 1
            while greatest // width - unit // width >= 512:
                width *= 2
            event = unit // width * width * resolution
            behind.append(0 if before is None else round_lag_up(before - event, resolution))
    return quantile(behind, q)


def round_lag_up(lag: int, resolution: int) -> int:
    """Returns a lag rounded up to a multiple of the resolution, twice as coarse with every doubling beyond 1,024."""
    step = resolution
    while lag > 1024 * step:
        step *= 2
    return max(0, lag + (-lag) % step)


def watermark_of(policy: WatermarkPolicy, history: History, later: History) -> int | None:
    """Returns the watermark of a policy after a history, without regard to earlier watermarks."""
    now = history[-1].processing_time
    match policy:
        case Perfect() if publications((*history, *later)):
            return published(policy, history)
        case Perfect():
            return min(
                (record.event_time for instant in later for record in instant.observations), default=None
            )
        case MonotonicTimestamps():
            return reached(policy, history)
        case BoundedOutOfOrderness(delay=delay):
            point = reached(policy, history)
            return None if point is None else point - micros(delay)
        case Timeout(delay=delay):
            return reached_in_time(policy, history, delay)
        case ProcessingTimeLag(delay=delay):
            return now - micros(delay)
        case FittedLag():
            fitted = fitted_lag(policy, history)
            return None if fitted is None else now - fitted
        case LagQuantile(q=q):
            delay_ = lag(policy, history, q)
            return None if delay_ is None else now - delay_
        case IngressTime():
            return now
        case _:
            median = lag(policy, history, 0.5)
            return None if median is None else now - micros(timedelta(microseconds=median) / 2)


def expected_watermarks(policy: WatermarkPolicy, history: History) -> list[tuple[int, dict[float, int]]]:
    """Returns the watermark and the percentile watermarks after each instant."""
    watermarks: list[tuple[int, dict[float, int]]] = []
    for end in range(1, len(history) + 1):
        prefixes = [(history[:i], history[i:]) for i in range(1, end + 1) if is_believed(policy, history[:i])]
        candidates = [watermark_of(policy, before, after) for before, after in prefixes]
        watermark = max([MIN_TIME, *(point for point in candidates if point is not None)])
        percentiles = {}
        for q in policy.percentiles:
            points = [(reached(policy, before), disorder(policy, before, q)) for before, _ in prefixes]
            percentiles[q] = max(
                [watermark, *(at - by for at, by in points if at is not None and by is not None)]
            )
        for q in policy.lag_percentiles:
            delays = [(before[-1].processing_time, lag(policy, before, q)) for before, _ in prefixes]
            percentiles[q] = max([watermark, *(now - delay for now, delay in delays if delay is not None)])
        watermarks.append((watermark, percentiles))
    return watermarks


@given(watermark_policies(), histories())
def test_policies_equal_the_oracle(policy: WatermarkPolicy, history: History) -> None:
    """Every policy with any options equals the oracle at every instant."""
    actual = [(clock.watermark, clock.percentiles) for clock in replay_policy(policy, history)]
    assert actual == expected_watermarks(policy, history)


@given(
    watermark_policies(),
    st.lists(readings(), max_size=12),
    st.none() | st.integers(1, 5).map(lambda minutes: minutes * MINUTE),
    st.none() | st.integers(1, 9).map(lambda minutes: minutes * MINUTE),
)
def test_a_timeline_has_the_watermarks_of_its_policy(
    policy: WatermarkPolicy, records: list[Reading], every: timedelta | None, tick: timedelta | None
) -> None:
    """A timeline has the oracle's watermarks for its instants, ticks included; the last instant ends the input."""
    timeline = Timeline.from_records(
        READINGS,
        records,
        processing_time=lambda reading: reading.seen,
        watermark=policy,
        partition=lambda reading: reading.key,
        every=every,
        tick=tick,
    )
    instants = timeline.without_end()
    history = tuple(
        SourceInstant(
            instant.processing_time,
            tuple(
                Observation(reading.key, event_time(reading.at), processing_time(reading.seen))
                for reading in instant.elements
            ),
        )
        for instant in instants
    )
    actual = [(instant.watermark, instant.percentile_watermarks) for instant in instants]
    assert actual == expected_watermarks(policy, history)
    if records:
        last = timeline.instants[-1]
        assert (last.elements, last.watermark) == ((), MAX_TIME)
        assert last.percentile_watermarks == dict.fromkeys(
            (*policy.percentiles, *policy.lag_percentiles), MAX_TIME
        )


@given(st.lists(readings(), min_size=1), st.integers(1, 9))
def test_ticks_add_instants_between_records(records: list[Reading], minutes: int) -> None:
    """A tick adds an instant at each of its multiples between first and last record, and no others."""

    def times(tick: timedelta | None) -> list[ProcessingTime]:
        timeline = Timeline.from_records(
            READINGS,
            records,
            processing_time=lambda reading: reading.seen,
            watermark=IngressTime(),
            tick=tick,
            ends=False,
        )
        assert sum(len(instant.elements) for instant in timeline) == len(records)
        return [instant.processing_time for instant in timeline]

    processed = {processing_time(record.seen) for record in records}
    tick = micros(minutes * MINUTE)
    first, last = min(processed), max(processed)
    multiples = {multiple for multiple in range(first - first % tick, last, tick) if multiple > first}
    assert times(None) == sorted(processed)
    assert times(minutes * MINUTE) == sorted(processed | multiples)


# Laws.


@frozen
class ArbitraryPolicy(WatermarkPolicy):
    """A user-defined policy with arbitrary candidates, which the watermark need not follow."""

    def candidate(self, clock: SourceClock) -> int | None:
        """Returns an arbitrary candidate: far back, far ahead, or outside the bounds of time."""
        total = sum(partition.latest_event for partition in clock.partitions.values())
        return None if total % 5 == 0 else (total * 7919) % (4 * MAX_TIME) - 2 * MAX_TIME


HALFWAY = CustomPolicy("half the median lag behind", halfway)
OPTIONS = (
    Perfect(percentiles=(0.5,)),
    MonotonicTimestamps(idle_after=3 * MINUTE, max_ahead=MINUTE),
    BoundedOutOfOrderness(3 * MINUTE, idle_after=5 * MINUTE, percentiles=(0.9, 0.5)),
    Timeout(3 * MINUTE, idle_after=5 * MINUTE, percentiles=(0.25, 0.5, 0.75), resolution=MINUTE),
    ProcessingTimeLag(3 * MINUTE, lag_percentiles=(0.25, 0.5, 0.75), resolution=MINUTE),
    Perfect(idle_after=3 * MINUTE, partitions={"p", "q"}),
    FittedLag(0.9, recent=10 * MINUTE, percentiles=(0.25,), lag_percentiles=(0.5,)),
    LagQuantile(0.75, recent=10 * MINUTE, max_ahead=MINUTE, percentiles=(0.5,)),
    IngressTime(percentiles=(0.5,)),
    HALFWAY,
    ArbitraryPolicy(percentiles=(0.5, 0.99)),
)


@pytest.mark.parametrize("policy", OPTIONS, ids=lambda policy: type(policy).__name__)
def test_policies_satisfy_the_laws(policy: WatermarkPolicy) -> None:
    """``check_watermark_policy`` passes for built-in and user-defined policies."""
    check_watermark_policy(policy)


@given(watermark_policies(), histories())
def test_policies_with_any_options_satisfy_the_laws(policy: WatermarkPolicy, history: History) -> None:
    """Every law holds for every combination of options."""
    for law in WATERMARK_LAWS:
        assert law.holds(policy, history), law


@pytest.mark.long
def test_a_policy_with_hidden_state_is_detected() -> None:
    """``check_watermark_policy`` fails for a function that depends on more than the clock."""
    ticks = count(1)
    stateful = CustomPolicy("counting", lambda view: minute(next(ticks)))
    with pytest.raises(AssertionError, match=r"does not hold for CustomPolicy"):
        check_watermark_policy(stateful, histories(most=2))


POINTS = st.integers(0, 9)
CLOCKS = st.builds(PartitionClock, POINTS.map(EventTime), POINTS.map(ProcessingTime))
UNITS = st.integers(-(2**40), 2**40) | st.integers(0, 2000)
EVENT_TIMES = st.dictionaries(UNITS, st.integers(1, 9)).map(EventTimeCounts.of_units)
REACHED = st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 3000)), min_size=1).map(
    lambda records: reduce(
        ReachedTimes.merge,
        (ReachedTimes.of(EventTime(event), ProcessingTime(time), 1000) for event, time in records),
    )
)
REPORTS = st.builds(
    ClockSummary,
    st.dictionaries(st.sampled_from("pq"), CLOCKS),
    st.none() | POINTS.map(ProcessingTime),
    st.none() | POINTS.map(EventTime),
    st.booleans(),
    st.dictionaries(POINTS, st.integers(1, 9)),
    EVENT_TIMES,
    st.dictionaries(st.sampled_from("pq"), REACHED),
    st.dictionaries(
        st.sampled_from("pq"),
        st.tuples(POINTS, POINTS, POINTS).map(
            lambda drawn: PublishedWatermarks(
                EventTime(min(drawn[:2])), EventTime(max(drawn[:2])), ProcessingTime(drawn[2])
            )
        ),
    ),
)


@given(REPORTS, REPORTS, REPORTS)
def test_clock_summaries_are_a_commutative_monoid(a: ClockSummary, b: ClockSummary, c: ClockSummary) -> None:
    """Law: merging clock summaries is associative and commutative, with a neutral element."""
    assert a.merge(b.merge(c)) == a.merge(b).merge(c)
    assert a.merge(b) == b.merge(a)
    assert a.merge(ClockSummary()) == a


@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 9000)), min_size=1), st.integers(0, 5000))
def test_the_record_of_reached_times_is_bounded_and_exact_to_a_step(
    records: list[tuple[int, int]], delay: int
) -> None:
    """Law: at any later time, the record has the greatest event time of the records up to a delay ago, in few steps."""
    parts = [ReachedTimes.of(EventTime(event), ProcessingTime(time), delay) for event, time in records]
    whole = reduce(ReachedTimes.merge, parts)
    assert len(whole.steps) <= 1283
    width = max((10**n for n in range(9) if 10**n * 128 <= delay), default=1)
    latest = max(time for _, time in records)
    for now in (latest, latest + delay // 2, latest + delay + width):
        in_time = [event for event, time in records if time + (-time) % width + delay <= now]
        assert whole.by(ProcessingTime(now)) == max(in_time, default=None)


@given(st.lists(UNITS, min_size=1))
def test_a_histogram_of_event_times_is_bounded_and_accurate(units: list[int]) -> None:
    """Event times are rounded down by less than one part in 255 of their distance from the greatest."""
    counts = EventTimeCounts.of_units({unit: units.count(unit) for unit in units})
    rounded = sorted(event for event, count in counts.rounded(1) for _ in range(count))
    assert len(rounded) == len(units)
    for exact, approximate in zip(sorted(units), rounded, strict=True):
        assert 0 <= exact - approximate <= (max(units) - exact) / 255


def test_a_histogram_of_event_times_is_small() -> None:
    """A million seconds before the greatest have fewer than 4,000 blocks."""
    assert len(EventTimeCounts.of_units(dict.fromkeys(range(1_000_000), 1)).counts) < 4000


@given(watermark_policies(), st.lists(observations()), st.lists(observations()))
def test_a_summary_is_the_merge_of_the_summaries_of_its_parts(
    policy: WatermarkPolicy, first: list[Observation], second: list[Observation]
) -> None:
    """Law: a summary is a homomorphism from bags of records."""
    assert policy.summarize(first + second) == policy.summarize(first).merge(policy.summarize(second))


def test_merged_summaries_keep_the_later_source_watermark() -> None:
    """Of two watermarks of a whole source the later is kept, and so is an end in either summary."""
    ten, nine = (summary_of_source(minutes) for minutes in (10, 9))
    assert ten.merge(nine).source_watermark == 10
    assert ten.merge(ClockSummary(ended=True)) == ClockSummary(source_watermark=EventTime(10), ended=True)


def summary_of_source(point: int) -> ClockSummary:
    """Returns the summary of a source that reports a watermark and has no records."""
    return Perfect().summarize((), source_watermark=EventTime(point))


@given(batches(), window_fns())
def test_with_a_perfect_watermark_nothing_is_late(groups: list[list[Reading]], windows: WindowFn) -> None:
    """With a perfect watermark no pane is late and nothing is dropped without allowed lateness."""
    strategy = WindowingStrategy(windows, Repeat(AtWatermark()), allowed_lateness=timedelta(0))
    timeline = Timeline.micro_batches(
        READINGS, groups, processing_time=lambda reading: reading.seen, watermark=Perfect()
    )
    run = reference.run(apply_windowing(VALUES, strategy).combine_per_key(Sum()), {READINGS: timeline})
    assert run.dropped == ()
    assert all(pane.timing is not Timing.LATE for pane in run.panes)


@given(batches(), st.booleans())
def test_a_perfect_watermark_is_the_latest_possible(groups: list[list[Reading]], ends: bool) -> None:
    """A perfect watermark equals an event time still to come, so a later watermark would make that event late."""
    timeline = Timeline.micro_batches(
        READINGS, groups, processing_time=lambda reading: reading.seen, watermark=Perfect(), ends=ends
    )
    instants = timeline.without_end().instants
    for number, instant in enumerate(instants):
        event_times = [
            event_time(reading.at) for after in instants[number + 1 :] for reading in after.elements
        ]
        if event_times:
            assert instant.watermark == min(event_times)


# Lags.


@given(st.integers(0, 10**18), st.integers(1, 10**7))
def test_lags_are_rounded_up_slightly(lag: int, resolution: int) -> None:
    """A lag is rounded up by less than the resolution or one part in 512, so a delay is never too short."""
    rounded = lag_of(EventTime(0), ProcessingTime(lag), resolution)
    assert rounded % resolution == 0
    assert lag <= rounded < lag + max(resolution, -(-(lag + resolution) // 512))
    assert lag_of(EventTime(0), ProcessingTime(lag + 1), resolution) >= rounded


def test_rounded_lags_have_few_values() -> None:
    """Each doubling beyond 1,024 has 512 different lags, so even the longest lag has about 26,000 below it."""
    assert len({lag_of(EventTime(0), ProcessingTime(lag), 1) for lag in range(1025)}) == 1025
    for doubled in (1024, 2048, 4096):
        lags = range(doubled + 1, 2 * doubled + 1)
        assert len({lag_of(EventTime(0), ProcessingTime(lag), 1) for lag in lags}) == 512
    doublings = (MAX_TIME - MIN_TIME).bit_length() - 10
    assert 1025 + 512 * doublings < 27_000


def test_a_record_ahead_of_the_clock_has_no_lag() -> None:
    """A record ahead of its processing time has lag zero, not a negative one."""
    assert lag_of(event_time(minute(9)), processing_time(minute(1)), 1) == 0


def test_quantiles_are_decimal() -> None:
    """Quantiles are decimal: 0.07 of 100 records are 7, although the float 0.07 * 100 is more."""
    lags = RecentLags().absorb(dict.fromkeys(range(1, 101), 1), ProcessingTime(0), 1)
    assert 0.07 * 100 > 7
    assert [lags.quantile(q) for q in (0.001, 0.01, 0.07, 0.5, 0.999)] == [1, 1, 7, 50, 100]


# Fitted distributions.


@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.99, 0.9999])
def test_a_gamma_distribution_of_shape_one_is_exponential(q: float) -> None:
    """A gamma distribution whose variance is its squared mean is exponential: its quantiles are logarithms."""
    assert LagDistribution.GAMMA.quantile(3.0, 9.0, q) == pytest.approx(-3 * log(1 - q))


@pytest.mark.parametrize("shape", [2, 5, 40, 900, 1100])
def test_a_gamma_distribution_of_whole_shape_counts_events(shape: int) -> None:
    """The quantile is the time by which a Poisson process has had that many events, with probability q."""
    for q in (0.05, 0.5, 0.95):
        point = LagDistribution.GAMMA.quantile(float(shape), float(shape), q)
        fewer = fsum(exp(n * log(point) - point - lgamma(n + 1)) for n in range(shape))
        assert 1 - fewer == pytest.approx(q, abs=1e-5)


@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.9999])
def test_a_log_normal_distribution_is_normal_in_its_logarithm(q: float) -> None:
    """With the mean and the variance of ``exp(N(1, 0.25))``, the quantile is the exponential of the normal quantile."""
    mean, variance = exp(1.125), (exp(0.25) - 1) * exp(2.25)
    expected = exp(NormalDist(1, 0.5).inv_cdf(q))
    assert LagDistribution.LOG_NORMAL.quantile(mean, variance, q) == pytest.approx(expected)


@given(st.sampled_from(LagDistribution), st.floats(0, 1e12), st.floats(0, 1e24), quantiles(), quantiles())
def test_fitted_quantiles_are_ordered(
    distribution: LagDistribution, mean: float, variance: float, first: float, second: float
) -> None:
    """Quantiles of a fitted distribution are not negative, and increase with q."""
    low, high = (distribution.quantile(mean, variance, q) for q in sorted((first, second)))
    assert 0 <= low <= high * (1 + 1e-9)
