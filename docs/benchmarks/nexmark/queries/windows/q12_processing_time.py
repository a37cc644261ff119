"""Query 12: the number of bids of each bidder in ten seconds of processing time.

The bids have the time of their arrival, so the windows are the same in every run: an event time like any other.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from docs.benchmarks.nexmark.model import ARRIVALS
from docs.benchmarks.nexmark.queries.windows.q11_sessions import Row
from docs.benchmarks.nexmark.query import Query, once_complete
from flowalg import Count, FixedWindows

QUERY: Final = Query(
    12,
    "processing-time windows",
    "fixed windows of the time of arrival, Count, with_window",
    once_complete(ARRIVALS.key_by(lambda bid: bid.bidder), FixedWindows(timedelta(seconds=10)))
    .combine_per_key(Count())
    .with_window()
    .map(lambda pair: Row(pair[0].key, pair[0].value, pair[1].start, pair[1].end)),
    """
    SELECT bidder, count(*) AS bids, time_bucket(INTERVAL 10 seconds, arrived) AS start,
        time_bucket(INTERVAL 10 seconds, arrived) + INTERVAL 10 seconds AS end_
    FROM bid GROUP BY ALL
    """,
    """
    SELECT bidder, count(*) AS bids, window.start, window.end
    FROM bid GROUP BY bidder, window(arrived, '10 seconds')
    """,
    flink_sql="""
        SELECT bidder, count(*) AS bids, window_start, window_end
        FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(arrived), INTERVAL '10' SECOND))
        GROUP BY bidder, window_start, window_end
    """,
)
