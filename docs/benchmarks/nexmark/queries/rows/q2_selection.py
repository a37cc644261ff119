"""Query 2: the prices of the bids on every 123rd auction."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.query import Query


@frozen
class Row:
    """A bid on a selected auction."""

    auction: int
    price: int


QUERY: Final = Query(
    2,
    "selection",
    "filter, map",
    BIDS.filter(lambda bid: bid.auction % 123 == 0).map(lambda bid: Row(bid.auction, bid.price)),
    "SELECT auction, price FROM bid WHERE auction % 123 = 0",
)
