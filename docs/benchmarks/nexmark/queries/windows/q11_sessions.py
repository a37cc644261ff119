"""Query 11: the number of bids of each session of a bidder, which ends after ten seconds without a bid."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.query import Query, once_complete
from flowalg import Count, Sessions


@frozen
class Row:
    """The bids of a bidder from ``start`` to ``end``."""

    bidder: int
    bids: int
    start: datetime
    end: datetime


QUERY: Final = Query(
    11,
    "user sessions",
    "sessions, Count, with_window",
    once_complete(BIDS.key_by(lambda bid: bid.bidder), Sessions(timedelta(seconds=10)))
    .combine_per_key(Count())
    .with_window()
    .map(lambda pair: Row(pair[0].key, pair[0].value, pair[1].start, pair[1].end)),
    """
    WITH marked AS (
        SELECT bidder, date_time, coalesce(date_time - lag(date_time) OVER bids > INTERVAL 10 seconds, true) AS begins
        FROM bid WINDOW bids AS (PARTITION BY bidder ORDER BY date_time)
    ), numbered AS (
        SELECT bidder, date_time, sum(begins::int) OVER (
            PARTITION BY bidder ORDER BY date_time ROWS UNBOUNDED PRECEDING
        ) AS session FROM marked
    )
    SELECT bidder, count(*) AS bids, min(date_time) AS start, max(date_time) + INTERVAL 10 seconds AS end_
    FROM numbered GROUP BY bidder, session
    """,
    """
    SELECT bidder, count(*) AS bids, session_window.start, session_window.end
    FROM bid GROUP BY bidder, session_window(date_time, '10 seconds')
    """,
    flink_sql="""
        WITH marked AS (
            SELECT bidder, moment AS date_time, coalesce(
                moment > lag(moment) OVER (PARTITION BY bidder ORDER BY moment) + INTERVAL '10' SECOND, true
            ) AS begins FROM (SELECT bidder, CAST(date_time AS TIMESTAMP(6)) AS moment FROM bid)
        ), numbered AS (
            SELECT bidder, date_time, sum(CASE WHEN begins THEN 1 ELSE 0 END) OVER (
                PARTITION BY bidder ORDER BY date_time ROWS UNBOUNDED PRECEDING
            ) AS session FROM marked
        )
        SELECT bidder, count(*) AS bids, min(date_time) AS begun, max(date_time) + INTERVAL '10' SECOND AS ended
        FROM numbered GROUP BY bidder, session
    """,
)
