"""Laws of watermark policies (SEMANTICS section 9), over finite histories of a source."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import reduce
from typing import Final

from attrs import evolve

from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime
from flowalg.runs.clocks import BEGINNING, Clocks, minimum
from flowalg.watermarks import (
    ClockSummary,
    MonotonicTimestamps,
    Perfect,
    SourceClock,
    Timeout,
    WatermarkPolicy,
)
from flowalg.watermarks.history import SourceInstant, replay_policy
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.history import History
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.structures import (
    MONOID,
    SEMILATTICE,
    VARIADIC,
    Model,
    Operation,
    is_commutative,
    itself,
    laws_of,
)


@law
def a_watermark_never_moves_back(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """The watermark and all percentile watermarks never decrease.

    Source: Watermarks in Stream Processing Systems, section 2; SEMANTICS 9.

    Relied on by: every trigger that waits for the watermark.
    """
    readings = [_watermarks(clock) for clock in (policy.start(), *replay_policy(policy, history))]
    columns = [list(column) for column in zip(*readings, strict=True)]
    return Equation(columns, [sorted(column) for column in columns])


@law
def an_ended_source_stays_at_the_end(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """After the input has ended all watermarks are ``MAX_TIME``, whatever is observed later.

    Source: Watermarks in Stream Processing Systems, section 2 (liveness); SEMANTICS 9.

    Relied on by: the end of every run, which emits all pending elements.
    """
    *_, before = policy.start(), *replay_policy(policy, history)
    clock = policy.advance(before, policy.summarize((), ended=True), before.processing_time)
    watermarks = _watermarks(clock)
    for instant in history:
        clock = policy.advance(clock, _summary(policy, instant), clock.processing_time)
        watermarks += _watermarks(clock)
    return Equation(watermarks, [MAX_TIME] * len(watermarks))


@law
def summaries_of_parts_merge(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """The summary of all records equals the merged summaries of single records, in any order, and advances the clock
    alike.

    Source: found here.

    Relied on by: Spark streaming, whose input partitions are summarized independently.
    """
    whole = [_summary(policy, instant) for instant in history]
    parts = [
        reduce(
            ClockSummary.merge,
            [
                *(policy.summarize((), publications=[publication]) for publication in instant.publications),
                *(policy.summarize([observation]) for observation in reversed(instant.observations)),
            ],
            ClockSummary(),
        )
        for instant in history
    ]
    return Equation((whole, _advance(policy, history, whole)), (parts, _advance(policy, history, parts)))


def _merged_summaries(policy: WatermarkPolicy, history: History) -> Model[ClockSummary, ClockSummary]:
    summaries = [*(_summary(policy, instant) for instant in history), *[ClockSummary()] * 3]
    return Model(ClockSummary.merge, (summaries[0], summaries[1], summaries[2]), itself, (ClockSummary(),))


SUMMARIES: Final = Operation("clock_summary", "merge", _merged_summaries, "SEMANTICS 9", constants=("empty",))


def _united_clocks(policy: WatermarkPolicy, history: History) -> Model[Clocks, list[EventTime]]:
    def clocks_of(clock: SourceClock) -> Clocks:
        return Clocks(clock.processing_time, clock.watermark, clock.percentiles)

    def observed(clocks: Clocks) -> list[EventTime]:
        return [clocks.percentile(q) for q in (None, *sorted(policy.percentiles))]

    first, second, third = [*map(clocks_of, replay_policy(policy, history)), *[BEGINNING] * 3][:3]
    ended, unknown = (evolve(BEGINNING, watermark=watermark) for watermark in (MAX_TIME, MIN_TIME))
    return Model(lambda *parts: minimum(parts, BEGINNING), (first, second, third), observed, (ended, unknown))


UNITED: Final = Operation(
    "minimum",
    "minimum",
    _united_clocks,
    "Watermarks in Stream Processing Systems, section 2; SEMANTICS 9",
    constants=("ended", "unknown"),
)


@law
def percentile_watermarks_are_ordered(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """A percentile watermark is never behind the watermark, nor behind the percentile watermark of a greater quantile.

    Source: MillWheel, section 7.2; SEMANTICS 9.

    Relied on by: ``AtWatermark(percentile=q)``.
    """
    order = sorted(policy.percentiles, reverse=True)
    readings = [
        [clock.watermark, *(clock.percentiles[q] for q in order)] for clock in replay_policy(policy, history)
    ]
    return Equation(readings, [sorted(reading) for reading in readings])


@law
def percentile_watermarks_stand_still_with_the_source(
    policy: WatermarkPolicy, history: History
) -> Equation[object] | None:
    """At an instant without records, a percentile watermark of event times moves only with the watermark.

    Where: no partition can become idle.

    Source: MillWheel, section 7.2; SEMANTICS 9.

    Relied on by: ``AtWatermark(percentile=q)``, which does not fire because time passes.
    """
    if policy.idle_after is not None:
        return None
    clocks = [policy.start(), *replay_policy(policy, history)]
    silent = [
        (before, after)
        for before, after, instant in zip(clocks, clocks[1:], history, strict=False)
        if not instant.observations and not instant.publications
    ]
    return Equation(
        [[after.percentiles[q] for q in policy.percentiles] for _, after in silent],
        [
            [max(before.percentiles[q], after.watermark) for q in policy.percentiles]
            for before, after in silent
        ],
    )


@law
def a_timeout_of_zero_waits_for_partitions_only(
    policy: WatermarkPolicy, history: History
) -> Equation[object]:
    """``Timeout(timedelta(0))`` has the watermarks of ``MonotonicTimestamps()``, with the options of any policy.

    Source: Watermarks in Stream Processing Systems, section 4.3.
    """
    sides = (
        [
            clock.watermark
            for clock in replay_policy(
                evolve(
                    same,
                    idle_after=policy.idle_after,
                    max_ahead=policy.max_ahead,
                    partitions=policy.partitions,
                ),
                history,
            )
        ]
        for same in (Timeout(timedelta(0)), MonotonicTimestamps())
    )
    return Equation(*sides)


@law
def no_watermark_before_declared_partitions(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """A source has no watermark before every declared partition has had a record or published a watermark.

    Where: the record is not too far ahead of its processing time.

    Source: SEMANTICS 9.

    Relied on by: sources that must not be read as complete before all of their parts have started.
    """
    early = [
        _watermarks(clock) for clock in replay_policy(policy, history) if policy.awaited_partitions(clock)
    ]
    return Equation(early, [[MIN_TIME] * len(watermarks) for watermarks in early])


@law
def a_perfect_watermark_is_the_least_published(
    policy: WatermarkPolicy, history: History
) -> Equation[object] | None:
    """``Perfect()`` has the least watermark that the partitions of a source have published, as far as it had come.

    Where: the source publishes watermarks.

    Source: MillWheel, section 4.4; Watermarks in Stream Processing Systems, section 4.
    """
    if not any(instant.publishes for instant in history):
        return None
    del policy
    published: dict[str, EventTime] = {}
    expected = [MIN_TIME]
    for instant in history:
        for partition, watermark in (
            *((publication.partition, publication.watermark) for publication in instant.publications),
            *((observation.partition, observation.published) for observation in instant.observations),
        ):
            if watermark is not None:
                published[partition] = max(published.get(partition, MIN_TIME), watermark)
        expected.append(max(expected[-1], min(published.values(), default=MIN_TIME)))
    return Equation([clock.watermark for clock in replay_policy(Perfect(), history)], expected[1:])


@law
def a_policy_is_deterministic(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """The same history produces the same clocks, so retrying a batch changes nothing.

    Source: SEMANTICS 9: a policy is a pure state machine.

    Relied on by: Spark streaming, which retries failed batches.
    """
    return Equation(list(replay_policy(policy, history)), list(replay_policy(policy, history)))


WATERMARK_LAWS: tuple[Law[[WatermarkPolicy, History], object], ...] = (
    a_watermark_never_moves_back,
    an_ended_source_stays_at_the_end,
    *laws_of(
        SUMMARIES,
        *MONOID,
        is_commutative,
        relied_on_by={
            "is_commutative": "Spark streaming, whose input partitions are summarized in any order"
        },
    ),
    summaries_of_parts_merge,
    *laws_of(
        UNITED,
        *SEMILATTICE,
        *VARIADIC,
        relied_on_by={
            "is_commutative": "unions, whose inputs have no order",
            "is_flat": "unions of unions, which engines read as one",
            "has_a_right_unit": "unions with a source that has ended",
        },
    ),
    percentile_watermarks_are_ordered,
    percentile_watermarks_stand_still_with_the_source,
    a_timeout_of_zero_waits_for_partitions_only,
    no_watermark_before_declared_partitions,
    a_perfect_watermark_is_the_least_published,
    a_policy_is_deterministic,
)
"""All laws of a watermark policy."""


def _summary(policy: WatermarkPolicy, instant: SourceInstant) -> ClockSummary:
    return policy.summarize(instant.observations, publications=instant.publications)


def _watermarks(clock: SourceClock) -> list[EventTime]:
    return [clock.watermark, *(clock.percentiles[q] for q in sorted(clock.percentiles))]


def _advance(policy: WatermarkPolicy, history: History, summaries: Sequence[ClockSummary]) -> SourceClock:
    clock = policy.start()
    for instant, summary in zip(history, summaries, strict=True):
        clock = policy.advance(clock, summary, instant.processing_time)
    return clock
