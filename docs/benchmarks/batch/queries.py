"""The queries, each as a pipeline and as an expert writes it in PySpark.

Both return the same rows: before the measurement, ``summary`` compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pyarrow as pa
from attrs import evolve, frozen
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

from docs.benchmarks.batch.pipelines import PIPELINES, grade
from flowalg import PCollection


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


def _fixed_sum(sales: DataFrame, offers: DataFrame) -> DataFrame:
    return sales.groupBy("user", F.window("at", "1 minute")).agg(F.sum("amount").alias("value"))


def _fixed_days(sales: DataFrame, offers: DataFrame) -> DataFrame:
    days = F.window("at", "1 day", startTime="13 hours")
    return sales.groupBy("user", days).agg(F.sum("amount").alias("value"))


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


def _either(sales: DataFrame, offers: DataFrame) -> DataFrame:
    """One wide record, with nulls for the fields of the other type."""
    wide = sales.select("user", "at", "amount", F.lit(None).cast("long").alias("discount")).union(
        offers.select("user", "at", F.lit(None).cast("long").alias("amount"), "discount")
    )
    value = F.coalesce(F.col("amount").cast("double"), F.col("discount").cast("double"))
    return wide.groupBy("user", F.window("at", "1 minute")).agg(F.sum(value).alias("value"))


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
    def query(
        name: str,
        by_hand: Callable[[DataFrame, DataFrame], DataFrame],
        of_panes: tuple[str, ...] = ("key", "window.start", "value"),
        of_rows: tuple[str, ...] = ("user", "window.start", "value"),
        output: tuple[str, ...] = ("key", "window", "value"),
    ) -> Query:
        return Query(name, PIPELINES[name], by_hand, of_panes, of_rows, output)

    yield query("fixed-window sum", _fixed_sum)
    yield query("calendar-day sum", _fixed_days)
    names = ("sales", "amount", "most", "mean_price")
    yield query(
        "several aggregates at once",
        _several,
        ("key", "window.start", *(f"value.{name}" for name in names)),
        ("user", "window.start", *names),
        ("key", "window", "value.*"),
    )
    yield query("sliding mean", _sliding_mean)
    yield evolve(query("session count", _sessions), of_rows=("user", "session_window.start", "value"))
    yield query(
        "filter, map and re-key, count",
        _filter_and_re_key,
        ("key._1", "key._2", "window.start", "value"),
        ("country", "high", "window.start", "value"),
    )
    yield query(
        "two stages",
        _two_stages,
        ("window.start", "value"),
        ("window.start", "value"),
        ("window", "value"),
    )
    joined = query(
        "windowed join",
        _join,
        ("key", "window.start", "value._1", "value._2"),
        ("user", "window.start", "amount", "discount"),
        ("key", "window", "value.*"),
    )
    yield evolve(joined, joins=True)
    yield evolve(query("a sum of two types", _either), joins=True)
    yield evolve(query("top ten per window", _top_ten), of_rows=("country", "window.start", "value"))
    in_python = query("a function in Python", _python_function)
    yield evolve(in_python, of_rows=("key", "window.start", "value"), lifted=False)


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
