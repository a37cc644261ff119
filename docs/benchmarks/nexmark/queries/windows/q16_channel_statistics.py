"""Query 16: the bids, the bidders and the auctions of a channel and a day, by the rank of the price."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import Bid
from docs.benchmarks.nexmark.queries.rows.q10_log import minute_of
from docs.benchmarks.nexmark.queries.windows.q15_bidding_statistics import COLUMNS
from docs.benchmarks.nexmark.queries.windows.ranks import (
    DAILY,
    RANK_COLUMNS,
    RANKS,
    Ranks,
    distinct_on_streams,
    distinct_ranks,
)
from docs.benchmarks.nexmark.query import OnStreams, Query
from flowalg import Max


@frozen
class Channel:
    """A channel on a day."""

    name: str
    day: str


@frozen
class Row:
    """The statistics of a channel on a day, whose last bid is in ``minute``."""

    channel: Channel
    minute: str
    bids: Ranks
    bidders: Ranks
    auctions: Ranks


def channel_of(bid: Bid) -> Channel:
    """Returns the channel and the day of a bid."""
    return Channel(bid.channel, bid.date_time.date().isoformat())


bids: Final = DAILY.key_by(channel_of).combine_per_key(RANKS, Max.of(lambda bid: minute_of(bid.date_time)))
bidders: Final = DAILY.key_by(lambda bid: (channel_of(bid), bid.bidder)).apply(distinct_ranks)
auctions: Final = DAILY.key_by(lambda bid: (channel_of(bid), bid.auction)).apply(distinct_ranks)

QUERY: Final = Query(
    16,
    "channel statistics",
    "windows of a day, together, Count, Sum, Max, inner_join",
    bids.inner_join(bidders)
    .inner_join(auctions)
    .map(
        lambda pair: Row(pair.key, pair.value[0][0][1], pair.value[0][0][0], pair.value[0][1], pair.value[1])
    ),
    f"""
    SELECT channel, strftime(date_time, '%Y-%m-%d') AS day,
        max(strftime(date_time, '%H:%M')) AS minute, {COLUMNS} FROM bid GROUP BY channel, day
    """,
    f"""
    SELECT channel, date_format(date_time, 'yyyy-MM-dd') AS day,
        max(date_format(date_time, 'HH:mm')) AS minute, {COLUMNS} FROM bid GROUP BY channel, day
    """,
    on_streams=OnStreams(
        f"""
        SELECT channel, date_format(period.start, 'yyyy-MM-dd'), minute, {RANK_COLUMNS}
        FROM {distinct_on_streams("channel", more=", max(date_format(date_time, 'HH:mm')) AS minute")}
        """
    ),
    flink_sql=f"""
        SELECT channel, date_format(date_time, 'yyyy-MM-dd'), max(date_format(date_time, 'HH:mm')), {COLUMNS}
        FROM bid GROUP BY channel, date_format(date_time, 'yyyy-MM-dd')
    """,
)
