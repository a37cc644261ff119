"""Query 22: bids with the folders of their address."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.query import Query


@frozen
class Row:
    """A bid and three folders."""

    auction: int
    bidder: int
    price: int
    channel: str
    first: str
    second: str
    third: str


QUERY: Final = Query(
    22,
    "folders of an address",
    "map",
    BIDS.map(
        lambda bid: Row(
            bid.auction,
            bid.bidder,
            bid.price,
            bid.channel,
            bid.url.split("/")[3],
            bid.url.split("/")[4],
            bid.url.split("/")[5],
        )
    ),
    "SELECT auction, bidder, price, channel,"
    " split_part(url, '/', 4), split_part(url, '/', 5), split_part(url, '/', 6) FROM bid",
    "SELECT auction, bidder, price, channel,"
    " split_part(url, '/', 4) AS first, split_part(url, '/', 5) AS second, split_part(url, '/', 6) AS third FROM bid",
    flink_sql="""
        SELECT auction, bidder, price, channel,
            split_index(url, '/', 3), split_index(url, '/', 4), split_index(url, '/', 5)
        FROM bid
    """,
)
