"""The queries, each as a pipeline and as an expert writes it in PySpark.

Both return the same rows: before the measurement, ``summary`` compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

import pyarrow as pa
from attrs import frozen
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from docs.benchmarks.batch.data import Offer, Sale
from flowalg import (
    Count,
    FixedWindows,
    Max,
    Mean,
    PCollection,
    Sessions,
    SlidingWindows,
    Source,
    Sum,
    TopN,
)

SALES: Final = Source("sales", Sale, event_time=lambda s: s.at)
OFFERS: Final = Source("offers", Offer, event_time=lambda o: o.at)
MINUTE: Final = timedelta(minutes=1)

by_user: Final = SALES.key_by(lambda s: s.user)
amounts: Final = by_user.map_values(lambda s: s.amount)


@frozen
class Stats:
    """Several aggregates."""

    sales: int
    amount: int
    most: int
    mean_price: float


@frozen
class Large:
    """The result of the map over sales."""

    user: str
    country: str
    doubled: int


@frozen
class Query:
    """A pipeline, the same query by hand from sales and offers, and the columns of both that must agree.

    ``output`` has the columns of the panes that the query by hand also computes.
    """

    name: str
    pipeline: PCollection[object]
    by_hand: Callable[[DataFrame, DataFrame], DataFrame]
    of_panes: tuple[str, ...] = ("key", "window.start", "value")
    of_rows: tuple[str, ...] = ("user", "window.start", "value")
    output: tuple[str, ...] = ("key", "window", "value")
    lifted: bool = True
    joins: bool = False


def grade(note: str) -> int:
    """A function that is not lifted: the greatest digit sum of a note's two numbers."""
    best = 0
    for number in note.split(" of "):
        total = 0
        for digit in number:
            total += ord(digit) - 48
        best = max(best, total)
    return best


def _fixed_sum(sales: DataFrame, offers: DataFrame) -> DataFrame:
    return sales.groupBy("user", F.window("at", "1 minute")).agg(F.sum("amount").alias("value"))


def _several(sales: DataFrame, offers: DataFrame) -> DataFrame:
    return sales.groupBy("user", F.window("at", "1 minute")).agg(
        F.count("*").alias("sales"),
        F.sum("amount").alias("amount"),
        F.max("amount").alias("most"),
        F.avg("price").alias("mean_price"),
    )


def _sliding_mean(sales: DataFrame, offers: DataFrame) -> DataFrame:
    return sales.groupBy("user", F.window("at", "2 minutes", "30 seconds")).agg(
        F.avg("amount").alias("value")
    )


def _sessions(sales: DataFrame, offers: DataFrame) -> DataFrame:
    return sales.groupBy("user", F.session_window("at", "30 seconds")).agg(F.count("*").alias("value"))


def _filter_and_re_key(sales: DataFrame, offers: DataFrame) -> DataFrame:
    kept = sales.filter((F.col("amount") > 250) & (F.col("country") != "jp"))
    large = kept.select("user", "country", (F.col("amount") * 2).alias("doubled"), "at")
    keyed = large.groupBy("country", (F.col("doubled") > 1500).alias("high"), F.window("at", "1 minute"))
    return keyed.agg(F.count("*").alias("value"))


def _two_stages(sales: DataFrame, offers: DataFrame) -> DataFrame:
    return (
        sales.groupBy("user", F.window("at", "1 minute"))
        .agg(F.sum("amount").alias("total"))
        .groupBy("window")
        .agg(F.max("total").alias("value"))
    )


def _join(sales: DataFrame, offers: DataFrame) -> DataFrame:
    left = sales.select("user", "amount", F.window("at", "1 minute"))
    right = offers.select("user", "discount", F.window("at", "1 minute"))
    return left.join(right, ["user", "window"])


def _top_ten(sales: DataFrame, offers: DataFrame) -> DataFrame:
    return sales.groupBy("country", F.window("at", "1 minute")).agg(
        F.max_by("price", "price", 10).alias("value")
    )


def _grade_all(notes: pa.Array[pa.StringScalar]) -> pa.Array[pa.Int64Scalar]:
    """``grade`` by hand, as a list comprehension."""
    return pa.array([grade(str(note)) for note in notes.to_pylist()], pa.int64())


