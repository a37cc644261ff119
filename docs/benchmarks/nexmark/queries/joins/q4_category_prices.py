"""Query 4: the mean of the winning prices of each category."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.queries.joins.bids_in_time import BIDS_IN_TIME
from docs.benchmarks.nexmark.query import Query, kept_current
from flowalg import KV, Max, Mean


@frozen
class Row:
    """A category and the mean of its prices."""

    category: int
    mean: float


prices: Final = kept_current(
    BIDS_IN_TIME.key_by(lambda pair: (pair[0].id, pair[0].category))
).combine_per_key(Max.of(lambda pair: pair[1].price))

QUERY: Final = Query(
    4,
    "mean price of a category",
    "inner_join without windows, Max, Mean, retractions through two groupings",
    prices.map(lambda pair: KV(pair.key[1], pair.value))
    .combine_per_key(Mean())
    .map(lambda pair: Row(pair.key, pair.value)),
    """
    SELECT category, avg(final) AS mean FROM (
        SELECT auction.id, category, max(price) AS final FROM auction JOIN bid ON auction.id = bid.auction
        WHERE bid.date_time BETWEEN auction.date_time AND expires GROUP BY auction.id, category
    ) AS prices GROUP BY category
    """,
    flink_sql="""
        SELECT category, avg(final) AS mean FROM (
            SELECT auction.id, category, CAST(max(price) AS DOUBLE) AS final
            FROM auction JOIN bid ON auction.id = bid.auction
            WHERE bid.date_time BETWEEN auction.date_time AND expires GROUP BY auction.id, category
        ) AS prices GROUP BY category
    """,
)
