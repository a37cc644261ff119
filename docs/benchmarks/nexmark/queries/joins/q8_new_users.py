"""Query 8: who has registered and opened an auction in the same ten seconds."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import AUCTIONS, PERSONS
from docs.benchmarks.nexmark.query import Query, once_complete
from flowalg import FixedWindows


@frozen
class Row:
    """A new seller, in the window that starts at ``start``."""

    person: int
    name: str
    start: datetime


TEN_SECONDS: Final = FixedWindows(timedelta(seconds=10))

newcomers: Final = once_complete(PERSONS.key_by(lambda person: person.id), TEN_SECONDS)
items: Final = once_complete(AUCTIONS.key_by(lambda auction: auction.seller), TEN_SECONDS)

QUERY: Final = Query(
    8,
    "new users",
    "fixed windows, inner_join, with_window, distinct",
    newcomers.inner_join(items)
    .with_window()
    .map(lambda pair: Row(pair[0].key, pair[0].value[0].name, pair[1].start))
    .distinct(),
    """
    SELECT id, name, start FROM (
        SELECT DISTINCT id, name, time_bucket(INTERVAL 10 seconds, date_time) AS start FROM person
    ) AS newcomers JOIN (
        SELECT DISTINCT seller AS id, time_bucket(INTERVAL 10 seconds, date_time) AS start FROM auction
    ) AS sellers USING (id, start)
    """,
    """
    SELECT id, name, period.start FROM (
        SELECT DISTINCT id, name, window(date_time, '10 seconds') AS period FROM person
    ) JOIN (
        SELECT DISTINCT seller AS id, window(date_time, '10 seconds') AS period FROM auction
    ) USING (id, period)
    """,
    flink_sql="""
        SELECT newcomers.id, name, newcomers.window_start FROM (
            SELECT DISTINCT id, name, window_start
            FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
        ) AS newcomers JOIN (
            SELECT DISTINCT seller AS id, window_start
            FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(date_time), INTERVAL '10' SECOND))
        ) AS sellers ON newcomers.id = sellers.id AND newcomers.window_start = sellers.window_start
    """,
)
