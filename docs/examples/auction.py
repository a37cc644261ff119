"""Who wins an auction? Windows that the elements themselves determine: an auction closes when its own record says.

The record of an auction has the time at which it closes, and is assigned the window until then. A bid does not know the
auction: it is assigned the instant at which it was made, and merges into the auction's window if it lies in that. A bid
outside of it stays alone, and has bid on nothing. Records and bids arrive in any order.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import flowalg_reference as reference
from attrs import frozen

from flowalg import (
    KV,
    BoundedOutOfOrderness,
    EventTime,
    Max,
    Pane,
    Source,
    Sum,
    Timeline,
    Window,
    event_time,
)
from flowalg.runs import WindowBounds
from flowalg.windows import WindowsByValue


@frozen
class Event:
    """The record of an auction, with the time at which it ``closes``, or a bid on it, with none."""

    auction: str
    cents: int
    at: datetime
    seen: datetime
    closes: datetime | None = None


@frozen
class Outcome:
    """The number of records of the auction in a window, and the highest bid; a record bids nothing."""

    auctions: int
    highest: int


def open_for(point: EventTime, auction: str, event: Event) -> list[Window]:
    """An auction is open until it closes, and a bid is made at one instant."""
    end = EventTime(point + 1) if event.closes is None else event_time(event.closes)
    return [Window(point, end)]


def bids_in_auctions(windows: tuple[Window, ...]) -> list[list[Window]]:
    """Windows that overlap are one auction with its bids. Auctions of one name do not overlap."""
    groups: list[list[Window]] = []
    for window in sorted(windows, key=lambda window: (window.start, window.end)):
        if groups and window.start < max(member.end for member in groups[-1]):
            groups[-1].append(window)
        else:
            groups.append([window])
    return groups


MINUTE: Final = timedelta(minutes=1)
AUCTIONS: Final = WindowsByValue("auctions", open_for, bids_in_auctions)

events = Source("events", Event, event_time=lambda event: event.at)

outcomes = (
    events.key_by(lambda event: event.auction)
    .window(AUCTIONS, allowed_lateness=timedelta(0))
    .combine_per_key(
        Sum.of(lambda event: 0 if event.closes is None else 1),
        Max.of(lambda event: event.cents),
        into=Outcome,
    )
    .filter(lambda pair: pair.value.auctions > 0)
    .with_window()
)
"""The outcome of each auction, with the time at which it was open."""


def noon(minutes: float) -> datetime:
    """A time, in minutes after noon."""
    return datetime(2024, 5, 6, 12, tzinfo=UTC) + minutes * MINUTE


EVENTS: Final = (
    Event("vase", 0, noon(0), noon(0), closes=noon(10)),
    Event("clock", 300, noon(3), noon(3)),  # a bid that arrives before the record of its auction
    Event("vase", 500, noon(4), noon(4)),
    Event("clock", 0, noon(2), noon(5), closes=noon(6)),
    Event("clock", 250, noon(5), noon(6)),
    Event("vase", 700, noon(9), noon(11)),
    Event("clock", 900, noon(7), noon(8)),  # a minute after the auction has closed
    Event("vase", 0, noon(20), noon(20), closes=noon(25)),  # the same vase again, and no bid
)

TIMELINE: Final = Timeline.from_records(
    events, EVENTS, processing_time=lambda event: event.seen, watermark=BoundedOutOfOrderness(4 * MINUTE)
)


def format_outcome(pane: Pane[tuple[KV[str, Outcome], WindowBounds]]) -> str:
    """The outcome of an auction as a line."""
    outcome, window = pane.element
    sold = f"sold for {outcome.value.highest / 100:.2f}" if outcome.value.highest else "not sold"
    return f"{outcome.key:<5}  {window.start:%H:%M}-{window.end:%H:%M}  {sold}"


def main() -> None:
    """Prints the outcomes, in the order in which they are known."""
    run = reference.run(outcomes, {events: TIMELINE})
    print("auction and time  outcome")
    print("-----------------------------")
    print(*map(format_outcome, run.panes), sep="\n")


if __name__ == "__main__":
    main()
