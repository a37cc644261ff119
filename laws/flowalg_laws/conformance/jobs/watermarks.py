"""Jobs about watermark policies and their options."""

from __future__ import annotations

from datetime import datetime, timedelta

from flowalg import (
    FOREVER,
    KV,
    AtWatermark,
    BoundedOutOfOrderness,
    MonotonicTimestamps,
    Perfect,
    Repeat,
    Source,
    Sum,
    flatten,
)
from flowalg.data import INGRESS_TIME
from flowalg.triggers import Trigger
from flowalg.triggers.syntax import DEFAULT_TRIGGER
from flowalg.watermarks import (
    ClockView,
    CustomPolicy,
    FittedLag,
    IngressTime,
    LagDistribution,
    LagQuantile,
    ProcessingTimeLag,
    Timeout,
    WatermarkPolicy,
)
from flowalg_laws.conformance.jobs.feeds import (
    FIVE,
    always,
    feed,
    five,
    key,
    readings,
    sum_in_windows,
    sums_in_fives,
)
from flowalg_laws.conformance.jobs.job import Answer, Job, fixed, grouped, job
from flowalg_laws.conformance.jobs.transforms import OTHERS, in_fives, other_values
from flowalg_laws.kit.readings import READINGS, VALUES, Reading, value_of
from flowalg_laws.kit.replay import Feed

MINUTE = timedelta(minutes=1)
LINES = (
    "3: a=1@0, b=2@2",
    "5: a=3@4",
    "8: a=4@7",
    "11: b=5@3, a=6@10",
    "14: a=7@13, b=8@12",
)
"""The second partition, ``b``, is silent for eight minutes, and then emits late records."""
AHEAD = ("3: a=1@0", "4: a=2@55", "6: a=3@5", "9: a=4@8", "12: a=5@11")
"""One timestamp is almost an hour ahead."""
CATCHING_UP = ("10: a=1@0", "11: a=2@4", "12: a=3@8", "13: a=4@12")
"""The records are in order, with lags of 10, 7, 4 and 1 minutes."""


def three_behind(view: ClockView) -> datetime | None:
    """Returns a watermark three minutes behind the event time that all partitions have reached."""
    return None if view.reached is None else view.reached - timedelta(minutes=3)


def under_policy(
    name: str,
    statement: str,
    policy: WatermarkPolicy,
    panes: str,
    *,
    lines: tuple[str, ...] = LINES,
    partition: str | None = None,
    trigger: Trigger = DEFAULT_TRIGGER,
) -> Job:
    """Makes a job for a policy: sums in windows of five minutes."""
    make_job = job(
        sum_in_windows(trigger),
        feed(*lines, policy=policy, partition=partition),
        panes=panes,
        name=name,
        statement=statement,
    )
    return make_job(sums_in_fives)


