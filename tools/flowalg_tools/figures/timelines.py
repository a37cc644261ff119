"""The figures' inputs as timelines: what a batch, a micro-batch and a streaming engine make of the same data."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from flowalg import MAX_TIME, Timeline, to_datetime
from flowalg_tools.figures.facts import END_OF_INPUT, NOON, Datum, Facts

_MICRO_BATCH: Final = timedelta(minutes=1)


def timeline_of(facts: Facts) -> Timeline[Datum]:
    """What the figure's engine observes, until the figure ends."""
    match facts.engine:
        case "batch":
            return _observed(facts).end(END_OF_INPUT)
        case "micro-batch":
            return _micro_batches(facts)
        case "streaming":
            # The papers' lists do not end the input; the clock goes on to the picture's edge.
            return _observed(facts).at(END_OF_INPUT)


def _observed(facts: Facts) -> Timeline[Datum]:
    """One instant for each processing time at which a datum comes or the watermark moves."""
    watermark = {one.processing_time: one.event_time for one in facts.watermark}
    observed = Timeline[Datum]()
    for time in sorted({one.processing_time for one in facts.arrivals} | watermark.keys()):
        data = [one.datum for one in facts.arrivals if one.processing_time == time]
        observed = observed.at(time, *data, watermark=watermark.get(time))
    return observed


def _micro_batches(facts: Facts) -> Timeline[Datum]:
    """One instant at every minute, with a watermark that passes everything."""
    observed = Timeline[Datum]()
    end = NOON
    while end < END_OF_INPUT:
        start, end = end, end + _MICRO_BATCH
        data = [one.datum for one in facts.arrivals if start < one.processing_time <= end]
        if data:
            observed = observed.at(end, *data, watermark=to_datetime(MAX_TIME))
    return observed


__all__ = ["timeline_of"]
