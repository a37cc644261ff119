"""A figure's pipeline run over its input, and how that differs from what the papers show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, groupby, zip_longest

import flowalg_reference as reference
from attrs import frozen
from flowalg_reference import DroppedElement

from flowalg import (
    KV,
    Change,
    DropReason,
    Instant,
    Pane,
    PCollection,
    ProcessingTime,
    Timeline,
    Window,
    to_datetime,
)
from flowalg_tools.figures.facts import Arrival, Closing, Datum, Facts, PaneFact
from flowalg_tools.figures.listing import SCORES, Listing
from flowalg_tools.figures.timelines import timeline_of


@frozen
class Performance:
    """What a figure's pipeline did over its input."""

    panes: tuple[PaneFact, ...]
    dropped: tuple[Arrival, ...]
    closed: tuple[Closing, ...]


@frozen
class Difference:
    """Something that a figure shows otherwise; nothing at all is ``None``."""

    what: str
    expected: object
    found: object

    def __str__(self) -> str:
        return f"{self.what}: {_told(self.expected)} expected, {_told(self.found)} found"


def perform(facts: Facts, listing: Listing) -> Performance:
    """Runs a listing over a figure's input; looks when windows close if the figure shows that."""
    pipeline = listing.pipeline
    timeline = timeline_of(facts)
    run = reference.run(pipeline, {SCORES: timeline})
    return Performance(
        tuple(fact_of(one) for one in run.panes),
        tuple(one for one in facts.arrivals if any(_is_of(drop, one) for drop in run.dropped)),
        tuple(_closings(pipeline, timeline, [one.window for one in facts.closed])),
    )


def differences(facts: Facts, performance: Performance) -> tuple[Difference, ...]:
    """What the figure shows and the run did not do, or the other way round; nothing when they agree."""
    # Only panes of one processing time may change places, so the time must be known.
    known = {one.processing_time for one in facts.panes if one.processing_time is not None}
    pairs = zip_longest(_arranged(facts.panes, known), _arranged(performance.panes, known))
    found = [
        Difference(f"pane {number}", expected, seen)
        for number, (expected, seen) in enumerate(pairs, 1)
        if expected is None or seen is None or not _agree(expected, seen)
    ]
    found += (
        Difference("order: the retraction first", late, early)
        for early, late in combinations(performance.panes, 2)
        if early.processing_time == late.processing_time
        and late.retraction
        and not early.retraction
        and _overlap(early.window, late.window)
    )
    dropped = Counter(one.datum.value for one in performance.dropped)
    if Counter(facts.dropped) != dropped:
        found.append(Difference("dropped", facts.dropped, tuple(dropped.elements())))
    if facts.closed != performance.closed:
        found.append(Difference("closed", facts.closed, performance.closed))
    return tuple(found)


def _told(what: object) -> str:
    if isinstance(what, tuple):
        return f"({', '.join(map(str, what))})"
    return "nothing" if what is None else str(what)


def _agree(expected: PaneFact, seen: PaneFact) -> bool:
    return (
        (expected.window, expected.value, expected.retraction) == (seen.window, seen.value, seen.retraction)
        and expected.processing_time in (None, seen.processing_time)
        and expected.timing in (None, seen.timing)
    )


def _arranged(panes: Iterable[PaneFact], known: set[ProcessingTime]) -> list[PaneFact]:
    """The panes, those of one known processing time by window; one window's own panes stay in order."""
    arranged: list[PaneFact] = []
    for time, together in groupby(panes, key=lambda one: one.processing_time):
        panes_then = list(together)
        arranged += sorted(panes_then, key=lambda one: one.window) if time in known else panes_then
    return arranged


def _overlap(one: Window, other: Window) -> bool:
    return one.start < other.end and other.start < one.end


def fact_of(pane: Pane[KV[str, int]]) -> PaneFact:
    """A pane as figures show it."""
    retraction = pane.change is Change.RETRACTION
    value = -pane.value if retraction else pane.value
    return PaneFact(pane.window, value, pane.processing_time, pane.timing, retraction)


def _is_of(drop: DroppedElement, arrival: Arrival) -> bool:
    """Whether a datum was dropped: by its two times, and by its value, which the pipeline has keyed."""
    assert isinstance(drop.element, KV)
    return (drop.element.value, to_datetime(drop.event_time), to_datetime(drop.processing_time)) == (
        arrival.datum.value,
        arrival.datum.event_time,
        arrival.processing_time,
    )


def _closings(
    pipeline: PCollection[KV[str, int]], timeline: Timeline[Datum], windows: Iterable[Window]
) -> Iterator[Closing]:
    """When windows close, by experiment: after which instant one more datum would come too late for them."""
    for window in windows:
        probe = Datum(0, to_datetime(window.start))
        for number, instant in enumerate(timeline, 1):
            when = to_datetime(instant.processing_time)
            again = Instant(instant.processing_time, (probe,), instant.watermark)
            tried = Timeline((*timeline.instants[:number], again))
            drops = reference.run(pipeline, {SCORES: tried}).dropped
            if any(
                drop.reason is DropReason.EXPIRED and _is_of(drop, Arrival(probe, when)) for drop in drops
            ):
                yield Closing(window, instant.processing_time)
                break


__all__ = ["Difference", "Performance", "differences", "fact_of", "perform"]
