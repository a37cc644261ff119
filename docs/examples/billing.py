"""What does each advertiser owe for a day? Bills by Berlin's calendar, and credit notes when late clicks correct them.

A day begins and ends at midnight in Berlin. On 31 March 2024 the clocks were put forward, so that day had 23 hours;
on 27 October they were put back, and that day had 25. ``CalendarDays`` knows. A bill goes out once the day is
complete. Clicks that come up to three days later correct it, once a day: the old bill is taken back (a credit note),
and a new one takes its place. What comes later than that is not billed, and is not lost either: it is a drop, with its
reason.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import flowalg_reference as reference
from attrs import frozen

from flowalg import (
    KV,
    Accumulation,
    AtPeriod,
    AtWatermark,
    BoundedOutOfOrderness,
    CalendarDays,
    Change,
    Count,
    Pane,
    Source,
    Sum,
    Timeline,
    to_datetime,
)


@frozen
class Click:
    """Somebody has clicked on an advertisement: what that costs, when it was, and when the exchange heard of it."""

    advertiser: str
    cents: int
    at: datetime
    seen: datetime


@frozen
class Bill:
    """So many clicks, for so much."""

    clicks: int
    cents: int


BERLIN: Final = ZoneInfo("Europe/Berlin")
MICRO: Final = timedelta(microseconds=1)
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)

clicks = Source("clicks", Click, event_time=lambda click: click.at)

bills = (
    clicks.key_by(lambda click: click.advertiser)
    .window(
        CalendarDays("Europe/Berlin"),
        trigger=AtWatermark().with_late_firings(AtPeriod(DAY)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=3 * DAY,
    )
    .combine_per_key(Count(), Sum.of(lambda click: click.cents), into=Bill)
)


def each_hour(advertiser: str, cents: int, first: datetime, after: datetime) -> list[Click]:
    """A click in each hour that passes between two days, seen a minute later: the clicks of a day count its hours."""
    start, end = first.astimezone(UTC), after.astimezone(UTC)  # the wall clock would skip or repeat an hour
    times = (start + HOUR / 2 + hour * HOUR for hour in range((end - start) // HOUR))
    return [Click(advertiser, cents, at, at + MINUTE) for at in times]


def berlin(month: int, day: int, hour: int = 0) -> datetime:
    """A time of 2024, as clocks in Berlin show it."""
    return datetime(2024, month, day, hour, tzinfo=BERLIN)


CLICKS: Final = (
    *each_hour("Acme", 10, berlin(3, 30), berlin(4, 5)),
    *each_hour("Bolt", 25, berlin(3, 31), berlin(4, 1)),
    *each_hour("Acme", 10, berlin(10, 26), berlin(10, 28)),
    Click("Acme", 10, berlin(3, 31, 14), berlin(4, 2, 9)),  # two days late: it corrects a bill
    Click("Acme", 10, berlin(3, 31, 15), berlin(4, 2, 11)),
    Click("Bolt", 25, berlin(3, 30, 12), berlin(4, 4, 9)),  # five days late: it is not billed
)

TIMELINE: Final = Timeline.from_records(
    clicks, CLICKS, processing_time=lambda click: click.seen, watermark=BoundedOutOfOrderness(HOUR)
)


def told(pane: Pane[KV[str, Bill]]) -> str:
    """A pane as a line of the ledger."""
    day, hours = (
        to_datetime(pane.window.start).astimezone(BERLIN),
        (pane.window.end - pane.window.start) * MICRO // HOUR,
    )
    kind = "credit note" if pane.change is Change.RETRACTION else "bill"
    written = to_datetime(pane.processing_time).astimezone(BERLIN)
    sign = "-" if pane.change is Change.RETRACTION else ""
    return (
        f"{written:%d %b %H:%M}  {kind:<11}  {pane.key}  {day:%a %d %b} ({hours} hours)  "
        f"{pane.value.clicks:>2} clicks  {sign}{pane.value.cents / 100:.2f} EUR"
    )


def main() -> None:
    """Print the ledger, and what was seen too late to be billed."""
    run = reference.run(bills, {clicks: TIMELINE})
    print("written on    what         to    for the day              so much")
    print(*map(told, run.panes), sep="\n")
    for drop in run.dropped:
        assert isinstance(drop.element, KV)
        click: Click = drop.element.value
        print(f"\nNot billed: {click.advertiser}, a click of {click.at:%d %b}, seen on {click.seen:%d %b}")


if __name__ == "__main__":
    main()
