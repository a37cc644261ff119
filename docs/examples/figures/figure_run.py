"""The run of a figure's pipeline over its input, and its differences from the published figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, groupby, zip_longest

import flowalg_reference as reference
from attrs import frozen

from figures.listing import Listing
from figures.published import Arrival, Closing, Datum, FigurePane, PublishedFigure
from figures.timelines import timeline_of
from flowalg import KV, Pane, ProcessingTime, Run, Timeline, Window
from flowalg.runs import Change, DroppedElement, DropReason, Instant


@frozen
class FigureRun:
    """The run of a figure's pipeline, in the terms of a figure."""

    run: Run[KV[str, int]]
    panes: tuple[FigurePane, ...]
    dropped: tuple[Arrival, ...]
    closed: tuple[Closing, ...]


@frozen
class Difference:
    """A difference between a figure and a run; ``None`` means that something is missing."""

    what: str
    expected: object
    actual: object

    def __str__(self) -> str:
        return f"{self.what}: {_format(self.expected)} expected, {_format(self.actual)} found"


def run_figure(figure: PublishedFigure, listing: Listing) -> FigureRun:
    """Runs a listing over a figure's input; also finds when windows close, if the figure shows that."""
    timeline = timeline_of(figure)
    run = reference.run(listing.pipeline, {listing.data: timeline})
    return FigureRun(
        run,
        tuple(figure_pane(pane) for pane in run.panes),
        tuple(arrival for arrival in figure.arrivals if any(_is_of(drop, arrival) for drop in run.dropped)),
        tuple(_closings(listing, timeline, [closing.window for closing in figure.closed])),
    )


def differences(figure: PublishedFigure, figure_run: FigureRun) -> tuple[Difference, ...]:
    """Returns the differences between a figure and a run; empty if they agree."""
    # Only panes with one processing time may be in another order, so the time must be known.
    times = {pane.processing_time for pane in figure.panes if pane.processing_time is not None}
    panes = [pane for pane in figure_run.panes if figure.lists(pane.window)]
    pairs = zip_longest(_sort_simultaneous(figure.panes, times), _sort_simultaneous(panes, times))
    differences_found = [
        Difference(f"pane {number}", expected, actual)
        for number, (expected, actual) in enumerate(pairs, 1)
        if expected is None or actual is None or not _agree(expected, actual)
    ]
    differences_found += (
        Difference("order: the retraction first", late, early)
        for early, late in combinations(figure_run.panes, 2)
        if early.processing_time == late.processing_time
        and late.retraction
        and not early.retraction
        and _overlap(early.window, late.window)
    )
    dropped = Counter(arrival.datum.value for arrival in figure_run.dropped)
    if Counter(figure.dropped) != dropped:
        differences_found.append(Difference("dropped", figure.dropped, tuple(dropped.elements())))
    if figure.closed != figure_run.closed:
        differences_found.append(Difference("closed", figure.closed, figure_run.closed))
    return tuple(differences_found)


def _format(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(str, value))})"
    return "nothing" if value is None else str(value)


def _agree(expected: FigurePane, actual: FigurePane) -> bool:
    return (
        (expected.window, expected.value, expected.retraction)
        == (actual.window, actual.value, actual.retraction)
        and expected.processing_time in (None, actual.processing_time)
        and expected.timing in (None, actual.timing)
    )


def _sort_simultaneous(panes: Iterable[FigurePane], times: set[ProcessingTime]) -> list[FigurePane]:
    """The panes, sorted by window if they have one known processing time; the panes of one window keep their order."""
    arranged: list[FigurePane] = []
    for time, together in groupby(panes, key=lambda pane: pane.processing_time):
        panes_then = list(together)
        arranged += sorted(panes_then, key=lambda pane: pane.window) if time in times else panes_then
    return arranged


def _overlap(left: Window, right: Window) -> bool:
    return left.start < right.end and right.start < left.end


def figure_pane(pane: Pane[KV[str, int]]) -> FigurePane:
    """Returns a pane in the terms of a figure."""
    retraction = pane.change is Change.RETRACTION
    value = -pane.value if retraction else pane.value
    return FigurePane(pane.window, value, pane.processing_time, pane.timing, retraction)


def _is_of(drop: DroppedElement, arrival: Arrival) -> bool:
    """Whether a drop is that of a datum, by its two times and its value."""
    assert isinstance(drop.element, KV)
    return (drop.element.value, drop.event_time.datetime, drop.processing_time.datetime) == (
        arrival.datum.value,
        arrival.datum.event_time,
        arrival.processing_time,
    )


def _closings(listing: Listing, timeline: Timeline[Datum], windows: Iterable[Window]) -> Iterator[Closing]:
    """When windows close: the first instant after which another datum would be dropped."""
    for window in windows:
        probe = Datum(0, window.start.datetime)
        for number, instant in enumerate(timeline, 1):
            when = instant.processing_time.datetime
            probe_instant = Instant(instant.processing_time, (probe,), instant.watermark)
            probed = Timeline((*timeline.instants[:number], probe_instant))
            drops = reference.run(listing.pipeline, {listing.data: probed}).dropped
            if any(
                drop.reason is DropReason.EXPIRED and _is_of(drop, Arrival(probe, when)) for drop in drops
            ):
                yield Closing(window, instant.processing_time)
                break
