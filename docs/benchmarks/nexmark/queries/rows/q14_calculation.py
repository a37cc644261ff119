"""Query 14: bids of some price in euros, with the part of their day, and with a count by a user's function."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.queries.rows.q1_currency import EUROS
from docs.benchmarks.nexmark.query import Query


@frozen
class Row:
    """A bid in euros."""

    auction: int
    bidder: int
    euros: float
    part_of_day: str
    date_time: datetime
    extra: str
    letters: int


def part_of_day(hour: int) -> str:
    """Names the part of the day of an hour."""
    if 8 <= hour <= 18:
        return "day"
    return "night" if hour <= 6 or hour >= 20 else "other"


QUERY: Final = Query(
    14,
    "calculation",
    "filter, map",
    BIDS.filter(lambda bid: 1_000_000 < EUROS * bid.price < 50_000_000).map(
        lambda bid: Row(
            bid.auction,
            bid.bidder,
            EUROS * bid.price,
            part_of_day(bid.date_time.hour),
            bid.date_time,
            bid.extra,
            bid.extra.count("c"),
        )
    ),
    """
    SELECT auction, bidder, CAST(0.908 AS DOUBLE) * price AS euros,
        CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'day'
             WHEN hour(date_time) <= 6 OR hour(date_time) >= 20 THEN 'night' ELSE 'other' END AS part_of_day,
        date_time, extra, length(extra) - length(replace(extra, 'c', '')) AS letters
    FROM bid
    WHERE CAST(0.908 AS DOUBLE) * price > 1000000 AND CAST(0.908 AS DOUBLE) * price < 50000000
    """,
    flink_sql="""
        SELECT auction, bidder, CAST(0.908 AS DOUBLE) * price AS euros,
            CASE WHEN EXTRACT(HOUR FROM date_time) BETWEEN 8 AND 18 THEN 'day'
                 WHEN EXTRACT(HOUR FROM date_time) <= 6 OR EXTRACT(HOUR FROM date_time) >= 20 THEN 'night' ELSE 'other'
            END AS part_of_day, date_time, extra, char_length(extra) - char_length(replace(extra, 'c', '')) AS letters
        FROM bid
        WHERE CAST(0.908 AS DOUBLE) * price > 1000000 AND CAST(0.908 AS DOUBLE) * price < 50000000
    """,
)
