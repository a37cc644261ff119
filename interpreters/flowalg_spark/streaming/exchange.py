"""The exchange before the stateful operator: each partition of an input sends one row to every shard."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeAlias

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_columns.names import FORWARDED_META, METRICS
from flowalg_shard import Stage, Upstream, pack, precombine, reports_of
from flowalg_shard.step.late_data import with_elements
from flowalg_shard.tables.columns import DROP_REASON, END, KEEP, SHARD, START
from pyspark import TaskContext
from pyspark.sql import types as T

from flowalg_spark.state.worker_gc import freeze_imports
from flowalg_spark.streaming.streams.parked_rows import parked_columns, parked_marks

INPUT: Final = "input"

BUNDLE_SCHEMA: Final = T.StructType(
    [
        T.StructField(SHARD, T.IntegerType()),
        T.StructField(INPUT, T.IntegerType()),
        T.StructField("bundle", T.BinaryType()),
        T.StructField("reports", T.BinaryType()),
        T.StructField("upstream", T.BinaryType()),
    ]
)
"""The row that a partition sends to a shard: its elements, its clock reports, and earlier stages' drops and metrics."""

NOW: Final = "now"
"""The time of the micro-batch, which the JVM adds to these rows if the elements of the input have no times."""


@frozen
class CombineByShard:
    """Sends to each shard of a grouping the elements of its keys, combined per key and window.

    With late data, the elements go with them: their columns ``elements``.
    """

    stage: Stage
    elements: tuple[str, ...] = ()

    def bundles(self, rows: pl.DataFrame, shards: tuple[int, ...]) -> Mapping[int, bytes]:
        """Returns the bundle of each shard that receives any elements."""
        if self.stage.fresh and not self.stage.preassigned:
            # The bounds are those of drops of earlier stages; elements have no windows yet.
            rows = rows.drop(START, END, strict=False)
        bundle = precombine(self.stage, rows)
        if bundle.is_empty():
            return {}
        bundles = _by_shard(bundle)
        if not self.elements:
            return bundles
        return with_elements(bundles, _by_shard(rows.filter(pl.col(KEEP)).select(SHARD, *self.elements)))


@frozen
class DivideByShard:
    """Sends to each shard its share of the elements, with some of their columns."""

    columns: tuple[str, ...]

    def bundles(self, rows: pl.DataFrame, shards: tuple[int, ...]) -> Mapping[int, bytes]:
        """Returns the bundle of each shard that receives any elements."""
        return _by_shard(rows.filter(pl.col(KEEP)).select(SHARD, *self.columns))


@frozen
class Broadcast:
    """Sends to every shard all elements, with some of their columns."""

    columns: tuple[str, ...]

    def bundles(self, rows: pl.DataFrame, shards: tuple[int, ...]) -> Mapping[int, bytes]:
        """Returns the same bundle for every shard."""
        return dict.fromkeys(shards, pack(rows.filter(pl.col(KEEP)).select(self.columns)))


@frozen
class ClocksOnly:
    """Sends no elements: the shards need the clocks of the rows only."""

    def bundles(self, rows: pl.DataFrame, shards: tuple[int, ...]) -> Mapping[int, bytes]:
        """Returns no bundle."""
        return {}


Routing: TypeAlias = CombineByShard | DivideByShard | Broadcast | ClocksOnly


def _by_shard(table: pl.DataFrame) -> dict[int, bytes]:
    parts = table.partition_by(SHARD, as_dict=True, include_key=False)
    return {int(shard): pack(part) for (shard,), part in parts.items()}


@frozen
class ToBundles:
    """Turns the rows of one partition of an input into one row for every shard; a function for ``mapInArrow``.

    ``number`` is that of the input, and ``schema`` that of its rows.
    """

    number: int
    upstreams: tuple[Upstream, ...]
    routing: Routing
    shards: tuple[int, ...]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One row for every shard, whether or not it has elements."""
        freeze_imports()
        received = list(batches)
        # Spark's optimiser may infer more non-null columns than its analyser: a constant key, for example.
        table = pa.Table.from_batches(received, received[0].schema if received else self.schema)
        rows = pl.from_arrow(table)
        assert isinstance(rows, pl.DataFrame)
        if not rows.is_empty() and KEEP not in rows.columns:
            rows = rows.with_columns(pl.col(SHARD).is_not_null().alias(KEEP))
        bundles = {} if rows.is_empty() else self.routing.bundles(rows, self.shards)
        count = len(self.shards)
        reports = pickle.dumps(reports_of(self.upstreams, rows))
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(self.shards, pa.int32()),
                pa.array([self.number] * count, pa.int32()),
                pa.array([bundles.get(shard, b"") for shard in self.shards], pa.binary()),
                pa.array([reports] * count, pa.binary()),
                pa.array(self._passed_through(rows), pa.binary()),
            ],
            names=BUNDLE_SCHEMA.names,
        )

    def _passed_through(self, rows: pl.DataFrame) -> list[bytes]:
        """Returns what passes through each shard.

        Drops and metrics of earlier stages pass through the first one. The parked rows of a partition pass through one
        shard, in order, and those of several partitions through different ones.
        """
        passed = [b""] * len(self.shards)
        if DROP_REASON not in rows.columns:
            return passed
        columns = [name for name in (*FORWARDED_META, *parked_columns(rows.columns)) if name in rows.columns]
        parked = 0 if (task := TaskContext.get()) is None else task.partitionId() % len(passed)
        marks: dict[int, list[str]] = {0: [name for name in (DROP_REASON, METRICS) if name in columns]}
        marks[parked] = [*marks.get(parked, ()), *parked_marks(columns)]
        for shard, names in marks.items():
            if names:
                wanted = pl.any_horizontal([pl.col(name).is_not_null() for name in names])
                passed[shard] = pack(rows.filter(wanted).select(columns))
        return passed
