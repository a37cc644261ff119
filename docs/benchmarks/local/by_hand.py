"""The batch queries as an expert writes them in Polars and in DuckDB's SQL.

Both return the columns that ``COLUMNS`` takes from the panes, under the names ``c0``, ``c1`` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl

MINUTE: Final = pl.col("at").dt.truncate("1m")
Frame = pl.LazyFrame


def _window_start() -> pl.Expr:
    return pl.col("window").struct.field("start")


def _fields(column: str, *names: str) -> list[pl.Expr]:
    return [pl.col(column).struct.field(name) for name in names]


_KEY_AND_VALUE: Final = [pl.col("key"), _window_start(), pl.col("value")]
COLUMNS: Final[Mapping[str, list[pl.Expr]]] = {
    "fixed-window sum": _KEY_AND_VALUE,
    "calendar-day sum": _KEY_AND_VALUE,
    "several aggregates at once": [
        pl.col("key"),
        _window_start(),
        *_fields("value", "sales", "amount", "most", "mean_price"),
    ],
    "sliding mean": _KEY_AND_VALUE,
    "session count": _KEY_AND_VALUE,
    "two stages": [_window_start(), pl.col("value")],
    "windowed join": [pl.col("key"), _window_start(), *_fields("value", "_1", "_2")],
    "a sum of two types": _KEY_AND_VALUE,
    "top ten per window": _KEY_AND_VALUE,
}
"""The columns of the panes that the queries by hand also return."""


def _fixed_sum(sales: Frame, offers: Frame) -> Frame:
    return sales.group_by("user", MINUTE).agg(pl.col("amount").sum())


def _fixed_days(sales: Frame, offers: Frame) -> Frame:
    """Days that start at 13:00 UTC."""
    before = pl.duration(hours=13)
    day = (pl.col("at") - before).dt.truncate("1d") + before
    return sales.group_by("user", day).agg(pl.col("amount").sum())


def _several(sales: Frame, offers: Frame) -> Frame:
    return sales.group_by("user", MINUTE).agg(
        pl.len(),
        pl.col("amount").sum().alias("total"),
        pl.col("amount").max().alias("most"),
        pl.col("price").mean(),
    )


def _sliding_mean(sales: Frame, offers: Frame) -> Frame:
    """Slices of 30 seconds are summed first."""
    slices = sales.group_by("user", pl.col("at").dt.truncate("30s")).agg(
        pl.col("amount").sum(), pl.len().alias("count")
    )
    spread = pl.concat(
        [slices.with_columns(pl.col("at") - pl.duration(seconds=30 * number)) for number in range(4)]
    )
    sums = spread.group_by("user", "at").agg(pl.col("amount").sum(), pl.col("count").sum())
    return sums.select("user", "at", pl.col("amount") / pl.col("count"))


def _sessions(sales: Frame, offers: Frame) -> Frame:
    begins = (pl.col("at").diff() > pl.duration(seconds=30)) | (pl.col("user") != pl.col("user").shift())
    islands = sales.sort("user", "at").with_columns(begins.fill_null(True).cum_sum().alias("island"))
    counts = islands.group_by("island").agg(pl.col("user").first(), pl.col("at").min(), pl.len())
    return counts.drop("island")


def _two_stages(sales: Frame, offers: Frame) -> Frame:
    return _fixed_sum(sales, offers).group_by("at").agg(pl.col("amount").max())


def _join(sales: Frame, offers: Frame) -> Frame:
    left, right = sales.select("user", MINUTE, "amount"), offers.select("user", MINUTE, "discount")
    return left.join(right, on=["user", "at"])


def _either(sales: Frame, offers: Frame) -> Frame:
    """One wide record, with nulls for the fields of the other type."""
    wide = pl.concat(
        [sales.select("user", "at", "amount"), offers.select("user", "at", "discount")], how="diagonal"
    )
    value = pl.coalesce(pl.col("amount").cast(pl.Float64()), pl.col("discount").cast(pl.Float64()))
    return wide.group_by("user", MINUTE).agg(value.sum().alias("value"))


def _top_ten(sales: Frame, offers: Frame) -> Frame:
    return sales.group_by("country", MINUTE).agg(pl.col("price").top_k(10).sort(descending=True))


POLARS: Final[Mapping[str, Callable[[Frame, Frame], Frame]]] = {
    "fixed-window sum": _fixed_sum,
    "calendar-day sum": _fixed_days,
    "several aggregates at once": _several,
    "sliding mean": _sliding_mean,
    "session count": _sessions,
    "two stages": _two_stages,
    "windowed join": _join,
    "a sum of two types": _either,
    "top ten per window": _top_ten,
}

_START: Final = "date_trunc('minute', \"at\")"
DUCKDB: Final[Mapping[str, str]] = {
    "fixed-window sum": f'select "user", {_START}, sum(amount) from sales group by all',
    "calendar-day sum": (
        'select "user", date_trunc(\'day\', "at" - interval 13 hours) + interval 13 hours, sum(amount)'
        " from sales group by all"
    ),
    "several aggregates at once": (
        f'select "user", {_START}, count(*), sum(amount), max(amount), avg(price) from sales group by all'
    ),
    "sliding mean": (
        'with slices as (select "user", time_bucket(interval 30 seconds, "at") as slice,'
        " sum(amount) as total, count(*) as number from sales group by all)"
        ' select "user", slice - to_seconds(30 * back) as start, sum(total) / sum(number)'
        " from slices, range(4) as spread(back) group by all"
    ),
    "session count": (
        'with marked as (select "user", "at", coalesce("at" - lag("at") over w > interval 30 seconds, true)'
        ' as begins from sales window w as (partition by "user" order by "at")),'
        ' numbered as (select "user", "at", sum(begins::int) over'
        ' (partition by "user" order by "at" rows unbounded preceding) as island from marked)'
        ' select "user", min("at"), count(*) from numbered group by "user", island'
    ),
    "two stages": (
        f'select start, max(total) from (select "user", {_START} as start, sum(amount) as total'
        " from sales group by all) group by all"
    ),
    "windowed join": (
        f'select l."user", l.start, amount, discount from (select "user", {_START} as start, amount from sales) l'
        f' join (select "user", {_START} as start, discount from offers) r using ("user", start)'
    ),
    "a sum of two types": (
        f'select "user", {_START}, sum(amount::double) from (select "user", "at", amount from sales'
        ' union all select "user", "at", discount from offers) group by all'
    ),
    "top ten per window": f"select country, {_START}, max(price, 10) from sales group by all",
}
"""SQL over the views ``sales`` and ``offers``."""


def numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns a result under the names and types that all rivals share: 64 bits, and microseconds since the epoch."""

    def common(kind: pl.DataType, column: pl.Expr) -> pl.Expr:
        if isinstance(kind, pl.Datetime):
            return column.dt.epoch("us")
        if kind.is_float():
            return column.round(6)
        return (
            column.list.eval(pl.element().round(6))
            if isinstance(kind, pl.List)
            else (column.cast(pl.Int64()) if kind.is_numeric() else column)
        )

    kinds = list(frame.schema.items())
    return frame.select(
        common(kind, pl.col(name)).alias(f"c{number}") for number, (name, kind) in enumerate(kinds)
    )
