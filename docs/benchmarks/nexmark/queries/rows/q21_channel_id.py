"""Query 21: bids with the id of their channel, which a large channel has by name, and others in their address."""

from __future__ import annotations

import re
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.query import Query

LARGE: Final = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
IN_ADDRESS: Final = re.compile("(?:&|^)channel_id=([^&]*)")


@frozen
class Row:
    """A bid and the id of its channel."""

    auction: int
    bidder: int
    price: int
    channel: str
    channel_id: str | None


def channel_id(channel: str, url: str) -> str | None:
    """Returns the id of a channel, if it has one."""
    match = IN_ADDRESS.search(url)
    return LARGE.get(channel.lower(), match[1] if match else None)


QUERY: Final = Query(
    21,
    "channel id",
    "map, filter, a user function of texts",
    BIDS.map(
        lambda bid: Row(bid.auction, bid.bidder, bid.price, bid.channel, channel_id(bid.channel, bid.url))
    ).filter(lambda row: row.channel_id is not None),
    """
    SELECT * FROM (
        SELECT auction, bidder, price, channel,
            CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2'
                WHEN 'baidu' THEN '3' ELSE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')
            END AS channel_id
        FROM bid
    ) AS named WHERE channel_id IS NOT NULL
    """,
)
