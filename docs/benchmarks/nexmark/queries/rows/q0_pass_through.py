"""Query 0: every bid as it is. It measures what an engine costs without any work."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.query import Query


@frozen
class Row:
    """A bid."""

    auction: int
    bidder: int
    price: int
    date_time: datetime
    extra: str


QUERY: Final = Query(
    0,
    "pass through",
    "map",
    BIDS.map(lambda bid: Row(bid.auction, bid.bidder, bid.price, bid.date_time, bid.extra)),
    "SELECT auction, bidder, price, date_time, extra FROM bid",
)
