"""Computations over bounded data: the shard step over Arrow batches, each key in order.

Rows are partitioned and sorted by key, so a partition is a sequence of keys: when a batch ends, all keys but its last
one are complete. No more than a batch and the elements of one key are in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Final

import polars as pl
import pyarrow as pa
from attrs import evolve, frozen
from flowalg_columns.checks.stages import computation_stage
from flowalg_columns.layout import Layout, layout_of, leaf_columns
from flowalg_columns.names import DROPPED_VALUE, ERROR, STAGE
from flowalg_columns.notes import note_of_computation
from flowalg_columns.values import AnyArray
from flowalg_shard.computations.kept_keys import Kept
from flowalg_shard.computations.stage import ComputationStage
from flowalg_shard.computations.step import compute
from flowalg_shard.tables.columns import (
    DROP_COUNT,
    DROP_REASON,
    END,
    EVENT_TIME,
    KEEP,
    PROCESSING_TIME,
    START,
    WEIGHT,
)
from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast

from flowalg.computations.computation import Late
from flowalg.computations.library import depends_on_horizon
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.pipeline.nodes import Process
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.clocks import Clocks
from flowalg.windows.window import GLOBAL_WINDOW
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import col, select, where
from flowalg_spark.encoding.meta import META_TYPES
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.encoding.sql import Sql
from flowalg_spark.lowering.computations import bad_record_columns
from flowalg_spark.lowering.flow import Flow, row_schema
from flowalg_spark.lowering.worker_errors import SentBatches

_LETTER = (KEEP, DROP_REASON, DROP_COUNT, STAGE, ERROR, DROPPED_VALUE)
"""The columns of outputs and bad records, if there are dead letters."""


HORIZON: Final = "__horizon"
"""The column of the horizon of the whole input, which is the same in each row."""


def lower_computation(
    node: Process, flow: Flow, sources: Iterable[Flow], time: Sql, *, dead_letters: bool
) -> Flow:
    """Returns the outputs of a computation that observes all elements in order, and its bad records.

    ``sources`` are the flows of the sources that it reads, which determine the horizon.
    """
    in_order = evolve(node, in_order=True, late=Late.DROP)
    stage, pair = computation_stage(in_order, flow.shape, dead_letters=dead_letters)
    meta = {name: META_TYPES[name] for name in (EVENT_TIME, *(_LETTER if dead_letters else ()))}
    schema = row_schema(pair, meta)
    layout = layout_of(flow.shape)
    arrived = time.cast("bigint").alias(PROCESSING_TIME)
    rows = select(flow.frame, *map(col, leaf_columns(layout)), col(EVENT_TIME), arrived)
    if depends_on_horizon(node.computation):
        rows = rows.crossJoin(broadcast(_horizon_of(sources)))
    by = [col(name).column for name in stage.keys]
    ordered = rows.repartition(*by).sortWithinPartitions(*by) if by else rows.repartition(1)
    function = ComputePartition(stage, layout_of(pair), arrow_schema(schema))
    emitted = evolve(flow, frame=ordered.mapInArrow(SentBatches(function), schema), shape=pair, meta=meta)
    return evolve(emitted, dead_letters=dead_letters).with_notes(note_of_computation(node))


def _horizon_of(sources: Iterable[Flow]) -> DataFrame:
    """Returns the horizon of some sources as a table with one row (SEMANTICS section 17)."""
    times = [
        (where(source.frame, col(KEEP)) if KEEP in source.meta else source.frame).select(EVENT_TIME)
        for source in sources
    ]
    latest = sql.coalesce(sql.max(col(EVENT_TIME)) + 1, int(MIN_TIME))
    return select(reduce(DataFrame.union, times), latest.alias(HORIZON))


@frozen
class ComputePartition:
    """Runs a computation over the keys of a partition, which is sorted by key; a function for ``mapInArrow``."""

    stage: ComputationStage
    pair: Layout
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns the outputs of all keys, and the bad records."""
        held: list[pa.RecordBatch] = []
        for batch in batches:
            if not batch.num_rows:
                continue
            start = self._start_of_last_key([*held[-1:], batch]) - (held[-1].num_rows if held else 0)
            if start > 0 or (held and start == 0):
                yield from self._run([*held, batch.slice(0, start)])
                held = []
            held.append(batch.slice(max(start, 0)))
        if held:
            yield from self._run(held)

    def _start_of_last_key(self, batches: list[pa.RecordBatch]) -> int:
        """Returns the number of rows before those with the key of the last row."""
        if not self.stage.keys:
            return 0
        keys = _frame(batches).select(self.stage.keys)
        is_last = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).last()) for name in keys.columns)
        return keys.height - int(keys.select(is_last.sum()).item())

    def _run(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns the outputs of complete keys, and their bad records."""
        frame = _frame(batches)
        rows = frame.select(
            *self.stage.key.columns,
            *self.stage.value.columns,
            EVENT_TIME,
            pl.lit(1, pl.Int8()).alias(WEIGHT),
            pl.lit(GLOBAL_WINDOW.start, pl.Int64()).alias(START),
            pl.lit(GLOBAL_WINDOW.end, pl.Int64()).alias(END),
        )
        horizon = EventTime(int(frame[HORIZON][0])) if HORIZON in frame.columns else MIN_TIME
        now = Clocks(ProcessingTime(int(frame[PROCESSING_TIME][0])), MAX_TIME, horizon=horizon)
        _, output = compute(self.stage, Kept(), rows, MIN_TIME, now)
        if output.outputs.height:
            yield self._batch(self._outputs(output.outputs), output.outputs.height)
        if output.bad_records:
            yield self._batch(_letters(output.bad_records), len(output.bad_records))

    def _outputs(self, table: pl.DataFrame) -> dict[str, AnyArray]:
        return {
            **{name: table[name].to_arrow() for name in leaf_columns(self.pair)},
            EVENT_TIME: table[EVENT_TIME].to_arrow(),
            KEEP: pa.array([True] * table.height, pa.bool_()),
        }

    def _batch(self, columns: dict[str, AnyArray], count: int) -> pa.RecordBatch:
        """Returns columns as a batch; the others are null."""
        arrays = [
            columns[field.name].cast(field.type) if field.name in columns else pa.nulls(count, field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _frame(batches: list[pa.RecordBatch]) -> pl.DataFrame:
    frame = pl.from_arrow(pa.Table.from_batches(batches))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _letters(records: Sequence[BadRecord]) -> dict[str, AnyArray]:
    """Returns the columns of bad records, whose time is unknown."""
    return {
        **bad_record_columns(records),
        EVENT_TIME: pa.array([MIN_TIME] * len(records), pa.int64()),
        KEEP: pa.array([False] * len(records), pa.bool_()),
    }
