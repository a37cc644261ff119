"""Query 9: each auction with its winning bid: the highest one, and of equal ones the earliest."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import Auction, Bid
from docs.benchmarks.nexmark.queries.joins.bids_in_time import BIDS_IN_TIME
from docs.benchmarks.nexmark.queries.windows.q19_top_ten import price_then_earlier
from docs.benchmarks.nexmark.query import OnStreams, Query, kept_current
from flowalg import TopN


@frozen
class Row:
    """An auction and its winning bid."""

    auction: Auction
    bid: Bid


QUERY: Final = Query(
    9,
    "winning bids",
    "inner_join without windows, TopN, retractions",
    kept_current(BIDS_IN_TIME.key_by(lambda pair: pair[0].id))
    .combine_per_key(TopN(1, by=lambda pair: price_then_earlier(pair[1])))
    .map(lambda pair: Row(pair.value[0][0], pair.value[0][1])),
    """
    SELECT * EXCLUDE (place) FROM (
        SELECT auction.*, bid.*,
            row_number() OVER (PARTITION BY auction.id ORDER BY bid.price DESC, bid.date_time) AS place
        FROM auction JOIN bid ON auction.id = bid.auction WHERE bid.date_time BETWEEN auction.date_time AND expires
    ) WHERE place = 1
    """,
    """
    SELECT won.auction.*, won.bid.* FROM (
        SELECT struct(auction.*) AS auction, struct(bid.*) AS bid,
            row_number() OVER (PARTITION BY auction.id ORDER BY bid.price DESC, bid.date_time) AS place
        FROM auction JOIN bid ON auction.id = bid.auction WHERE bid.date_time BETWEEN auction.date_time AND expires
    ) AS won WHERE place = 1
    """,
    on_streams=OnStreams(
        """
        SELECT won.auction.*, won.bid.* FROM (
            SELECT max_by(
                struct(struct(auction.*) AS auction, struct(bid.*) AS bid),
                struct(bid.price, -unix_micros(bid.date_time))
            ) AS won
            FROM auction JOIN bid ON auction.id = bid.auction
            -- With bid.date_time <= expires, Spark discards auctions that are open, and loses pairs.
            WHERE bid.date_time >= auction.date_time AND unix_micros(bid.date_time) <= unix_micros(expires)
            GROUP BY auction.id
        )
        """,
        key=("id",),
    ),
    flink_sql="""
        SELECT id, item, description, initial_bid, reserve, opened, expires, seller, category, auction_extra,
            auction_arrived, auction, bidder, price, channel, url, date_time, extra, arrived
        FROM (
            SELECT auction.id, item, description, initial_bid, reserve, auction.date_time AS opened, expires, seller,
                category, auction.extra AS auction_extra, auction.arrived AS auction_arrived, bid.auction, bidder,
                price, channel, url, bid.date_time, bid.extra, bid.arrived,
                row_number() OVER (PARTITION BY auction.id ORDER BY bid.price DESC, bid.date_time) AS place
            FROM auction JOIN bid ON auction.id = bid.auction WHERE bid.date_time BETWEEN auction.date_time AND expires
        ) AS won WHERE place = 1
    """,
)
