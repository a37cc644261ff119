"""Time in flowalg: percentile watermarks, idle sources, timers, replay, and why there is no pane yet."""

from __future__ import annotations

from datetime import datetime

import flowalg_polars
import flowalg_reference as reference
import polars as pl
from attrs import asdict, frozen
from feed import ARRIVALS, LATENESS, WINDOW, print_cells
from flowalg_polars import PolarsStreaming
from scores import SECOND, START

from flowalg import (
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Computation,
    FixedWindows,
    Source,
    Sum,
    Timeline,
    Window,
    event_time,
)
from flowalg.computations import Clocks, EventTimer, Observed, ProcessingTimer, Timer, Transition


@frozen
class Row:
    """Points, with the part of the source, the event time and the time of arrival."""

    part: str
    points: int
    at: datetime
    seen: datetime


def row(part: str, points: int, at: int, seen: int) -> Row:
    """Returns a row with times in seconds."""
    return Row(part, points, START + at * SECOND, START + seen * SECOND)


rows = Source("rows", Row, event_time=lambda row: row.at)
points = rows.key_by(lambda row: "all").map_values(lambda row: row.points)


def sums(trigger):
    """Returns the sums by minute."""
    windows = FixedWindows(WINDOW * SECOND)
    return points.window(windows, trigger=trigger, allowed_lateness=LATENESS * SECOND).combine_per_key(Sum())


corrected = sums(AtWatermark().with_late_firings(AtCount(1)))


def percentile() -> object:
    """A pane when nine in ten are expected to be in, long before the watermark."""
    records = [row("a", 1, at, at) for at in range(0, 63, 3)] + [row("a", 1, 30, 90)]
    line = Timeline.from_records(
        rows,
        records,
        processing_time=lambda row: row.seen,
        watermark=BoundedOutOfOrderness(100 * SECOND, percentiles=(0.9,)),
    )
    early = sums(AtWatermark().with_early_firings(AtWatermark(percentile=0.9)))
    panes = PolarsStreaming().run(early, {rows: line}).panes
    first = event_time(START)
    return [[pane.timing.value, pane.value] for pane in panes if pane.window.start == first][:1]


def idle() -> object:
    """The first minute of two parts of a source, one of which is silent after its first element."""
    records = [row("a", 5, 10, 10), row("b", 1, 15, 15), *(row("a", 7, at, at) for at in (70, 90, 110, 130))]
    line = Timeline.from_records(
        rows,
        records,
        processing_time=lambda row: row.seen,
        watermark=BoundedOutOfOrderness(SECOND, idle_after=30 * SECOND),
        partition=lambda row: row.part,
        ends=False,
    )
    panes = PolarsStreaming().run(corrected, {rows: line}).panes
    return [pane.value for pane in panes][:1]


def timers() -> object:
    """State and a timer in each domain."""

    def observe(total: int, seen: Observed[str, int], clocks: Clocks) -> Transition[int, str]:
        end = EventTimer("event", START + 60 * SECOND)
        soon = ProcessingTimer("processing", clocks.processing_time + SECOND)
        return Transition(total + seen.value, set=[end] if total else [end, soon])

    def fire(total: int, timer: Timer, clocks: Clocks) -> Transition[int, str]:
        return Transition(total, emit=[f"{timer.tag} {total}"])

    line = (
        Timeline[Row]()
        .at(START, row("a", 5, 10, 0))
        .at(START + 2 * SECOND)
        .at(START + 3 * SECOND, row("a", 3, 20, 3))
        .at(START + 4 * SECOND, watermark=START + 60 * SECOND)
    )
    computed = points.process(Computation(initial=0, on_element=observe, on_timer=fire))
    return [output.value for output in PolarsStreaming().run(computed, {rows: line}).elements]


def replay() -> object:
    """The panes of recorded rows, with the second at which each was emitted."""
    frame = pl.DataFrame([asdict(row("a", value, at, seen)) for seen, value, at in ARRIVALS])
    batches = flowalg_polars.replay(
        corrected,
        {rows: frame},
        watermark=BoundedOutOfOrderness(5 * SECOND),
        processing_time="seen",
        ends=False,
    )
    return [
        [round((pane.processing_time.datetime - START) / SECOND), pane.value]
        for batch in batches
        for pane in batch.panes
    ]


def explanations() -> object:
    """What is said of a window that has no pane yet."""
    line = Timeline[Row]().at(START, row("a", 5, 10, 0), watermark=START + 20 * SECOND)
    run = reference.run(corrected, {rows: line})
    window = Window(event_time(START), event_time(START + WINDOW * SECOND))
    text = str(reference.why_not(run, "all", window))
    facts = {
        "waits for": "the watermark passes the end of the window, 2024-01-01T12:01:00Z",
        "watermark": "it is at 2024-01-01T12:00:20Z",
        "held by": "It is held by source 'rows'",
    }
    return [name for name, words in facts.items() if words in text]


if __name__ == "__main__":
    print_cells(percentile, idle, timers, replay, explanations)
