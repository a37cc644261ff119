"""Query 6: whenever an auction closes, the mean of the winning prices of its seller's last ten auctions.

The definition leaves the order of the auctions open: it is that of their closing times, as in Beam. An auction without
a bid has no price, and does not count.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.queries.joins.bids_in_time import BIDS_IN_TIME
from docs.benchmarks.nexmark.query import Query, kept_current
from flowalg import Computation, Max
from flowalg.computations import Clocks, Observed, Transition


@frozen
class Sale:
    """The end of an auction, and later its price."""

    seller: int
    auction: int
    closed: datetime


@frozen
class Row:
    """The mean price of a seller after an auction."""

    seller: int
    closed: datetime
    mean: float


NO_PRICES: Final[tuple[int, ...]] = ()


def mean_of_ten(
    last: tuple[int, ...], seen: Observed[int, int], clocks: Clocks
) -> Transition[tuple[int, ...], float]:
    """Emits the mean of the last ten prices."""
    prices = (*last, seen.value)[-10:]
    return Transition(prices, emit=[sum(prices) / len(prices)])


prices: Final = (
    kept_current(BIDS_IN_TIME.key_by(lambda pair: Sale(pair[0].seller, pair[0].id, pair[0].expires)))
    .combine_per_key(Max.of(lambda pair: pair[1].price))
    .with_timestamps(lambda pair: pair.key.closed)
    .key_by(lambda pair: pair.key.seller)
    .map_values(lambda pair: pair.value)
)

QUERY: Final = Query(
    6,
    "mean price of a seller",
    "inner_join without windows, Max, with_timestamps, a computation in order of event time",
    prices.process(Computation(initial=NO_PRICES, on_element=mean_of_ten, name="mean of ten"), in_order=True)
    .with_event_time()
    .map(lambda pair: Row(pair[0].key, pair[1], pair[0].value)),
    """
    SELECT seller, expires AS closed,
        avg(final) OVER (PARTITION BY seller ORDER BY expires ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS mean
    FROM (
        SELECT auction.id, seller, expires, max(price) AS final FROM auction JOIN bid ON auction.id = bid.auction
        WHERE bid.date_time BETWEEN auction.date_time AND expires GROUP BY auction.id, seller, expires
    ) AS prices
    """,
    flink_sql="""
        SELECT seller, expires AS closed,
            avg(final) OVER (PARTITION BY seller ORDER BY expires ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS mean
        FROM (
            SELECT auction.id, seller, expires, CAST(max(price) AS DOUBLE) AS final
            FROM auction JOIN bid ON auction.id = bid.auction
            WHERE bid.date_time BETWEEN auction.date_time AND expires GROUP BY auction.id, seller, expires
        ) AS prices
    """,
)
