"""Query 5: the auctions with the most bids in the last ten seconds, every two seconds."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.query import OnStreams, Query, once_complete
from flowalg import Count, Max, SlidingWindows


@frozen
class Row:
    """An auction and the number of its bids in the window that starts at ``start``."""

    start: datetime
    auction: int
    bids: int


LAST_TEN_SECONDS: Final = SlidingWindows(timedelta(seconds=10), timedelta(seconds=2))

counts: Final = (
    once_complete(BIDS.key_by(lambda bid: bid.auction), LAST_TEN_SECONDS)
    .combine_per_key(Count())
    .with_window()
    .map(lambda pair: Row(pair[1].start, pair[0].key, pair[0].value))
    .key_by(lambda row: row.start)
)
most: Final = counts.combine_per_key(Max.of(lambda row: row.bids))

QUERY: Final = Query(
    5,
    "hot items",
    "sliding windows, Count, Max, with_window, inner_join",
    counts.inner_join(most)
    .filter(lambda pair: pair.value[0].bids == pair.value[1])
    .map(lambda pair: pair.value[0]),
    """
    WITH counts AS (
        SELECT time_bucket(INTERVAL 2 seconds, date_time) - to_seconds(2 * back) AS start, auction, count(*) AS bids
        FROM bid, range(5) AS spread(back) GROUP BY ALL
    )
    SELECT start, auction, bids FROM counts JOIN (
        SELECT start, max(bids) AS most FROM counts GROUP BY start
    ) AS best USING (start) WHERE bids = most
    """,
    """
    WITH counts AS (
        SELECT window(date_time, '10 seconds', '2 seconds').start AS start, auction, count(*) AS bids
        FROM bid GROUP BY auction, window(date_time, '10 seconds', '2 seconds')
    )
    SELECT start, auction, bids FROM counts JOIN (
        SELECT start, max(bids) AS most FROM counts GROUP BY start
    ) AS best USING (start) WHERE bids = most
    """,
    on_streams=OnStreams(
        """
            SELECT period.start, item.auction, item.bids FROM (
                SELECT period, explode(filter(items, item -> item.bids = most)) AS item FROM (
                    SELECT period, max(bids) AS most, collect_list(struct(auction, bids)) AS items FROM (
                        SELECT window(date_time, '10 seconds', '2 seconds') AS period, auction, count(*) AS bids
                        FROM bid GROUP BY auction, window(date_time, '10 seconds', '2 seconds')
                    ) GROUP BY period
                )
            )
        """,
    ),
    flink_sql="""
        WITH counts AS (
            SELECT window_start, auction, count(*) AS bids FROM TABLE(
                HOP(TABLE bid, DESCRIPTOR(date_time), INTERVAL '2' SECOND, INTERVAL '10' SECOND)
            ) GROUP BY window_start, window_end, auction
        )
        SELECT counts.window_start, auction, bids FROM counts JOIN (
            SELECT window_start, max(bids) AS most FROM counts GROUP BY window_start
        ) AS best ON counts.window_start = best.window_start WHERE bids = most
    """,
)
