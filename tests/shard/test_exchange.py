"""The rows that the partitions of a stream send to the shards: few, to every shard, and complete. Without Spark."""

from __future__ import annotations

import pickle
from datetime import timedelta

import polars as pl
import pyarrow as pa
import pytest
from attrs import frozen
from flowalg_columns.names import DROP_META
from flowalg_shard import FromSource, SourceReport, Stage, aggregate_columns, unpack
from flowalg_shard.tables.columns import DROP_REASON, ENDED, EVENT_TIME, KEEP, PROCESSING_TIME, SHARD
from flowalg_spark.streaming.exchange import BUNDLE_SCHEMA, CombineByShard, ToBundles

from flowalg import FOREVER, BoundedOutOfOrderness, Count, FixedWindows, Mean, Sum
from flowalg.combiners import Combiner
from flowalg.combiners.core import product
from flowalg.data.shapes import INTEGER
from flowalg.windows import WindowingStrategy

MINUTE = timedelta(minutes=1)
STRATEGY = WindowingStrategy(FixedWindows(MINUTE), allowed_lateness=FOREVER)
COMBINER: Combiner[object, object, object] = product((Sum[int](), Count(), Mean()))  # type: ignore[arg-type]
STAGE = Stage("the stage", ("key",), aggregate_columns(COMBINER, (INTEGER, None, INTEGER)), STRATEGY)
ORIGINS = (FromSource(BoundedOutOfOrderness(MINUTE)),)


@frozen
class Row:
    """The row that a shard receives."""

    shard: int
    input: int
    bundle: bytes
    reports: bytes
    drops: bytes


def rows_for(rows: pl.DataFrame, shards: tuple[int, ...]) -> list[Row]:
    """Returns the rows that a partition with these rows sends to the shards."""
    bundling = ToBundles(0, ORIGINS, CombineByShard(STAGE), shards, pa.schema([]))
    (batch,) = bundling(rows.to_arrow().to_batches() if len(rows) else [])
    assert batch.schema.names == BUNDLE_SCHEMA.names
    return [Row(*row.values()) for row in batch.to_pylist()]


def rows(count: int, *, keys: int, minutes: int) -> pl.DataFrame:
    """Returns elements spread evenly over keys and minutes; the shard of a row is that of its key."""
    number = pl.int_range(count, dtype=pl.Int64())
    return pl.select(
        number.mod(keys).alias("key"),
        (number.mod(keys) % 2).cast(pl.Int32()).alias(SHARD),
        number.alias("a0"),
        number.alias("a2"),
        (number.mod(minutes) * 60_000_000).alias(EVENT_TIME),
        pl.lit(7, pl.Int64()).alias(PROCESSING_TIME),
        pl.lit(False).alias(ENDED),
        pl.lit(True).alias(KEEP),
    )


@pytest.mark.parametrize("count", [100, 100_000])
def test_a_hot_key_sends_a_row_per_window(count: int) -> None:
    """A partition sends one row per key and window: a thousand times the elements add no rows."""
    hot, empty = rows_for(rows(count, keys=1, minutes=2), (0, 1))
    assert unpack(hot.bundle).height == 2
    assert empty.bundle == b""


def test_every_shard_receives_the_clock_reports_of_every_partition() -> None:
    """Every shard receives the same clock reports, whether or not it receives elements."""
    for table in (rows(10, keys=2, minutes=3), rows(10, keys=1, minutes=1), rows(0, keys=1, minutes=1)):
        received = rows_for(table, (0, 1, 4))
        assert [row.shard for row in received] == [0, 1, 4]
        assert len({row.reports for row in received}) == 1
    report = pickle.loads(rows_for(rows(10, keys=2, minutes=3), (0,))[0].reports)[0]
    assert isinstance(report, SourceReport)
    assert report.clock.latest_event == 120_000_000


def test_drops_of_earlier_stages_pass_through_one_shard() -> None:
    """Drops of earlier stages pass through one shard, once and unchanged."""
    drops = rows(2, keys=2, minutes=1).with_columns(
        pl.lit(False).alias(KEEP),
        pl.Series(DROP_REASON, [None, "expired"]),
        *(pl.lit(None).alias(name) for name in DROP_META if name != DROP_REASON),
    )
    first, second = rows_for(drops, (0, 1))
    (passing,) = unpack(first.drops).to_dicts()
    assert passing[DROP_REASON] == "expired"
    assert second.drops == b""
