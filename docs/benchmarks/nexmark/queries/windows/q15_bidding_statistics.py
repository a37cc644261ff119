"""Query 15: the bids, the bidders and the auctions of a day, by the rank of the price."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.queries.windows.ranks import (
    DAILY,
    RANK_COLUMNS,
    RANKS,
    Ranks,
    distinct_on_streams,
    distinct_ranks,
    ranks_in_sql,
)
from docs.benchmarks.nexmark.query import OnStreams, Query


@frozen
class Row:
    """The statistics of a day."""

    day: str
    bids: Ranks
    bidders: Ranks
    auctions: Ranks


bids: Final = DAILY.key_by(lambda bid: bid.date_time.date().isoformat()).combine_per_key(RANKS)
bidders: Final = DAILY.key_by(lambda bid: (bid.date_time.date().isoformat(), bid.bidder)).apply(
    distinct_ranks
)
auctions: Final = DAILY.key_by(lambda bid: (bid.date_time.date().isoformat(), bid.auction)).apply(
    distinct_ranks
)

COLUMNS: Final = ", ".join(
    (
        ranks_in_sql("bids", "count(*)"),
        ranks_in_sql("bidders", "count(DISTINCT bidder)"),
        ranks_in_sql("auctions", "count(DISTINCT auction)"),
    )
)

QUERY: Final = Query(
    15,
    "bidding statistics",
    "windows of a day, together, Count, Sum, Max, inner_join",
    bids.inner_join(bidders)
    .inner_join(auctions)
    .map(lambda pair: Row(pair.key, pair.value[0][0], pair.value[0][1], pair.value[1])),
    f"SELECT strftime(date_time, '%Y-%m-%d') AS day, {COLUMNS} FROM bid GROUP BY day",
    f"SELECT date_format(date_time, 'yyyy-MM-dd') AS day, {COLUMNS} FROM bid GROUP BY day",
    on_streams=OnStreams(
        f"SELECT date_format(period.start, 'yyyy-MM-dd'), {RANK_COLUMNS} FROM {distinct_on_streams()}"
    ),
    flink_sql=f"""
        SELECT date_format(date_time, 'yyyy-MM-dd'), {COLUMNS} FROM bid GROUP BY date_format(date_time, 'yyyy-MM-dd')
    """,
)
