"""Query 17: the bids on an auction on a day, by the rank of the price, and their prices."""

from __future__ import annotations

from typing import Final, TypeAlias

from attrs import frozen

from docs.benchmarks.nexmark.model import Bid
from docs.benchmarks.nexmark.queries.windows.ranks import DAILY, RANKS, Ranks, ranks_in_sql
from docs.benchmarks.nexmark.query import OnStreams, Query
from flowalg import Aggregate, Max, Mean, Min, Sum
from flowalg.combiners import together

Prices: TypeAlias = tuple[int, int, float, int]
"""The least, the greatest, the mean and the sum."""


@frozen
class Row:
    """The statistics of an auction on a day."""

    auction: int
    day: str
    bids: Ranks
    prices: Prices


def price(bid: Bid) -> int:
    """Returns the price of a bid."""
    return bid.price


PRICES: Final[Aggregate[Bid, Prices]] = together(Min.of(price), Max.of(price), Mean.of(price), Sum.of(price))
COLUMNS: Final = (
    f"{ranks_in_sql('bids', 'count(*)')}, min(price) AS lowest, max(price) AS highest, avg(price) AS mean,"
    " CAST(sum(price) AS BIGINT) AS total"
)

QUERY: Final = Query(
    17,
    "auction statistics",
    "windows of a day, together, Count, Sum, Min, Max, Mean",
    DAILY.key_by(lambda bid: (bid.auction, bid.date_time.date().isoformat()))
    .combine_per_key(RANKS, PRICES)
    .map(lambda pair: Row(pair.key[0], pair.key[1], pair.value[0], pair.value[1])),
    f"SELECT auction, strftime(date_time, '%Y-%m-%d') AS day, {COLUMNS} FROM bid GROUP BY auction, day",
    f"SELECT auction, date_format(date_time, 'yyyy-MM-dd') AS day, {COLUMNS} FROM bid GROUP BY auction, day",
    on_streams=OnStreams(
        f"""
            SELECT auction, date_format(window.start, 'yyyy-MM-dd') AS day, {COLUMNS}
            FROM bid GROUP BY auction, window(date_time, '1 day')
        """,
    ),
    flink_sql=f"""
        SELECT auction, date_format(date_time, 'yyyy-MM-dd'),
            {COLUMNS.replace("avg(price)", "avg(CAST(price AS DOUBLE))")}
        FROM bid GROUP BY auction, date_format(date_time, 'yyyy-MM-dd')
    """,
)