POLICY_JOBS: tuple[Job, ...] = (
    under_policy(
        "a perfect watermark",
        "No element is late.",
        Perfect(),
        """
        11: +a=4 [0, 5) on_time 0
        11: +b=7 [0, 5) on_time 0
        11: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "the greatest event time",
        "Without partitions the greatest event time determines the watermark.",
        MonotonicTimestamps(),
        """
        8: +a=4 [0, 5) on_time 0
        8: +b=2 [0, 5) on_time 0
        11: +b=7 [0, 5) late 1
        11: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "the least advanced partition",
        "The partition that is furthest behind holds back the watermark.",
        BoundedOutOfOrderness(MINUTE),
        """
        14: +a=4 [0, 5) on_time 0
        14: +b=7 [0, 5) on_time 0
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
        partition="key",
    ),
    under_policy(
        "idle partitions",
        "A partition that is silent for five minutes no longer holds back the watermark.",
        BoundedOutOfOrderness(MINUTE, idle_after=5 * MINUTE),
        """
        8: +a=4 [0, 5) on_time 0
        8: +b=2 [0, 5) on_time 0
        11: +b=7 [0, 5) late 1
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
        partition="key",
    ),
    under_policy(
        "an idle source",
        "When all partitions are idle, the greatest of their event times determines the watermark.",
        BoundedOutOfOrderness(MINUTE, idle_after=2 * MINUTE),
        """
        8: +a=4 [0, 5) on_time 0
        8: +b=2 [0, 5) on_time 0
        11: +b=7 [0, 5) late 1
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "an event time far ahead",
        "An event time far ahead of its processing time does not move the watermark.",
        BoundedOutOfOrderness(MINUTE, max_ahead=10 * MINUTE),
        """
        9: +a=1 [0, 5) on_time 0
        12: +a=7 [5, 10) on_time 0
        12: +a=5 [10, 15) on_time 0
        12: +a=2 [55, 60) on_time 0
    """,
        lines=AHEAD,
    ),
    under_policy(
        "unused percentile watermarks",
        "A policy with percentile watermarks also has its own watermark.",
        BoundedOutOfOrderness(MINUTE, percentiles=(0.5, 0.9)),
        """
        8: +a=4 [0, 5) on_time 0
        8: +b=2 [0, 5) on_time 0
        11: +b=7 [0, 5) late 1
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "unused percentile watermarks of lags",
        "A policy with percentile watermarks of lags also has its own watermark.",
        BoundedOutOfOrderness(MINUTE, lag_percentiles=(0.5, 0.9)),
        """
        8: +a=4 [0, 5) on_time 0
        8: +b=2 [0, 5) on_time 0
        11: +b=7 [0, 5) late 1
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "a silent declared partition",
        "While a declared partition has sent nothing, there is no watermark before the end of the input.",
        BoundedOutOfOrderness(MINUTE, partitions={"a"}),
        """
        14: +a=4 [0, 5) on_time 0
        14: +b=7 [0, 5) on_time 0
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "declared partitions",
        "There is no watermark before every declared partition has had a record.",
        BoundedOutOfOrderness(MINUTE, partitions={"a", "b"}),
        """
        11: +a=4 [0, 5) on_time 0
        11: +b=3 [0, 5) on_time 0
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
        lines=("3: a=1@0", "5: a=3@4", "8: a=4@7", "11: b=0@10, a=6@10, b=3@3", "14: a=7@13, b=8@12"),
        partition="key",
    ),
    under_policy(
        "percentile watermarks of event times",
        "A percentile watermark is at the event time that was reached, as far as few records have been behind it.",
        BoundedOutOfOrderness(20 * MINUTE, percentiles=(0.9,)),
        """
        12: +a=3 [0, 5) early 0
        13: +a=3 [5, 10) early 0
        13: +a=4 [10, 15) on_time 0
    """,
        lines=CATCHING_UP,
        trigger=Repeat(AtWatermark(percentile=0.9)),
    ),
    under_policy(
        "percentile watermarks of lags",
        "By lags, a percentile watermark is behind the clock by the lag of nearly all recent records.",
        BoundedOutOfOrderness(20 * MINUTE, lag_percentiles=(0.5,)),
        """
        12: +a=3 [0, 5) early 0
        13: +a=3 [5, 10) on_time 0
        13: +a=4 [10, 15) on_time 0
    """,
        lines=CATCHING_UP,
        trigger=Repeat(AtWatermark(percentile=0.5)),
    ),
    under_policy(
        "a timeout",
        "The watermark is the greatest event time that had been observed two minutes ago.",
        Timeout(2 * MINUTE),
        """
        11: +a=4 [0, 5) on_time 0
        11: +b=7 [0, 5) on_time 0
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "a timeout of partitions",
        "The partition that had reached the least two minutes ago holds back the watermark.",
        Timeout(2 * MINUTE),
        """
        14: +a=4 [0, 5) on_time 0
        14: +b=7 [0, 5) on_time 0
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
        partition="key",
    ),
    under_policy(
        "a lag of four minutes",
        "The watermark is a fixed delay behind the clock.",
        ProcessingTimeLag(4 * MINUTE),
        """
        11: +a=4 [0, 5) on_time 0
        11: +b=7 [0, 5) on_time 0
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "the median lag",
        "A delay that is learned from the observed lags, rounded up to seconds.",
        LagQuantile(0.5),
        """
        8: +a=4 [0, 5) on_time 0
        8: +b=2 [0, 5) on_time 0
        11: +b=7 [0, 5) late 1
        11: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "a gamma distribution of lags",
        "A delay from a distribution that is fitted to the lags.",
        FittedLag(0.5),
        """
        8: +a=4 [0, 5) on_time 0
        8: +b=2 [0, 5) on_time 0
        11: +b=7 [0, 5) late 1
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "a log-normal distribution of lags",
        "The distribution can be log-normal.",
        FittedLag(0.8, LagDistribution.LOG_NORMAL),
        """
        8: +a=4 [0, 5) on_time 0
        8: +b=2 [0, 5) on_time 0
        11: +b=7 [0, 5) late 1
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "the processing time as watermark",
        "The processing time is the watermark.",
        IngressTime(),
        """
        5: +a=4 [0, 5) on_time 0
        5: +b=2 [0, 5) on_time 0
        11: +b=7 [0, 5) late 1
        11: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
    under_policy(
        "a user-defined policy",
        "A user-defined function of the clock.",
        CustomPolicy("three behind", three_behind),
        """
        11: +a=4 [0, 5) on_time 0
        11: +b=7 [0, 5) on_time 0
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
    ),
)

IDLE_AFTER_FIVE = BoundedOutOfOrderness(MINUTE, idle_after=5 * MINUTE)
STEADY = feed(
    "3: a=1@2", "6: a=2@5", "9: a=4@8", "12: a=8@11", "15: a=16@14", "18: a=32@17", policy=IDLE_AFTER_FIVE
)
SILENT = Feed(OTHERS, Reading, tuple(map(readings, ("3: a=100@2", "15: a=200@4, a=300@14"))), IDLE_AFTER_FIVE)
"""The second source is silent for twelve minutes, and then has an element that has become late."""


@job(
    in_fives(flatten(VALUES, other_values)).combine_per_key(Sum()),
    STEADY,
    SILENT,
    panes="""
        9: +a=101 [0, 5) on_time 0
        12: +a=6 [5, 10) on_time 0
        15: -a=101 [0, 5) late 0
        15: +a=301 [0, 5) late 1
        18: +a=324 [10, 15) on_time 0
        18: +a=32 [15, 20) on_time 0
    """,
)
def a_union_with_an_idle_source(steady: list[Reading], silent: list[Reading]) -> Answer:
    """A union does not wait for a source that is idle; what it has later may be late."""
    return sums_in_fives([*steady, *silent])


@job(
    in_fives(VALUES).inner_join(in_fives(other_values)),
    STEADY,
    SILENT,
)
def a_join_with_an_idle_source(steady: list[Reading], silent: list[Reading]) -> Answer:
    """A join does not wait for a source that is idle."""
    for name, window, group in grouped(steady, key, five):
        for other in silent:
            if (other.key, five(other)[0]) == (name, window):
                for reading in group:
                    yield KV(name, (reading.value, other.value)), window


def three_behind_its_arrival(reading: Reading) -> datetime | None:
    """Returns the watermark that a reading carries: three minutes before its arrival, if that is odd."""
    return reading.seen - timedelta(minutes=3) if reading.seen.minute % 2 else None


def publishing(partition: str | None, name: str, statement: str) -> Job:
    """Makes a job for a source that publishes its watermark, in one partition or several."""
    batches = tuple(map(readings, LINES))
    feed = Feed(
        READINGS, Reading, batches, Perfect(), partition=partition, published=three_behind_its_arrival
    )
    panes = """
        11: +a=4 [0, 5) on_time 0
        11: +b=7 [0, 5) on_time 0
        14: +a=4 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """
    return job(sum_in_windows(), feed, panes=panes, name=name, statement=statement)(sums_in_fives)


def add_side_value(pair: KV[str, int], side: int) -> KV[str, int]:
    """Adds the value of a side input to a value."""
    return KV(pair.key, pair.value + side)


@job(
    in_fives(
        VALUES.map_with(
            in_fives(other_values)
            .map(lambda pair: pair.value)
            .combine_globally(Sum())
            .as_singleton(default=0),
            add_side_value,
        )
    ).combine_per_key(Sum()),
    STEADY,
    Feed(OTHERS, Reading, (readings("3: a=100@2"),), IDLE_AFTER_FIVE),
)
def an_idle_side_input(steady: list[Reading], silent: list[Reading]) -> Answer:
    """Elements do not wait for a side input that is idle: its windows are complete as far as they have come."""
    for name, window, group in grouped(steady, key, five):
        total = sum(other.value for other in silent if five(other)[0] == window)
        yield KV(name, sum(reading.value + total for reading in group)), window


ARRIVALS = Source("arrivals", Reading, event_time=INGRESS_TIME)


@job(
    ARRIVALS.key_by(key).map_values(value_of).window(FIVE, allowed_lateness=FOREVER).combine_per_key(Sum()),
    Feed(
        ARRIVALS,
        Reading,
        tuple(
            map(readings, ("3: a=1@0, b=2@2", "5: a=3@4", "11: a=4@7 seen 8, a=6@10", "14: a=7@13, b=8@12"))
        ),
        BoundedOutOfOrderness(timedelta(0)),
    ),
    panes="""
        5: +a=1 [0, 5) on_time 0
        5: +b=2 [0, 5) on_time 0
        11: +a=7 [5, 10) on_time 0
        14: +a=13 [10, 15) on_time 0
        14: +b=8 [10, 15) on_time 0
    """,
)
def ingress_times(arrived: list[Reading]) -> Answer:
    """Event times are those at which records arrive, which is once in a batch. Nothing is late."""
    end = fixed(max(reading.seen for reading in arrived), 5)
    for name, _, group in grouped(arrived, key, always):
        yield KV(name, sum(reading.value for reading in group)), end


JOBS: tuple[Job, ...] = (
    *POLICY_JOBS,
    ingress_times,
    publishing(
        None, "a published watermark", "The watermark is what the source publishes with some records."
    ),
    publishing(
        "key", "published watermarks", "The watermark is the least that the partitions have published."
    ),
    a_union_with_an_idle_source,
    a_join_with_an_idle_source,
    an_idle_side_input,
)
