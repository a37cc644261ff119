"""The laws of watermark policies (SEMANTICS section 9), over what a source showed in a finite history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from flowalg.data.time import MAX_TIME, EventTime
from flowalg.watermarks import ClockSummary, SourceClock, WatermarkPolicy, replay_policy
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.history import History
from flowalg_laws.kit.law import Law, law


@law
def a_watermark_never_moves_back(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """The readings of the watermark, and of each percentile watermark, are in order.

    Source: Watermarks in Stream Processing Systems, section 2; SEMANTICS 9.

    Relied on by: every trigger that waits for the watermark.
    """
    readings = [_watermarks(one) for one in (policy.start(), *replay_policy(policy, history))]
    columns = [list(column) for column in zip(*readings, strict=True)]
    return Equation(columns, [sorted(column) for column in columns])


@law
def what_has_ended_is_at_the_end(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """Once the input has ended every watermark is ``MAX_TIME``, whatever is reported after it.

    Source: Watermarks in Stream Processing Systems, section 2 (liveness); SEMANTICS 9.

    Relied on by: the end of every run, which flushes what is pending.
    """
    *_, before = policy.start(), *replay_policy(policy, history)
    clock = policy.advance(before, policy.summarize((), ended=True), before.processing_time)
    reads = _watermarks(clock)
    for moment in history:
        clock = policy.advance(clock, policy.summarize(moment.observations), clock.processing_time)
        reads += _watermarks(clock)
    return Equation(reads, [MAX_TIME] * len(reads))


@law
def reports_are_made_in_parts(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """The report of all records equals the merged reports of single ones, in any order, and moves the clock alike.

    Source: found here.

    Relied on by: Spark streaming, whose input partitions report apart.
    """
    whole = [policy.summarize(moment.observations) for moment in history]
    parts = [
        reduce(
            ClockSummary.merge,
            [policy.summarize([observation]) for observation in reversed(moment.observations)],
            ClockSummary(),
        )
        for moment in history
    ]
    return Equation((whole, _moved(policy, history, whole)), (parts, _moved(policy, history, parts)))


@law
def percentiles_lead_in_order(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """A percentile watermark is never behind the watermark, nor behind one that outruns fewer records.

    Source: MillWheel, section 7.2; SEMANTICS 9.

    Relied on by: `AtWatermark(percentile=q)`.
    """
    order = sorted(policy.percentiles, reverse=True)
    readings = [
        [one.watermark, *(one.percentiles[q] for q in order)] for one in replay_policy(policy, history)
    ]
    return Equation(readings, [sorted(reading) for reading in readings])


@law
def a_policy_is_a_function(policy: WatermarkPolicy, history: History) -> Equation[object]:
    """The same history gives the same clocks: a batch that is tried again changes nothing.

    Source: SEMANTICS 9, a policy is a pure state machine.

    Relied on by: Spark streaming, which tries a failed batch again.
    """
    return Equation(list(replay_policy(policy, history)), list(replay_policy(policy, history)))


WATERMARK_LAWS: tuple[Law[[WatermarkPolicy, History], object], ...] = (
    a_watermark_never_moves_back,
    what_has_ended_is_at_the_end,
    reports_are_made_in_parts,
    percentiles_lead_in_order,
    a_policy_is_a_function,
)
"""Every law of a watermark policy."""


def _watermarks(clock: SourceClock) -> list[EventTime]:
    return [clock.watermark, *(clock.percentiles[q] for q in sorted(clock.percentiles))]


def _moved(policy: WatermarkPolicy, history: History, reports: Sequence[ClockSummary]) -> SourceClock:
    clock = policy.start()
    for moment, report in zip(history, reports, strict=True):
        clock = policy.advance(clock, report, moment.processing_time)
    return clock


__all__ = [
    "WATERMARK_LAWS",
    "a_policy_is_a_function",
    "a_watermark_never_moves_back",
    "percentiles_lead_in_order",
    "reports_are_made_in_parts",
    "what_has_ended_is_at_the_end",
]
