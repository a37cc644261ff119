"""Query 18: the last bid of each bidder on each auction."""

from __future__ import annotations

from typing import Final

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.query import OnStreams, Query, kept_current
from flowalg import TopN

QUERY: Final = Query(
    18,
    "last bid",
    "the global window, TopN, retractions",
    kept_current(BIDS.key_by(lambda bid: (bid.bidder, bid.auction)))
    .combine_per_key(TopN(1, by=lambda bid: bid.date_time))
    .map(lambda pair: pair.value[0]),
    """
    SELECT * EXCLUDE (place) FROM (
        SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS place FROM bid
    ) WHERE place = 1
    """,
    """
    SELECT auction, bidder, price, channel, url, date_time, extra, arrived FROM (
        SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS place FROM bid
    ) WHERE place = 1
    """,
    on_streams=OnStreams(
        """
            SELECT latest.* FROM (
                SELECT max_by(struct(*), date_time) AS latest FROM bid GROUP BY bidder, auction
            )
        """,
        key=("bidder", "auction"),
    ),
    flink_sql="""
        SELECT auction, bidder, price, channel, url, date_time, extra, arrived FROM (
            SELECT *, row_number() OVER (PARTITION BY bidder, auction ORDER BY date_time DESC) AS place FROM bid
        ) WHERE place = 1
    """,
)
