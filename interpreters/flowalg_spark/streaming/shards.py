"""The shards of a query, whose ids are chosen to spread them evenly over Spark's hash partitions."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg.data.errors import ArgumentError
from flowalg_spark.session import shuffle_partitions


def shard_ids(session: SparkSession, shards: int | None) -> tuple[int, ...]:
    """Returns the ids of the shards; ``None`` is as many as there are shuffle partitions.

    The first id is always 0, so a query that restarts with another number of shards finds a state and is rejected.
    """
    partitions = shuffle_partitions(session)
    wanted = partitions if shards is None else shards
    if not isinstance(wanted, int) or wanted < 1:
        raise ArgumentError("shards", shards, "a positive int, or None for the number of shuffle partitions")
    if wanted == 1:
        return (0,)
    candidates = session.range(wanted * 16 + 64).select(
        F.col("id").cast("int").alias("id"),
        F.pmod(F.hash(F.col("id").cast("int")), F.lit(partitions)).alias("at"),
    )
    by_partition: dict[int, list[int]] = {}
    for row in sorted(candidates.collect(), key=lambda row: int(row["id"])):
        by_partition.setdefault(int(row["at"]), []).append(int(row["id"]))
    rounds = sorted(
        (rank, number) for numbers in by_partition.values() for rank, number in enumerate(numbers)
    )
    return tuple(sorted(number for _, number in rounds[:wanted]))
