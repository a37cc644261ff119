"""The bids of a day by the rank of their price, which queries 15 to 17 share."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, TypeAlias, TypeVar

from attrs import frozen

from docs.benchmarks.nexmark.model import BIDS, Bid
from docs.benchmarks.nexmark.query import once_complete
from flowalg import KV, Aggregate, Count, FixedWindows, Max, PCollection, Sum
from flowalg.combiners import together

K = TypeVar("K")
LOW, HIGH = 10_000, 1_000_000
CONDITIONS: Final = (f"price < {LOW}", f"price >= {LOW} AND price < {HIGH}", f"price >= {HIGH}")
"""The ranks in SQL."""

Ranks: TypeAlias = tuple[int, int, int, int]
"""How many there are, and how many with a low, a medium and a high price."""


@frozen
class Seen:
    """Which ranks there are: one or zero for each."""

    low: int
    medium: int
    high: int


def is_low(bid: Bid) -> int:
    """Returns whether a bid is low, as a number."""
    return int(bid.price < LOW)


def is_medium(bid: Bid) -> int:
    """Returns whether a bid is neither low nor high, as a number."""
    return int(LOW <= bid.price < HIGH)


def is_high(bid: Bid) -> int:
    """Returns whether a bid is high, as a number."""
    return int(bid.price >= HIGH)


RANKS: Final[Aggregate[Bid, Ranks]] = together(Count(), Sum.of(is_low), Sum.of(is_medium), Sum.of(is_high))
"""The number of bids by rank."""

DAILY: Final = once_complete(BIDS, FixedWindows(timedelta(days=1)))


def distinct_ranks(bids: PCollection[KV[tuple[K, int], Bid]]) -> PCollection[KV[K, Ranks]]:
    """Returns the number of distinct ids by the ranks of their bids; a key has an id as its second part."""
    seen = bids.combine_per_key(Max.of(is_low), Max.of(is_medium), Max.of(is_high), into=Seen)
    return seen.map(lambda pair: KV(pair.key[0], pair.value)).combine_per_key(
        Count(),
        Sum.of(lambda ranks: ranks.low),
        Sum.of(lambda ranks: ranks.medium),
        Sum.of(lambda ranks: ranks.high),
    )


def ranks_in_sql(prefix: str, what: str) -> str:
    """Returns the columns of ``Ranks`` in SQL, of an aggregate such as ``count(*)``."""
    filtered = (
        f"{what} FILTER (WHERE {condition}) AS {prefix}_{number}"
        for number, condition in enumerate(CONDITIONS)
    )
    return ", ".join((f"{what} AS {prefix}", *filtered))


def distinct_on_streams(*keys: str, more: str = "") -> str:
    """Returns the ranks of bids, bidders and auctions by keys, in the SQL of Spark over streams.

    Spark counts distinct values of a stream only by two groupings. ``more`` is an aggregate of the bids.
    """
    grouping = ", ".join((*keys, "window(date_time, '1 day')"))
    shared = ", ".join((*keys, "period"))

    def distinct(prefix: str, who: str) -> str:
        columns = ", ".join(f"max({condition}) AS rank_{n}" for n, condition in enumerate(CONDITIONS))
        counts = ", ".join(f"count_if(rank_{n}) AS {prefix}_{n}" for n, _ in enumerate(CONDITIONS))
        return f"""(
            SELECT {shared}, count(*) AS {prefix}, {counts} FROM (
                SELECT {grouping} AS period, {who}, {columns} FROM bid GROUP BY {grouping}, {who}
            ) GROUP BY {shared}
        )"""

    bids = (
        f"SELECT {grouping} AS period, {ranks_in_sql('bids', 'count(*)')}{more} FROM bid GROUP BY {grouping}"
    )
    return f"""({bids})
        JOIN {distinct("bidders", "bidder")} USING ({shared}) JOIN {distinct("auctions", "auction")} USING ({shared})"""


RANK_COLUMNS: Final = ", ".join(
    f"{prefix}{suffix}" for prefix in ("bids", "bidders", "auctions") for suffix in ("", "_0", "_1", "_2")
)
"""The names of the columns of ranks."""
