"""Query 13: bids with the text that a table has for the number of their auction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS, ENTRIES, Bid
from docs.benchmarks.nexmark.query import Query


@frozen
class Row:
    """A bid and a text."""

    auction: int
    bidder: int
    price: int
    date_time: datetime
    text: str


texts: Final = ENTRIES.key_by(lambda entry: entry.number).map_values(lambda entry: entry.text).as_map()


def with_text(bid: Bid, texts: Mapping[int, str]) -> Row:
    """Looks the text of a bid up."""
    return Row(bid.auction, bid.bidder, bid.price, bid.date_time, texts[bid.auction % 10_000])


QUERY: Final = Query(
    13,
    "a bounded side input",
    "a mapping as a side input",
    BIDS.map_with(texts, with_text),
    "SELECT auction, bidder, price, bid.date_time, text FROM bid JOIN side_input ON auction % 10000 = number",
)
