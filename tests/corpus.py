"""Named pipelines over one source, which every interpreter runs: between them they use all that there is."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import Enum

from attrs import frozen

from flowalg import (
    FOREVER,
    KV,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    Mean,
    Min,
    PCollection,
    Source,
    Sum,
)
from tests.scores import minute


class Kind(Enum):
    """What was sold."""

    TEA = "tea"
    CAKE = "cake"


@frozen
class Place:
    """A record inside a record."""

    city: str
    floor: int


@frozen
class Sale:
    """One sale, with both of its times."""

    shop: str
    amount: int
    price: float
    kind: Kind
    place: Place
    note: str | None
    tags: list[str]
    at: datetime
    seen: datetime


@frozen
class Totals:
    """Named results."""

    sales: int
    amount: int
    mean_price: float


@frozen
class Bill:
    """What a grouping's panes are mapped to."""

    shop: str
    cents: int
    large: bool


SALES = Source("sales", Sale, event_time=lambda s: s.at)
LATENESS = timedelta(minutes=4)
FIVE = FixedWindows(timedelta(minutes=5))
RATE = 3


def initial(sale: Sale) -> str:
    """A function of more than one statement, which is not lifted; its annotation says what it gives."""
    first = sale.shop[:1]
    return first.upper()


def weighted(sale: Sale) -> int:
    """A combiner's argument that only Python can compute."""
    return sum(len(tag) for tag in sale.tags) * sale.amount


def city_and_kind(sale: Sale) -> tuple[str, bool]:
    """A key of two parts."""
    return sale.place.city, sale.kind is Kind.TEA


def time_of(sale: Sale) -> datetime:
    """An event time that only Python can compute."""
    return max(sale.at, sale.seen - timedelta(days=400))


def words(sale: Sale) -> Iterable[str]:
    """Any number of words for a sale."""
    return sale.tags + ([sale.note] if sale.note else [])


ODD_TIMES = Source("sales", Sale, event_time=time_of)

by_shop = SALES.key_by(lambda s: s.shop)

PIPELINES: dict[str, PCollection[object]] = {
    "a sum per key": by_shop.map_values(lambda s: s.amount)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Sum()),
    "several results as a record": by_shop.window(FIVE, allowed_lateness=LATENESS).combine_per_key(
        Count(), Sum.of(lambda s: s.amount * RATE + 1), Mean.of(lambda s: s.amount), into=Totals
    ),
    "the global window": SALES.filter(lambda s: s.amount > 2 and s.note is None)
    .key_by(lambda s: s.place.city)
    .combine_per_key(Count()),
    "no element passes": SALES.filter(lambda s: s.amount > 1000)
    .key_by(lambda s: s.shop)
    .combine_per_key(Count()),
    "least and greatest": by_shop.window(FIVE, allowed_lateness=FOREVER).combine_per_key(
        Min.of(lambda s: s.at),
        Max.of(lambda s: s.place.city),
        Min.of(lambda s: s.price),
        Max.of(lambda s: s.amount),
    ),
    "a record as key": SALES.key_by(lambda s: s.place)
    .window(FixedWindows(timedelta(minutes=7), timedelta(minutes=2)), allowed_lateness=LATENESS)
    .combine_per_key(Count()),
    "a tuple as key, from Python": SALES.key_by(city_and_kind)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Sum.of(lambda s: -s.amount)),
    "an enum and an optional as key": SALES.key_by(lambda s: (s.kind, s.note))
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Count()),
    "flat_map in Python": SALES.flat_map(words, result=str)
    .key_by(lambda word: f"<{word}>")
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Count()),
    "flat_map of a list": SALES.flat_map(lambda s: s.tags)
    .key_by(lambda tag: tag)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Count()),
    "an argument from Python": SALES.key_by(initial)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Count(), Sum.of(weighted)),
    "a choice": by_shop.map_values(lambda s: s.amount if s.note is not None and s.amount >= 0 else -1)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Sum()),
    "panes mapped and filtered": by_shop.map_values(lambda s: s.amount)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Sum())
    .filter(lambda pair: pair.value != 4)
    .map(lambda pair: Bill(pair.key, pair.value * 100, pair.value > 5)),
    "panes mapped in Python": by_shop.window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Mean.of(lambda s: s.amount))
    .map(lambda pair: f"{pair.key}: {pair.value:.3f}"),
    "a trigger that does not repeat": by_shop.window(
        FIVE, trigger=AtWatermark(), allowed_lateness=LATENESS
    ).combine_per_key(Count()),
    "event times from Python": ODD_TIMES.key_by(lambda s: s.shop)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Count()),
    "records on the way": SALES.map(lambda s: KV(s.shop, Place(s.place.city, s.place.floor + s.amount)))
    .map_values(lambda p: p.floor * p.floor - p.floor)
    .window(GlobalWindows())
    .combine_per_key(Sum(), Count()),
}
"""Every pipeline, by name."""

TWO_STAGES: PCollection[object] = (
    by_shop.window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Count())
    .map(lambda pair: KV("all", pair.value))
    .combine_per_key(Max(), Sum())
)
"""A second grouping over the windows of the first."""


def sale(shop: str, amount: int, at: float, seen: float, note: str | None = None) -> Sale:
    """A sale whose other fields follow from these."""
    kind = Kind.TEA if amount % 2 else Kind.CAKE
    place = Place("Köln" if shop < "b" else "Łódź", amount % 3)
    tags = [shop, "x" * (abs(amount) % 3)] if amount != 3 else []
    return Sale(shop, amount, amount / 8, kind, place, note, tags, minute(at), minute(seen))


BATCHES: list[list[Sale]] = [
    [sale("a", 4, 0, 10), sale("b", 3, 1, 10), sale("a", 1, 4.5, 11, "n")],
    [sale("b", -2, 6, 12), sale("c", 7, 3, 12), sale("a", 5, 5, 12)],
    [sale("a", 2, 2, 13, "late"), sale("b", 9, 12, 13)],
    [sale("c", 6, 13, 14, "n"), sale("a", 8, 1, 14), sale("b", 1, 9.99, 14)],
    [sale("a", 3, 30, 15), sale("b", 3, 10, 16, "n")],
    [sale("c", 5, 2, 17), sale("c", 5, 31, 17)],
]
"""Micro-batches of sales: on time, late, and too late for most of the pipelines."""
