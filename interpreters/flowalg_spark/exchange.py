"""The two passes over Arrow batches around the stateful operator: rows into bundles, emissions into rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import polars as pl
import pyarrow as pa
from attrs import frozen
from flowalg_shard import Stage, pack, precombine, report_of, unpack
from flowalg_shard.columns import (
    CHANGE,
    DROPPED,
    END,
    EVENT_TIME,
    INDEX,
    IS_FIRST,
    IS_LAST,
    REASON,
    SHARD,
    START,
    TIMING,
)

from flowalg_spark import meta
from flowalg_spark.processor import BUNDLE_SCHEMA


@frozen
class ToBundles:
    """The rows of one input partition, as one bundle and one clock report for every shard."""

    stage: Stage
    shards: tuple[int, ...]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One row for every shard, whether or not it has elements."""
        known = list(batches)
        # Spark's optimiser may find out more about what can be null than its analysis said: a constant key, say.
        table = pa.Table.from_batches(known, known[0].schema if known else self.schema)
        rows = pl.from_arrow(table)
        assert isinstance(rows, pl.DataFrame)
        report = report_of(rows)
        bundle = precombine(self.stage, rows)
        parts = {} if bundle.is_empty() else bundle.partition_by(SHARD, as_dict=True, include_key=False)
        payloads = [pack(parts.get((shard,), pl.DataFrame())) for shard in self.shards]
        count = len(self.shards)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(self.shards, pa.int32()),
                pa.array(payloads, pa.binary()),
                pa.array([report.latest_event] * count, pa.int64()),
                pa.array([report.latest_processing] * count, pa.int64()),
                pa.array([report.ended] * count, pa.bool_()),
            ],
            names=BUNDLE_SCHEMA.names,
        )


@frozen
class FromEmissions:
    """Emissions as rows: the element's leaves, what a pane says of itself, and what is said of a drop.

    ``results`` are the columns of an emission that are the leaves of the element, in order. A row for a drop is
    not kept, and its leaves are the key and value that were refused.
    """

    results: tuple[str, ...]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of each emission."""
        for batch in batches:
            for emission in batch.to_pylist():
                panes, drops = unpack(emission["panes"]), unpack(emission["drops"])
                clocks = {
                    meta.PANE_TIME: pl.lit(emission["processing_time"], pl.Int64),
                    meta.WATERMARK: pl.lit(emission["watermark"], pl.Int64),
                }
                yield from self.rows(panes, {**clocks, **_PANE})
                yield from self.rows(drops, {**clocks, **_DROP})

    def rows(self, table: pl.DataFrame, said: dict[str, pl.Expr]) -> Iterator[pa.RecordBatch]:
        """A table as batches of the output schema; what nothing is said of is null."""
        if table.is_empty():
            return
        elements = {name: pl.col(one) for name, one in zip(self.schema.names, self.results, strict=False)}
        columns = {**elements, **_WINDOW, **said}
        given = table.select(**columns).to_arrow()
        arrays = [
            given.column(field.name).cast(field.type)
            if field.name in columns
            else pa.nulls(given.num_rows, field.type)
            for field in self.schema
        ]
        yield from pa.Table.from_arrays(arrays, schema=self.schema).to_batches()


_WINDOW: Final = {meta.START: pl.col(START), meta.END: pl.col(END)}
_PANE: Final = {
    meta.EVENT_TIME: pl.col(EVENT_TIME),
    meta.CHANGE: pl.col(CHANGE),
    meta.TIMING: pl.col(TIMING),
    meta.INDEX: pl.col(INDEX),
    meta.IS_FIRST: pl.col(IS_FIRST),
    meta.IS_LAST: pl.col(IS_LAST),
    meta.KEEP: pl.lit(True),
}
_DROP: Final = {
    meta.EVENT_TIME: pl.col(END) - 1,
    meta.KEEP: pl.lit(False),
    meta.REASON: pl.col(REASON),
    meta.DROPPED: pl.col(DROPPED),
}


__all__ = ["FromEmissions", "ToBundles"]
