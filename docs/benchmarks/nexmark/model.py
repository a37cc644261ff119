"""The records of Nexmark, the sources that supply them, and the tables in which SQL finds them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from attrs import frozen

from flowalg import Source


@frozen
class Person:
    """A person who has registered, to sell or to bid."""

    id: int
    name: str
    email: str
    credit_card: str
    city: str
    state: str
    date_time: datetime
    extra: str
    arrived: datetime


@frozen
class Auction:
    """An item that a person sells, until the auction ``expires``."""

    id: int
    item: str
    description: str
    initial_bid: int
    reserve: int
    date_time: datetime
    expires: datetime
    seller: int
    category: int
    extra: str
    arrived: datetime


@frozen
class Bid:
    """A bid of a person on an auction."""

    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    date_time: datetime
    extra: str
    arrived: datetime


@frozen
class Entry:
    """A row of the table of query 13, which is complete before the first event."""

    number: int
    text: str
    date_time: datetime


PERSONS: Final = Source("persons", Person, event_time=lambda p: p.date_time)
AUCTIONS: Final = Source("auctions", Auction, event_time=lambda a: a.date_time)
BIDS: Final = Source("bids", Bid, event_time=lambda b: b.date_time)
ARRIVALS: Final = Source("arrivals", Bid, event_time=lambda b: b.arrived)
"""The bids by the time of their arrival: windows of it are those of processing time, and can be repeated."""
ENTRIES: Final = Source("entries", Entry, event_time=lambda e: e.date_time)

AnyTable = Source[Person] | Source[Auction] | Source[Bid] | Source[Entry]
TABLES: Final[Mapping[AnyTable, str]] = {
    PERSONS: "person",
    AUCTIONS: "auction",
    BIDS: "bid",
    ARRIVALS: "bid",
    ENTRIES: "side_input",
}
"""The table with the data of each source."""
