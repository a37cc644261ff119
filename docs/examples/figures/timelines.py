"""The inputs of the figures as timelines, for a batch, a micro-batch and a streaming engine."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from figures.published import END_OF_INPUT, NOON, Datum, PublishedFigure
from flowalg import Timeline
from flowalg.data import MAX_TIME

_MICRO_BATCH: Final = timedelta(minutes=1)


def timeline_of(figure: PublishedFigure) -> Timeline[Datum]:
    """Returns the instants of the figure's engine, until the figure ends."""
    match figure.engine:
        case "batch":
            return _streaming(figure).end(END_OF_INPUT)
        case "micro-batch":
            return _micro_batches(figure)
        case "streaming":
            # The papers' lists do not end the input; the clock continues to the edge of the picture.
            return _streaming(figure).at(END_OF_INPUT)


def _streaming(figure: PublishedFigure) -> Timeline[Datum]:
    """One instant for each processing time at which a datum arrives or the watermark advances."""
    watermark = {point.processing_time: point.event_time for point in figure.watermark}
    observed = Timeline[Datum]()
    for time in sorted({arrival.processing_time for arrival in figure.arrivals} | watermark.keys()):
        data = [arrival.datum for arrival in figure.arrivals if arrival.processing_time == time]
        observed = observed.at(time, *data, watermark=watermark.get(time))
    return observed


def _micro_batches(figure: PublishedFigure) -> Timeline[Datum]:
    """One instant for every minute with data, with the watermark at the end of time."""
    observed = Timeline[Datum]()
    end = NOON
    while end < END_OF_INPUT:
        start, end = end, end + _MICRO_BATCH
        data = [arrival.datum for arrival in figure.arrivals if start < arrival.processing_time <= end]
        if data:
            observed = observed.at(end, *data, watermark=MAX_TIME.datetime)
    return observed
