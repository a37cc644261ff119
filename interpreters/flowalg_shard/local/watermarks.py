"""In-band watermark generation: a timeline's policy merges the summaries of input partitions."""

from __future__ import annotations

from functools import reduce

from attrs import evolve

from flowalg.data.errors import ArgumentError
from flowalg.data.time import MAX_TIME
from flowalg.runs.timeline import Timeline
from flowalg.watermarks import ClockSummary
from flowalg.watermarks.history import least_event_times_after


def generate_watermarks(name: str, timeline: Timeline[object], partitions: int) -> Timeline[object]:
    """Returns the timeline of a source with the watermarks that its policy generates again from its records.

    The records of each instant are divided over ``partitions`` input partitions. Each summarizes its observations, and
    the merged summaries advance the clock. Raises ``ArgumentError`` for a timeline that no policy generated.
    """
    generated_by = timeline.generated_by
    if generated_by is None:
        raise ArgumentError(
            f"the input of source {name!r}",
            timeline,
            "a timeline that a watermark policy generated, such as Timeline.from_records(..., watermark=...)",
        )
    policy, clock = generated_by.policy, generated_by.policy.start()
    observed = [
        generated_by.source_instant(instant.processing_time, instant.elements) for instant in timeline
    ]
    instants = []
    for number, (instant, source_instant, least) in enumerate(
        zip(timeline, observed, least_event_times_after(observed), strict=True), start=1
    ):
        ends = number == len(timeline) and instant.watermark == MAX_TIME and not instant.elements
        summaries = (
            policy.summarize(
                source_instant.observations[part::partitions],
                source_watermark=least,
                ended=ends and part == 0,
            )
            for part in range(partitions)
        )
        clock = policy.advance(clock, reduce(ClockSummary.merge, summaries), instant.processing_time)
        instants.append(evolve(instant, watermark=clock.watermark, percentile_watermarks=clock.percentiles))
    return Timeline(tuple(instants))


__all__ = ["generate_watermarks"]
