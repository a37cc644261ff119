"""The pipelines of the batch benchmarks, by the name of their query; they need no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from attrs import frozen

from docs.benchmarks.batch.data import Offer, Sale
from flowalg import (
    CalendarDays,
    Count,
    FixedWindows,
    Max,
    Mean,
    PCollection,
    Sessions,
    SlidingWindows,
    Source,
    Sum,
    TopN,
    flatten,
)

SALES: Final = Source("sales", Sale, event_time=lambda s: s.at)
OFFERS: Final = Source("offers", Offer, event_time=lambda o: o.at)
MINUTE: Final = timedelta(minutes=1)

by_user: Final = SALES.key_by(lambda s: s.user)
amounts: Final = by_user.map_values(lambda s: s.amount)


@frozen
class Stats:
    """Several aggregates."""

    sales: int
    amount: int
    most: int
    mean_price: float


@frozen
class Large:
    """The result of the map over sales."""

    user: str
    country: str
    doubled: int


def grade(note: str) -> int:
    """A function that is not lifted: the greatest digit sum of a note's two numbers."""
    best = 0
    for number in note.split(" of "):
        total = 0
        for digit in number:
            total += ord(digit) - 48
        best = max(best, total)
    return best


def value_of(event: Sale | Offer) -> float:
    """The amount of a sale, or the discount of an offer."""
    match event:
        case Sale(amount=amount):
            return float(amount)
        case Offer(discount=discount):
            return float(discount)


DAYS: Final = CalendarDays("Asia/Kathmandu", timedelta(hours=18, minutes=45))
"""Days that start at 13:00 UTC, as they always have since 1986."""
in_minutes: Final = amounts.window(FixedWindows(MINUTE))
prices: Final = SALES.key_by(lambda s: s.country).map_values(lambda s: s.price)
offered: Final = OFFERS.key_by(lambda o: o.user).map_values(lambda o: o.discount).window(FixedWindows(MINUTE))
either: Final = flatten(SALES, OFFERS).key_by(lambda event: event.user).map_values(value_of)
large: Final = SALES.filter(lambda s: s.amount > 250 and s.country != "jp").map(
    lambda s: Large(s.user, s.country, s.amount * 2)
)

PIPELINES: Final[Mapping[str, PCollection[object]]] = {
    "fixed-window sum": in_minutes.combine_per_key(Sum()),
    "calendar-day sum": amounts.window(DAYS).combine_per_key(Sum()),
    "several aggregates at once": by_user.window(FixedWindows(MINUTE)).combine_per_key(
        Count(),
        Sum.of(lambda s: s.amount),
        Max.of(lambda s: s.amount),
        Mean.of(lambda s: s.price),
        into=Stats,
    ),
    "sliding mean": amounts.window(
        SlidingWindows(timedelta(minutes=2), timedelta(seconds=30))
    ).combine_per_key(Mean()),
    "session count": by_user.window(Sessions(timedelta(seconds=30))).combine_per_key(Count()),
    "filter, map and re-key, count": large.key_by(lambda s: (s.country, s.doubled > 1500))
    .window(FixedWindows(MINUTE))
    .combine_per_key(Count()),
    "two stages": in_minutes.combine_per_key(Sum()).map(lambda pair: pair.value).combine_globally(Max()),
    "windowed join": in_minutes.inner_join(offered),
    "a sum of two types": either.window(FixedWindows(MINUTE)).combine_per_key(Sum()),
    "top ten per window": prices.window(FixedWindows(MINUTE)).combine_per_key(TopN(10)),
    "a function in Python": SALES.key_by(lambda s: grade(s.note))
    .window(FixedWindows(MINUTE))
    .combine_per_key(Count()),
}
