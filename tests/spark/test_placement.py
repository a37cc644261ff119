"""Spark computes the hash that places keys on shards as it is defined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.streaming.grouping import shard_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from flowalg.runs.placement import shard_number
from tests.support.placed_keys import Keys, generated_keys, vectors

SHARDS: Final = tuple(range(97))
SLOW: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


def placed_by_spark(spark: SparkSession, cases: Sequence[Keys]) -> list[list[tuple[int, int]]]:
    """Returns the hash of each key and its shard of many, in one query; rows that a case lacks are null."""
    tables = [
        pl.DataFrame([column.alias(f"{number} {column.name}") for column in case.columns.iter_columns()])
        for number, case in enumerate(cases)
    ]
    frame = spark.createDataFrame(pl.concat(tables, how="horizontal_extend").to_arrow())
    columns: list[Sql] = []
    for number, table in enumerate(tables):
        key = [col(name) for name in table.columns]
        columns += [
            sql.xxhash64(*key).alias(f"hash {number}"),
            shard_of(key, SHARDS).alias(f"shard {number}"),
        ]
    placed = pl.DataFrame(select(frame, *columns).toArrow())
    return [
        placed.select(f"hash {number}", f"shard {number}").head(len(case.keys)).rows()
        for number, case in enumerate(cases)
    ]


def expected(case: Keys) -> list[tuple[int, int]]:
    """Returns the hash of each key and its shard by the definition."""
    return [(hashed, shard_number(hashed, len(SHARDS))) for hashed in case.hashes]


def test_spark_has_the_vectors(spark: SparkSession) -> None:
    """Spark's hashes are those of the table, and so are the shards."""
    table = vectors()
    placed = placed_by_spark(spark, [keys for keys, _ in table])
    assert placed == [[(hashed, shard_number(hashed, len(SHARDS)))] for _, hashed in table]


@settings(max_examples=5, deadline=None, suppress_health_check=SLOW)
@given(cases=st.lists(generated_keys(), min_size=15, max_size=20))
def test_spark_places_generated_keys_by_the_definition(spark: SparkSession, cases: list[Keys]) -> None:
    """Keys of any type have on Spark the hash and the shard of the definition."""
    for case, placed in zip(cases, placed_by_spark(spark, cases), strict=True):
        assert placed == expected(case), case
