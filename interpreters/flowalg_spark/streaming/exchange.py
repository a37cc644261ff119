"""Before the stateful operator: the rows of an input partition become one row for every shard."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_shard import Stage, Upstream, pack, precombine, reports_of
from flowalg_shard.tables.columns import END, KEEP, SHARD, START
from pyspark.sql import types as T

from flowalg_spark.lowering.meta import ACCOUNT, PASSING_META, REASON
from flowalg_spark.state.worker_gc import freeze_imports

INPUT = "input"

BUNDLE_SCHEMA = T.StructType(
    [
        T.StructField(SHARD, T.IntegerType()),
        T.StructField(INPUT, T.IntegerType()),
        T.StructField("bundle", T.BinaryType()),
        T.StructField("reports", T.BinaryType()),
        T.StructField("refused", T.BinaryType()),
    ]
)
"""What every partition of an input sends to every shard: its bundle, what it says of the clocks, and earlier drops."""


@frozen
class Precombined:
    """To each shard of a grouping: the elements of its keys, combined per key and window."""

    stage: Stage

    def payloads(self, rows: pl.DataFrame, shards: tuple[int, ...]) -> Mapping[int, bytes]:
        """The bytes for each shard that gets any."""
        if self.stage.fresh and not self.stage.preassigned:
            # Of drops that pass by; the elements are still to be assigned windows.
            rows = rows.drop(START, END, strict=False)
        bundle = precombine(self.stage, rows)
        return {} if bundle.is_empty() else _by_shard(bundle)


@frozen
class Divided:
    """To each shard its share of the elements, with some of their columns."""

    columns: tuple[str, ...]

    def payloads(self, rows: pl.DataFrame, shards: tuple[int, ...]) -> Mapping[int, bytes]:
        """The bytes for each shard that gets any."""
        return _by_shard(rows.filter(pl.col(KEEP)).select(SHARD, *self.columns))


@frozen
class Broadcast:
    """To every shard all elements, with some of their columns."""

    columns: tuple[str, ...]

    def payloads(self, rows: pl.DataFrame, shards: tuple[int, ...]) -> Mapping[int, bytes]:
        """The same bytes for each."""
        return dict.fromkeys(shards, pack(rows.filter(pl.col(KEEP)).select(self.columns)))


Sending: TypeAlias = Precombined | Divided | Broadcast


def _by_shard(table: pl.DataFrame) -> dict[int, bytes]:
    parts = table.partition_by(SHARD, as_dict=True, include_key=False)
    return {int(shard): pack(part) for (shard,), part in parts.items()}


@frozen
class ToBundles:
    """The rows of one partition of a stage's input, as one row for every shard."""

    number: int
    upstreams: tuple[Upstream, ...]
    sending: Sending
    shards: tuple[int, ...]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One row for every shard, whether or not it has elements."""
        freeze_imports()
        known = list(batches)
        # Spark's optimiser may find out more about what can be null than its analysis said: a constant key, say.
        table = pa.Table.from_batches(known, known[0].schema if known else self.schema)
        rows = pl.from_arrow(table)
        assert isinstance(rows, pl.DataFrame)
        if not rows.is_empty() and KEEP not in rows.columns:
            rows = rows.with_columns(pl.col(SHARD).is_not_null().alias(KEEP))
        payloads = {} if rows.is_empty() else self.sending.payloads(rows, self.shards)
        count = len(self.shards)
        reports = pickle.dumps(reports_of(self.upstreams, rows))
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(self.shards, pa.int32()),
                pa.array([self.number] * count, pa.int32()),
                pa.array([payloads.get(shard, b"") for shard in self.shards], pa.binary()),
                pa.array([reports] * count, pa.binary()),
                pa.array([_refused(rows), *([b""] * (count - 1))], pa.binary()),
            ],
            names=BUNDLE_SCHEMA.names,
        )


def _refused(rows: pl.DataFrame) -> bytes:
    """The drops of earlier stages and what these tell of themselves, which pass through one shard."""
    if REASON not in rows.columns:
        return b""
    passing = [name for name in PASSING_META if name in rows.columns]
    told = [pl.col(name).is_not_null() for name in (REASON, ACCOUNT) if name in passing]
    return pack(rows.filter(pl.any_horizontal(told)).select(passing))


__all__ = ["BUNDLE_SCHEMA", "INPUT", "Broadcast", "Divided", "Precombined", "Sending", "ToBundles"]
