"""The stateful operator: loads the state of a shard, runs a stage of ``flowalg_shard`` on it, and stores it."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator
from time import perf_counter
from typing import Final

import polars as pl
from attrs import frozen
from flowalg_shard import (
    Operator,
    OperatorState,
    ShardInput,
    StageDescription,
    advance,
    at_time,
    measure_shard,
    unpack,
)
from flowalg_shard.clocks.steady_clock import SteadyClock
from pyspark import TaskContext
from pyspark.sql import Row

from flowalg.data.time import ProcessingTime
from flowalg_spark.state.state_format import Store
from flowalg_spark.state.variables import Variables
from flowalg_spark.state.worker_gc import freeze_imports
from flowalg_spark.streaming.emissions import EmittedRows, StageOutput, array_rows
from flowalg_spark.streaming.metrics_columns import to_json

_LOG: Final = logging.getLogger("flowalg.streaming")


@frozen
class ShardProcessor:
    """One micro-batch of one shard: receives the bundles of all partitions of its inputs, and yields its rows.

    Every shard receives the clock reports of every partition, so all shards have the same clocks; Spark's own watermark
    and timers are not used. The result is deterministic, except for the measured time, so that Spark may run a task
    again. ``rows`` has the schema of the rows that the shard yields. ``metrics`` is the number of the stage if metrics
    are wanted, which are then yielded in every micro-batch.
    """

    operator: Operator
    stage: StageDescription
    shards: int
    rows: EmittedRows
    metrics: int | None
    state_cache_bytes: int

    def process(self, variables: Variables, shard: int, rows: Iterator[Row]) -> Iterator[Row]:
        """Runs the stage over the rows of a micro-batch."""
        freeze_imports()
        began = perf_counter()
        inputs = len(self.operator.inputs) + (1 if self.operator.followed else 0)
        received: list[list[ShardInput]] = [[] for _ in range(inputs)]
        upstream: list[bytes] = []
        store = Store.of(variables, self.stage, self.shards, self.state_cache_bytes, self.operator)
        before = store.read(shard)
        first = shard == 0
        stored = None if before is None else before.stored
        clock: SteadyClock | None = None
        for row in rows:
            reports = pickle.loads(bytes(row.reports))  # trusted: pickled by ``ToBundles``
            if clock is None and row.now is not None:
                clock = read_clock(stored, ProcessingTime(row.now[0]), warns=first)
            now = None if row.now is None or clock is None else clock.time
            received[row.input].append(ShardInput(bytes(row.bundle), at_time(reports, now)))
            if row.upstream:
                upstream.append(bytes(row.upstream))
        after, output = advance(self.operator, stored, received, first_shard=first, clock=clock)
        store.write(before, after)
        metrics: str | None = None
        if self.metrics is not None:
            metrics = to_json(
                measure_shard(self.operator, received, after, output, first_shard=first),
                batch=_batch_number(),
                number=self.metrics,
                stage=self.stage.label,
                shard=shard,
                seconds=perf_counter() - began,
            )
        forwarded = [unpack(packed) for packed in upstream]
        # Inputs may forward different columns.
        passed = pl.concat(forwarded, how="diagonal_relaxed") if forwarded else pl.DataFrame()
        for batch in self.rows.of(StageOutput(output, passed, metrics)):
            for columns in array_rows(batch):
                yield Row(**columns)


def read_clock(stored: OperatorState | None, reading: ProcessingTime, *, warns: bool) -> SteadyClock:
    """Returns the clock at the time of the micro-batch, which Spark has read from the clock of its driver."""
    if stored is None or not stored.input_clocks:
        return SteadyClock(reading, reading)
    clocks = stored.input_clocks[0]
    before = SteadyClock(clocks.clocks.processing_time, clocks.reading)
    now = before.read(reading)
    if warns and (warning := now.warning(before)) is not None:
        _LOG.warning(warning)
    return now


def _batch_number() -> int | None:
    """Returns the number of the micro-batch, which Spark passes to tasks as a local property."""
    task = TaskContext.get()
    number = None if task is None else task.getLocalProperty("streaming.sql.batchId")
    return None if number is None else int(number)
