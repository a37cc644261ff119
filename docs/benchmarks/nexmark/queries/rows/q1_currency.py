"""Query 1: the price of every bid in euros."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.query import Query

EUROS: Final = 0.908
"""The price of a dollar."""


@frozen
class Row:
    """A bid in euros."""

    auction: int
    bidder: int
    euros: float
    date_time: datetime
    extra: str


QUERY: Final = Query(
    1,
    "currency conversion",
    "map",
    BIDS.map(lambda bid: Row(bid.auction, bid.bidder, EUROS * bid.price, bid.date_time, bid.extra)),
    "SELECT auction, bidder, CAST(0.908 AS DOUBLE) * price AS euros, date_time, extra FROM bid",
)
