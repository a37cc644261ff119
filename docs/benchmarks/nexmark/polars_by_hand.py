"""The queries as an expert writes them in Polars, over lazy frames of the tables, with the columns of their SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import polars as pl
from attrs import frozen

from docs.benchmarks.nexmark.query import Query

Frame = pl.LazyFrame
AT: Final = pl.col("date_time")
DAY: Final = AT.dt.to_string("%Y-%m-%d")
EUROS: Final = 0.908 * pl.col("price")
SHOWN: Final = ("auction", "bidder", "price", "date_time", "extra")
TEN: Final = pl.duration(seconds=10)


@frozen
class Frames:
    """The tables."""

    person: Frame
    auction: Frame
    bid: Frame
    side_input: Frame


def _q3(t: Frames) -> Frame:
    sellers = t.person.filter(pl.col("state").is_in(["OR", "ID", "CA"]))
    items = t.auction.filter(pl.col("category") == 10).rename({"id": "auction"})
    return items.join(sellers, left_on="seller", right_on="id").select("name", "city", "state", "auction")


def _in_time(t: Frames) -> Frame:
    pairs = t.auction.join(t.bid, left_on="id", right_on="auction", suffix="_of_bid")
    return pairs.filter(pl.col("date_time_of_bid").is_between(AT, pl.col("expires")))


def _q4(t: Frames) -> Frame:
    final = _in_time(t).group_by("id", "category").agg(pl.col("price").max())
    return final.group_by("category").agg(pl.col("price").mean())


def _q5(t: Frames) -> Frame:
    slices = t.bid.group_by(AT.dt.truncate("2s").alias("start"), "auction").agg(pl.len())
    spread = pl.concat(
        [slices.with_columns(pl.col("start") - pl.duration(seconds=2 * back)) for back in range(5)]
    )
    counts = spread.group_by("start", "auction").agg(pl.col("len").sum())
    return counts.filter(pl.col("len") == pl.col("len").max().over("start"))


def _q6(t: Frames) -> Frame:
    final = _in_time(t).group_by("id", "seller", "expires").agg(pl.col("price").max())
    means = pl.col("price").cast(pl.Float64()).rolling_mean(10, min_samples=1).over("seller")
    return final.sort("expires").select("seller", "expires", means)


def _q7(t: Frames) -> Frame:
    return t.bid.filter(pl.col("price") == pl.col("price").max().over(AT.dt.truncate("10s"))).select(SHOWN)


def _q8(t: Frames) -> Frame:
    newcomers = t.person.select("id", "name", AT.dt.truncate("10s"))
    sellers = t.auction.select(pl.col("seller").alias("id"), AT.dt.truncate("10s")).unique()
    return newcomers.join(sellers, on=["id", "date_time"])


def _q9(t: Frames) -> Frame:
    won = _in_time(t).sort(["price", "date_time_of_bid"], descending=[True, False])
    won = won.unique("id", keep="first", maintain_order=True)
    bid = ["id", "bidder", "price", "channel", "url", "date_time_of_bid", "extra_of_bid", "arrived_of_bid"]
    items = t.auction.collect_schema().names()
    return won.select(*items, *(pl.col(name).alias(f"bid_{name}") for name in bid))


def _q11(t: Frames) -> Frame:
    begins = (AT.diff() > TEN) | (pl.col("bidder") != pl.col("bidder").shift())
    marked = t.bid.sort("bidder", "date_time").select(
        "bidder", "date_time", begins.fill_null(True).cum_sum().alias("session")
    )
    sessions = marked.group_by("session").agg(
        pl.col("bidder").first(), pl.len(), AT.min().alias("start"), (AT.max() + TEN).alias("end")
    )
    return sessions.drop("session")


def _q12(t: Frames) -> Frame:
    start = pl.col("arrived").dt.truncate("10s").alias("start")
    return (
        t.bid.group_by("bidder", start)
        .agg(pl.len())
        .select("bidder", "len", "start", (pl.col("start") + TEN).alias("end"))
    )


def _q13(t: Frames) -> Frame:
    bids = t.bid.with_columns((pl.col("auction") % 10_000).alias("number"))
    return bids.join(t.side_input, on="number").select("auction", "bidder", "price", "date_time", "text")


def _q14(t: Frames) -> Frame:
    hour = AT.dt.hour()
    part = (
        pl.when(hour.is_between(8, 18))
        .then(pl.lit("day"))
        .when((hour <= 6) | (hour >= 20))
        .then(pl.lit("night"))
        .otherwise(pl.lit("other"))
    )
    return t.bid.filter(EUROS > 1_000_000, EUROS < 50_000_000).select(
        "auction",
        "bidder",
        EUROS.alias("euros"),
        part.alias("part"),
        "date_time",
        "extra",
        pl.col("extra").str.count_matches("c", literal=True).alias("letters"),
    )


def _ranks(prefix: str, number: Callable[[pl.Expr], pl.Expr], what: str) -> Iterable[pl.Expr]:
    price, column = pl.col("price"), pl.col(what)
    ranks = (price < 10_000, (price >= 10_000) & (price < 1_000_000), price >= 1_000_000)
    yield number(column).alias(prefix)
    for position, rank in enumerate(ranks):
        yield number(column.filter(rank)).alias(f"{prefix}_{position}")


def _statistics() -> list[pl.Expr]:
    return [
        *_ranks("bids", pl.Expr.len, "price"),
        *_ranks("bidders", pl.Expr.n_unique, "bidder"),
        *_ranks("auctions", pl.Expr.n_unique, "auction"),
    ]


def _q15(t: Frames) -> Frame:
    return t.bid.group_by(DAY.alias("day")).agg(_statistics())


def _q16(t: Frames) -> Frame:
    minute = AT.dt.to_string("%H:%M").max().alias("minute")
    # A group by the name "auction" would hide the column that is counted.
    return t.bid.group_by("channel", DAY.alias("day")).agg(minute, *_statistics())


def _q17(t: Frames) -> Frame:
    price = pl.col("price")
    return t.bid.group_by("auction", DAY.alias("day")).agg(
        *_ranks("bids", pl.Expr.len, "price"),
        price.min().alias("lowest"),
        price.max().alias("highest"),
        price.mean().alias("mean"),
        price.sum().alias("total"),
    )


def _q18(t: Frames) -> Frame:
    return t.bid.sort("date_time").unique(["bidder", "auction"], keep="last", maintain_order=True)


def _q19(t: Frames) -> Frame:
    ordered = t.bid.sort(["price", "date_time"], descending=[True, False])
    ranked = ordered.with_columns((pl.int_range(pl.len()).over("auction") + 1).alias("rank"))
    return ranked.filter(pl.col("rank") <= 10)


def _q20(t: Frames) -> Frame:
    items = t.auction.filter(pl.col("category") == 10)
    names = items.collect_schema().names()
    items = items.rename({name: f"of_{name}" for name in names})
    pairs = t.bid.join(items.with_columns(pl.col("of_id").alias("auction")), on="auction")
    return pairs.select(*t.bid.collect_schema().names(), *(f"of_{name}" for name in names))


def _q21(t: Frames) -> Frame:
    large = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
    by_name = pl.col("channel").str.to_lowercase().replace_strict(large, default=None)
    by_url = pl.col("url").str.extract("(?:&|^)channel_id=([^&]*)")
    bids = t.bid.select(
        "auction", "bidder", "price", "channel", pl.coalesce(by_name, by_url).alias("channel_id")
    )
    return bids.filter(pl.col("channel_id").is_not_null())


def _q22(t: Frames) -> Frame:
    parts = pl.col("url").str.split("/")
    folders = (parts.list.get(number).alias(f"folder_{number}") for number in (3, 4, 5))
    return t.bid.select("auction", "bidder", "price", "channel", *folders)


QUERIES: Final[Mapping[int, Callable[[Frames], Frame]]] = {
    0: lambda t: t.bid.select(SHOWN),
    1: lambda t: t.bid.select("auction", "bidder", EUROS.alias("euros"), "date_time", "extra"),
    2: lambda t: t.bid.filter(pl.col("auction") % 123 == 0).select("auction", "price"),
    3: _q3,
    4: _q4,
    5: _q5,
    6: _q6,
    7: _q7,
    8: _q8,
    9: _q9,
    10: lambda t: t.bid.select(*SHOWN, DAY.alias("day"), AT.dt.to_string("%H:%M").alias("minute")),
    11: _q11,
    12: _q12,
    13: _q13,
    14: _q14,
    15: _q15,
    16: _q16,
    17: _q17,
    18: _q18,
    19: _q19,
    20: _q20,
    21: _q21,
    22: _q22,
}
"""Each query, by its number."""


def in_polars(query: Query, tables: Mapping[str, Path]) -> Frame:
    """Returns a query over the Parquet files of the tables."""
    frames = {name: pl.scan_parquet(folder / "*.parquet") for name, folder in tables.items()}
    return QUERIES[query.number](Frames(**frames))
