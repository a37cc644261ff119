"""Query 19: the ten highest bids on each auction, with their rank. Of equal bids, the earlier one is higher."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS, Bid
from docs.benchmarks.nexmark.query import OnStreams, Query, kept_current
from flowalg import TopN

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@frozen
class Row:
    """A bid and its rank among those on its auction."""

    bid: Bid
    rank: int


def price_then_earlier(bid: Bid) -> tuple[int, timedelta]:
    """Returns what orders bids: a higher price, and then an earlier time."""
    return bid.price, EPOCH - bid.date_time


def ranked(bids: list[Bid]) -> list[Row]:
    """Numbers the bids from 1."""
    return [Row(bid, rank) for rank, bid in enumerate(bids, start=1)]


QUERY: Final = Query(
    19,
    "ten highest bids",
    "the global window, TopN, flat_map, retractions",
    kept_current(BIDS.key_by(lambda bid: bid.auction))
    .combine_per_key(TopN(10, by=price_then_earlier))
    .flat_map(lambda pair: ranked(pair.value)),
    """
    SELECT * FROM (
        SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time) AS rank FROM bid
    ) WHERE rank <= 10
    """,
    on_streams=OnStreams(
        """
            SELECT bid.*, place + 1 AS rank FROM (
                SELECT posexplode(max_by(struct(*), struct(price, -unix_micros(date_time)), 10)) AS (place, bid)
                FROM bid GROUP BY auction
            )
        """,
        key=("auction",),
    ),
    flink_sql="""
        SELECT * FROM (
            SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, date_time) AS place FROM bid
        ) WHERE place <= 10
    """,
)
