"""Query 10: every bid with the day and the minute of its log file.

The query gives the rows with the columns of their partition. To write files is the task of the sink.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS
from docs.benchmarks.nexmark.query import Query


@frozen
class Row:
    """A bid and its file."""

    auction: int
    bidder: int
    price: int
    date_time: datetime
    extra: str
    day: str
    minute: str


def two_digits(number: int) -> str:
    """Returns a number below 100 with a leading zero if it has one digit."""
    return f"0{number}"[-2:]


def minute_of(date_time: datetime) -> str:
    """Returns the time of day, such as 09:30."""
    return f"{two_digits(date_time.hour)}:{two_digits(date_time.minute)}"


QUERY: Final = Query(
    10,
    "log to files",
    "map",
    BIDS.map(
        lambda bid: Row(
            bid.auction,
            bid.bidder,
            bid.price,
            bid.date_time,
            bid.extra,
            bid.date_time.date().isoformat(),
            minute_of(bid.date_time),
        )
    ),
    "SELECT auction, bidder, price, date_time, extra,"
    " strftime(date_time, '%Y-%m-%d') AS day, strftime(date_time, '%H:%M') AS minute FROM bid",
    "SELECT auction, bidder, price, date_time, extra,"
    " date_format(date_time, 'yyyy-MM-dd') AS day, date_format(date_time, 'HH:mm') AS minute FROM bid",
    flink_sql="""
        SELECT auction, bidder, price, date_time, extra,
            date_format(date_time, 'yyyy-MM-dd'), date_format(date_time, 'HH:mm') FROM bid
    """,
)
