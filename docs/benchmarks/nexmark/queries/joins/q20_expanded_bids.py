"""Query 20: bids on auctions of category 10, with their auction."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import AUCTIONS, BIDS, Auction, Bid
from docs.benchmarks.nexmark.query import Query, as_they_come


@frozen
class Row:
    """A bid and its auction."""

    bid: Bid
    auction: Auction


items: Final = AUCTIONS.filter(lambda auction: auction.category == 10).key_by(lambda auction: auction.id)

QUERY: Final = Query(
    20,
    "bids with their auction",
    "filter, inner_join without windows",
    as_they_come(BIDS.key_by(lambda bid: bid.auction))
    .inner_join(as_they_come(items))
    .map(lambda pair: Row(pair.value[0], pair.value[1])),
    "SELECT bid.*, auction.* FROM bid JOIN auction ON bid.auction = auction.id WHERE category = 10",
    flink_sql="""
        SELECT bid.auction, bidder, price, channel, url, bid.date_time, bid.extra, bid.arrived, id, item,
            description, initial_bid, reserve, auction.date_time AS opened, expires, seller, category,
            auction.extra AS auction_extra, auction.arrived AS auction_arrived
        FROM bid JOIN auction ON bid.auction = auction.id WHERE category = 10
    """,
)
