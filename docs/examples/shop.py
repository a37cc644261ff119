"""How many visits to a shop lasted under five minutes? Sessions, counted again whenever a late click changes them.

A visit is a session: all clicks of a visitor with no pause of more than ten minutes. The first grouping finds the
visits; the second counts them by hour, the short ones apart from the long ones. A late click makes a visit longer, or
makes one visit of two. Then the count has to change too, so the first grouping *retracts*: it takes the old visit back
before it gives the new one, and the second grouping subtracts what it had counted.
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
    Change,
    Count,
    FixedWindows,
    Max,
    Min,
    Pane,
    Sessions,
    Source,
    Timeline,
    to_datetime,
)


@frozen
class Click:
    """A visitor has looked at a page: when that was, and when the shop heard of it."""

    visitor: str
    page: str
    at: datetime
    seen: datetime


@frozen
class Visit:
    """From a visitor's first click to the last one."""

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
"""How many short and how many long visits there were in each hour: that in which the ten minutes after them ended."""


def clock(minute: float) -> datetime:
    """So many minutes after nine in the morning."""
    return datetime(2024, 5, 6, 9, tzinfo=UTC) + minute * MINUTE


CLICKS: Final = (
    Click("ana", "shoes", clock(0), clock(0.5)),
    Click("ben", "hats", clock(1), clock(1.5)),
    Click("ana", "boots", clock(2), clock(2.5)),
    Click("ana", "basket", clock(14), clock(14.5)),  # twelve minutes after her last click that was seen
    Click("cem", "coats", clock(20), clock(20.5)),
    Click("cem", "basket", clock(29), clock(29.5)),
    Click("dora", "scarves", clock(61), clock(61.5)),
    Click("dora", "gloves", clock(75), clock(75.5)),
    Click("ana", "size guide", clock(8), clock(80)),  # from a tunnel: it makes one visit of two
    Click("dora", "hats", clock(95), clock(95.5)),
    Click("ben", "caps", clock(1.5), clock(140)),  # too late to be taken
)

TIMELINE: Final = Timeline.from_records(
    clicks, CLICKS, processing_time=lambda click: click.seen, watermark=BoundedOutOfOrderness(5 * MINUTE)
)


def told(pane: Pane[KV[str, int]]) -> str:
    """A pane of the counts in a line."""
    hour = to_datetime(pane.window.start)
    verb = "takes back" if pane.change is Change.RETRACTION else "says"
    return f"{to_datetime(pane.processing_time):%H:%M:%S}  {verb:<10}  visits of {hour:%H:%M}: {pane.value} {pane.key}"


def main() -> None:
    """Print every visit and every count as it is said, taken back and said again; and what came too late."""
    print("Visits, as they are known:")
    for visit in reference.run(visits, {clicks: TIMELINE}).panes:
        verb = "takes back" if visit.change is Change.RETRACTION else "says"
        span = f"{visit.value.first:%H:%M:%S} to {visit.value.last:%H:%M:%S}"
        print(f"{to_datetime(visit.processing_time):%H:%M:%S}  {verb:<10}  {visit.key:<4}  {span}")
    run = reference.run(lengths, {clicks: TIMELINE})
    print("\nHow many of them were short (under five minutes) or long:")
    print(*map(told, run.panes), sep="\n")
    for drop in run.dropped:
        assert isinstance(drop.element, KV)
        click: Click = drop.element.value
        print(f"\nToo late: {click.visitor}'s click at {click.at:%H:%M:%S}, seen at {click.seen:%H:%M:%S}")


if __name__ == "__main__":
    main()