def _python_function(sales: DataFrame, offers: DataFrame) -> DataFrame:
    graded = arrow_udf(_grade_all, "long", ArrowUDFType.SCALAR)
    keyed = sales.select(graded("note").alias("key"), "at")
    return keyed.groupBy("key", F.window("at", "1 minute")).agg(F.count("*").alias("value"))


def _queries() -> Iterator[Query]:
    in_minutes = amounts.window(FixedWindows(MINUTE))
    yield Query("fixed-window sum", in_minutes.combine_per_key(Sum()), _fixed_sum)
    several = by_user.window(FixedWindows(MINUTE)).combine_per_key(
        Count(),
        Sum.of(lambda s: s.amount),
        Max.of(lambda s: s.amount),
        Mean.of(lambda s: s.price),
        into=Stats,
    )
    names = ("sales", "amount", "most", "mean_price")
    yield Query(
        "several aggregates at once",
        several,
        _several,
        ("key", "window.start", *(f"value.{name}" for name in names)),
        ("user", "window.start", *names),
        ("key", "window", "value.*"),
    )
    sliding = amounts.window(SlidingWindows(timedelta(minutes=2), timedelta(seconds=30)))
    yield Query("sliding mean", sliding.combine_per_key(Mean()), _sliding_mean)
    sessions = by_user.window(Sessions(timedelta(seconds=30)))
    yield Query(
        "session count",
        sessions.combine_per_key(Count()),
        _sessions,
        of_rows=("user", "session_window.start", "value"),
    )
    large = SALES.filter(lambda s: s.amount > 250 and s.country != "jp").map(
        lambda s: Large(s.user, s.country, s.amount * 2)
    )
    keyed = large.key_by(lambda s: (s.country, s.doubled > 1500)).window(FixedWindows(MINUTE))
    yield Query(
        "filter, map and re-key, count",
        keyed.combine_per_key(Count()),
        _filter_and_re_key,
        ("key._1", "key._2", "window.start", "value"),
        ("country", "high", "window.start", "value"),
    )
    greatest = in_minutes.combine_per_key(Sum()).map(lambda pair: pair.value).combine_globally(Max())
    yield Query(
        "two stages",
        greatest,
        _two_stages,
        ("window.start", "value"),
        ("window.start", "value"),
        ("window", "value"),
    )
    offered = OFFERS.key_by(lambda o: o.user).map_values(lambda o: o.discount).window(FixedWindows(MINUTE))
    yield Query(
        "windowed join",
        in_minutes.inner_join(offered),
        _join,
        ("key", "window.start", "value._1", "value._2"),
        ("user", "window.start", "amount", "discount"),
        ("key", "window", "value.*"),
        joins=True,
    )
    prices = SALES.key_by(lambda s: s.country).map_values(lambda s: s.price)
    top = prices.window(FixedWindows(MINUTE)).combine_per_key(TopN(10))
    yield Query("top ten per window", top, _top_ten, of_rows=("country", "window.start", "value"))
    graded = SALES.key_by(lambda s: grade(s.note)).window(FixedWindows(MINUTE))
    yield Query(
        "a function in Python",
        graded.combine_per_key(Count()),
        _python_function,
        of_rows=("key", "window.start", "value"),
        lifted=False,
    )


QUERIES: Final = tuple(_queries())


def summary(frame: DataFrame, columns: tuple[str, ...]) -> tuple[int, int]:
    """Returns the number of rows and a sum of hashes over some columns, which do not depend on the order of the rows.

    Floats are rounded first, since a sum of floats depends on the order of the additions.
    """
    picked = frame.select(*(F.col(name).alias(f"c{number}") for number, name in enumerate(columns)))
    parts = [
        F.round(field.name, 6) if isinstance(field.dataType, T.DoubleType) else F.col(field.name)
        for field in picked.schema.fields
    ]
    hashes = picked.select(F.xxhash64(*parts).cast("decimal(38,0)").alias("hash"))
    row = hashes.agg(F.count("*").alias("rows"), F.sum("hash").alias("hash")).collect()[0]
    return int(row["rows"]), int(row["hash"] or 0)


__all__ = ["OFFERS", "QUERIES", "SALES", "Query", "grade", "summary"]
