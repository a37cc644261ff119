"""The sales of the jobs about values and functions: nested records, enums, optionals and lists."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import Enum

from attrs import frozen

from flowalg import BoundedOutOfOrderness, Source
from flowalg_laws.kit.readings import START
from flowalg_laws.kit.replay import Feed


class Kind(Enum):
    """A kind of product."""

    TEA = "tea"
    CAKE = "cake"


@frozen
class Place:
    """A record inside a record."""

    city: str
    floor: int


@frozen
class Sale:
    """A sale, with its event time and processing time."""

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
    """A record to which panes are mapped."""

    shop: str
    cents: int
    large: bool


RATE = 3


def initial(sale: Sale) -> str:
    """Returns the first letter in its other case; the call of ``swapcase`` keeps the function in Python."""
    first = sale.shop[:1]
    return first.swapcase()


def weighted(sale: Sale) -> int:
    """Returns an amount weighted by tags, which only Python can compute."""
    return sum(len(tag) for tag in sale.tags) * sale.amount


def city_and_kind(sale: Sale) -> tuple[str, bool]:
    """Returns the city, and whether the kind is tea."""
    return sale.place.city, sale.kind is Kind.TEA


def time_of(sale: Sale) -> datetime:
    """Returns the event time, or a bound that only Python can compute."""
    return max(sale.at, sale.seen - timedelta(days=400))


def words(sale: Sale) -> Iterable[str]:
    """Returns any number of words for a sale."""
    return sale.tags + ([sale.note] if sale.note else [])


def sale(shop: str, amount: int, at: float, seen: float, note: str | None = None) -> Sale:
    """Makes a sale; the other fields are derived. Times are minutes after the start."""
    kind = Kind.TEA if amount % 2 else Kind.CAKE
    place = Place("Köln" if shop < "b" else "Łódź", amount % 3)
    tags = [shop, "x" * (abs(amount) % 3)] if amount != 3 else []
    event_time, arrival = (START + timedelta(minutes=minute) for minute in (at, seen))
    return Sale(shop, amount, amount / 8, kind, place, note, tags, event_time, arrival)


SALES = Source("sales", Sale, event_time=lambda s: s.at)
ODD_TIMES = Source("sales", Sale, event_time=time_of)
POLICY = BoundedOutOfOrderness(timedelta(minutes=2))
BATCHES: tuple[tuple[Sale, ...], ...] = (
    (sale("a", 4, 0, 10), sale("b", 3, 1, 10), sale("a", 1, 4.5, 11, "n")),
    (sale("b", -2, 6, 12), sale("c", 7, 3, 12), sale("a", 5, 5, 12)),
    (sale("a", 2, 2, 13, "late"), sale("b", 9, 12, 13)),
    (sale("c", 6, 13, 14, "n"), sale("a", 8, 1, 14), sale("b", 1, 9.99, 14)),
    (sale("a", 3, 30, 15), sale("b", 3, 10, 16, "n")),
    (sale("c", 5, 2, 17), sale("c", 5, 31, 17)),
)
"""Micro-batches of sales: on time, late, and beyond an allowed lateness of a few minutes."""

SOLD = Feed(SALES, Sale, BATCHES, POLICY)
SOLD_AT_ODD_TIMES = Feed(ODD_TIMES, Sale, BATCHES, POLICY)
