"""Query 7: the highest bids of every ten seconds. Each bid reads the highest price of its window."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.queries.rows.q0_pass_through import Row
from docs.benchmarks.nexmark.query import OnStreams, Query, once_complete
from flowalg import FixedWindows, Max

TEN_SECONDS: Final = FixedWindows(timedelta(seconds=10))

highest: Final = (
    once_complete(BIDS, TEN_SECONDS).combine_globally(Max.of(lambda bid: bid.price)).as_singleton()
)

QUERY: Final = Query(
    7,
    "highest bid",
    "fixed windows, Max, a side input of each window",
    once_complete(BIDS, TEN_SECONDS)
    .filter_with(highest, lambda bid, price: bid.price == price)
    .map(lambda bid: Row(bid.auction, bid.bidder, bid.price, bid.date_time, bid.extra)),
    """
    SELECT auction, bidder, price, date_time, extra FROM bid JOIN (
        SELECT time_bucket(INTERVAL 10 seconds, date_time) AS start, max(price) AS highest FROM bid GROUP BY ALL
    ) AS best ON time_bucket(INTERVAL 10 seconds, date_time) = start AND price = highest
    """,
    """
    SELECT auction, bidder, price, date_time, extra FROM (
        SELECT *, window(date_time, '10 seconds') AS period FROM bid
    ) JOIN (
        SELECT window(date_time, '10 seconds') AS period, max(price) AS price
        FROM bid GROUP BY window(date_time, '10 seconds')
    ) USING (period, price)
    """,
    on_streams=OnStreams(
        """
            SELECT bid.* FROM (
                SELECT explode(filter(bids, bid -> bid.price = highest)) AS bid FROM (
                    SELECT max(price) AS highest, collect_list(struct(auction, bidder, price, date_time, extra)) AS bids
                    FROM bid GROUP BY window(date_time, '10 seconds')
                )
            )
        """,
    ),
    flink_sql="""
        WITH placed AS (
            SELECT * FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
        )
        SELECT auction, bidder, price, date_time, extra FROM placed JOIN (
            SELECT window_start, max(price) AS highest FROM placed GROUP BY window_start
        ) AS best ON placed.window_start = best.window_start AND price = highest
    """,
)
