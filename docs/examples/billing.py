"""What does each advertiser owe per day? Bills by calendar day in Berlin, with credit notes for late clicks.

A day begins and ends at midnight in Berlin. On 31 March 2024 the clocks went forward, so that day had 23 hours; on 27
October they went back, and that day had 25. ``CalendarDays`` follows the time zone. A bill is written when the day is
complete. Clicks that are up to three days late correct it, once a day: the old bill is retracted (a credit note), and
a new bill replaces it. Later clicks are dropped: they are not billed, but reported with the reason.
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
    Count,
    Pane,
    Source,
    Sum,
    Timeline,
)
from flowalg.runs import Change


@frozen
class Click:
    """A click on an advertisement: its price, its time, and the time at which the exchange observed it."""

    advertiser: str
    cents: int
    at: datetime
    seen: datetime


@frozen
class Bill:
    """The number of clicks and their price."""

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


def hourly_clicks(advertiser: str, cents: int, first: datetime, after: datetime) -> list[Click]:
    """One click in each hour between two days, observed a minute later: a day has as many clicks as hours."""
    start, end = first.astimezone(UTC), after.astimezone(UTC)  # the wall clock would skip or repeat an hour
    times = (start + HOUR / 2 + hour * HOUR for hour in range((end - start) // HOUR))
    return [Click(advertiser, cents, at, at + MINUTE) for at in times]


def berlin(month: int, day: int, hour: int = 0) -> datetime:
    """A local time of 2024 in Berlin."""
    return datetime(2024, month, day, hour, tzinfo=BERLIN)


CLICKS: Final = (
    *hourly_clicks("Acme", 10, berlin(3, 30), berlin(4, 5)),
    *hourly_clicks("Bolt", 25, berlin(3, 31), berlin(4, 1)),
    *hourly_clicks("Acme", 10, berlin(10, 26), berlin(10, 28)),
    Click("Acme", 10, berlin(3, 31, 14), berlin(4, 2, 9)),  # two days late: corrects a bill
    Click("Acme", 10, berlin(3, 31, 15), berlin(4, 2, 11)),
    Click("Bolt", 25, berlin(3, 30, 12), berlin(4, 4, 9)),  # five days late: dropped
)

TIMELINE: Final = Timeline.from_records(
    clicks, CLICKS, processing_time=lambda click: click.seen, watermark=BoundedOutOfOrderness(HOUR)
)


def format_pane(pane: Pane[KV[str, Bill]]) -> str:
    """A pane as a line of the ledger."""
    day, hours = (
        pane.window.start.datetime.astimezone(BERLIN),
        (pane.window.end - pane.window.start) * MICRO // HOUR,
    )
    kind = "credit note" if pane.change is Change.RETRACTION else "bill"
    written = pane.processing_time.datetime.astimezone(BERLIN)
    sign = "-" if pane.change is Change.RETRACTION else ""
    return (
        f"{written:%d %b %H:%M}  {kind:<11}  {pane.key}  {day:%a %d %b} ({hours} hours)  "
        f"{pane.value.clicks:>2} clicks  {sign}{pane.value.cents / 100:.2f} EUR"
    )


def main() -> None:
    """Prints the ledger, and the clicks that were too late to be billed."""
    run = reference.run(bills, {clicks: TIMELINE})
    print("written       document     to    day                      content")
    print(*map(format_pane, run.panes), sep="\n")
    for drop in run.dropped:
        assert isinstance(drop.element, KV)
        click: Click = drop.element.value
        print(
            f"\nNot billed: {click.advertiser}, a click of {click.at:%d %b}, observed on {click.seen:%d %b}"
        )


if __name__ == "__main__":
    main()
