"""How many visits to a shop lasted under five minutes? Sessions that are recounted when a late click changes them.

A visit is a session: all clicks of a visitor without a pause of more than ten minutes. The first grouping finds the
visits, and the second counts short and long visits by hour. A late click extends a visit, or merges two visits into
one. The count must then change too, so the first grouping *retracts* the old visit before it emits the new one, and the
second grouping subtracts the retracted visit from its count.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import flowalg_reference as reference
from attrs import frozen

from flowalg import (
    KV,
    Accumulation,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Max,
    Min,
    Pane,
    Sessions,
    Source,
    Timeline,
)
from flowalg.runs import Change


@frozen
class Click:
    """A visitor opens a page: the time of the click, and the time at which the shop observed it."""

    visitor: str
    page: str
    at: datetime
    seen: datetime


@frozen
class Visit:
    """The first and the last click of a visit."""

    first: datetime
    last: datetime


MINUTE: Final = timedelta(minutes=1)

clicks = Source("clicks", Click, event_time=lambda click: click.at)

visits = (
    clicks.key_by(lambda click: click.visitor)
    .window(
        Sessions(10 * MINUTE),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=timedelta(hours=1),
    )
    .combine_per_key(Min.of(lambda click: click.at), Max.of(lambda click: click.at), into=Visit)
)

lengths = (
    visits.key_by(lambda visit: "short" if visit.value.last - visit.value.first < 5 * MINUTE else "long")
    .window(
        FixedWindows(timedelta(hours=1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=timedelta(hours=1),
    )
    .combine_per_key(Count())
)
"""The number of short and of long visits per hour; a visit belongs to the hour in which its ten-minute gap ended."""


def clock(minute: float) -> datetime:
    """A time, in minutes after nine in the morning."""
    return datetime(2024, 5, 6, 9, tzinfo=UTC) + minute * MINUTE


CLICKS: Final = (
    Click("ana", "shoes", clock(0), clock(0.5)),
    Click("ben", "hats", clock(1), clock(1.5)),
    Click("ana", "boots", clock(2), clock(2.5)),
    Click("ana", "basket", clock(14), clock(14.5)),  # twelve minutes after her last observed click
    Click("cem", "coats", clock(20), clock(20.5)),
    Click("cem", "basket", clock(29), clock(29.5)),
    Click("dora", "scarves", clock(61), clock(61.5)),
    Click("dora", "gloves", clock(75), clock(75.5)),
    Click("ana", "size guide", clock(8), clock(80)),  # from a tunnel: merges two visits
    Click("dora", "hats", clock(95), clock(95.5)),
    Click("ben", "caps", clock(1.5), clock(140)),  # too late: dropped
)

TIMELINE: Final = Timeline.from_records(
    clicks, CLICKS, processing_time=lambda click: click.seen, watermark=BoundedOutOfOrderness(5 * MINUTE)
)


def format_pane(pane: Pane[KV[str, int]]) -> str:
    """A pane of the counts as a line of text."""
    hour = pane.window.start.datetime
    verb = "retracts" if pane.change is Change.RETRACTION else "emits"
    return f"{pane.processing_time.datetime:%H:%M:%S}  {verb:<8}  visits of {hour:%H:%M}: {pane.value} {pane.key}"


def main() -> None:
    """Prints every visit and every count when it is emitted or retracted, and the clicks that were dropped."""
    print("Visits:")
    for visit in reference.run(visits, {clicks: TIMELINE}).panes:
        verb = "retracts" if visit.change is Change.RETRACTION else "emits"
        span = f"{visit.value.first:%H:%M:%S} to {visit.value.last:%H:%M:%S}"
        print(f"{visit.processing_time.datetime:%H:%M:%S}  {verb:<8}  {visit.key:<4}  {span}")
    run = reference.run(lengths, {clicks: TIMELINE})
    print("\nNumbers of short visits (under five minutes) and long visits:")
    print(*map(format_pane, run.panes), sep="\n")
    for drop in run.dropped:
        assert isinstance(drop.element, KV)
        click: Click = drop.element.value
        print(f"\nDropped: {click.visitor}'s click at {click.at:%H:%M:%S}, observed at {click.seen:%H:%M:%S}")


if __name__ == "__main__":
    main()
