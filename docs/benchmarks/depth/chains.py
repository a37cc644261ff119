"""The measured chains: counts in windows of a second, which are shuffled to other keys and added again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, TypeAlias

import polars as pl
from attrs import frozen
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from docs.benchmarks.arrivals import MICROS, RECORDS, Arrivals, now
from flowalg import KV, BoundedOutOfOrderness, FixedWindows, PCollection, Sum

KEYS: Final = 1_000
SECOND: Final = timedelta(seconds=1)
POLICY: Final = BoundedOutOfOrderness(timedelta(0))
"""Records arrive in the order of their event time."""

Counts: TypeAlias = PCollection[KV[int, int]]

COUNTED: Final[Counts] = (
    RECORDS.key_by(lambda record: record.number % KEYS)
    .map_values(lambda record: 1)
    .window(FixedWindows(SECOND), allowed_lateness=timedelta(0))
    .combine_per_key(Sum())
)


def chain(depth: int) -> Counts:
    """Returns the counts after ``depth`` groupings, each by other keys than the one before."""
    counts = COUNTED
    for _ in range(depth - 1):
        counts = counts.map(lambda pair: KV((7 * pair.key + 1) % KEYS, pair.value)).combine_per_key(Sum())
    return counts


def spark_chain(records: DataFrame, depth: int) -> DataFrame:
    """Returns the same in Spark's own operators: chained aggregations in windows, in append mode."""
    counts = (
        records.withWatermark("at", "0 seconds")
        .groupBy((F.col("number") % KEYS).alias("key"), F.window("at", "1 second"))
        .agg(F.count("*").alias("value"))
    )
    for _ in range(depth - 1):
        key = ((7 * F.col("key") + 1) % KEYS).alias("key")
        counts = counts.groupBy(key, F.window("window", "1 second")).agg(F.sum("value").alias("value"))
    return counts.select("key", "value", "window")


def expected(arrivals: Arrivals, depth: int) -> pl.DataFrame:
    """Returns the counts that a chain must have, of the windows that arrive completely: key, value, end."""
    counts = (
        arrivals.frame(0, arrivals.total)
        .select(
            pl.col("number").mod(KEYS).alias("key"),
            (pl.col("at").to_physical() // MICROS + 1).mul(MICROS).alias("end"),
        )
        .group_by("key", "end")
        .agg(pl.len().cast(pl.Int64()).alias("value"))
    )
    for _ in range(depth - 1):
        counts = counts.with_columns(pl.col("key").mul(7).add(1).mod(KEYS))
    return counts.filter(pl.col("end") < counts["end"].max())


@frozen
class Emitted:
    """The rows of a micro-batch (key, value, and end of the window in microseconds), and when they were emitted."""

    batch: int
    at: int
    rows: pl.DataFrame

    @classmethod
    def of(cls, batch: int, rows: pl.DataFrame) -> Emitted:
        """Returns rows that are emitted now."""
        at = now()
        end = pl.col("window").struct.field("end").cast(pl.Datetime("us", "UTC")).to_physical().alias("end")
        return cls(
            batch, at, rows.select(pl.col("key").cast(pl.Int64()), end, pl.col("value").cast(pl.Int64()))
        )


@frozen
class Ran:
    """What a run emitted, and the number of records that had been read after each micro-batch, by its number."""

    arrivals: Arrivals
    emitted: Sequence[Emitted]
    read: Mapping[int, int]


@frozen
class Delays:
    """From the end of each window: the milliseconds to each of its panes, and the micro-batches to its last pane.

    The micro-batch that reads the first record after the end is number 0. Flink has no micro-batches.
    """

    milliseconds: tuple[float, ...] = ()
    batches: tuple[int, ...] = ()

    def __add__(self, other: Delays) -> Delays:
        return Delays(self.milliseconds + other.milliseconds, self.batches + other.batches)


def delays_of(name: str, ran: Ran, depth: int) -> Delays:
    """Returns the delays of the windows after the warm-up.

    Raises ``ValueError`` if the panes are not the counts of the records. The last windows may be missing, since Spark's
    own operators emit a window when later records arrive.
    """
    arrivals = ran.arrivals
    panes = pl.concat(
        [
            emitted.rows.with_columns(at=pl.lit(emitted.at), batch=pl.lit(emitted.batch))
            for emitted in ran.emitted
        ]
    ).filter(pl.col("end") > arrivals.begin)
    wanted = expected(arrivals, depth).filter(pl.col("end") <= panes["end"].max())
    whole = panes.filter(pl.col("end") <= wanted["end"].max())
    columns = ["end", "key", "value"]
    if not whole.height or not whole.select(columns).sort(columns).equals(
        wanted.select(columns).sort(columns)
    ):
        raise ValueError(f"{name}: {whole.height} panes are not the {wanted.height} counts of the records")
    counted = whole.filter(pl.col("end") > arrivals.warm)
    last = counted.group_by("end").agg(pl.col("batch").max()).rows()
    return Delays(
        tuple((counted["at"] - counted["end"]) / 1_000),
        tuple(batch - _reading_batch(ran, end) for end, batch in last if ran.read),
    )


def _reading_batch(ran: Ran, end: int) -> int:
    """Returns the first micro-batch after which a record at or after the end of a window had been read."""
    records = -(-(end - ran.arrivals.begin) * ran.arrivals.rate // MICROS) + 1
    return min(batch for batch, read in ran.read.items() if read >= records)
