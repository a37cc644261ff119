"""The stateful operator: a thin shell around a stage of ``flowalg_shard``, which loads and stores its state."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Final

from attrs import asdict
from flowalg_shard import (
    Operator,
    ShardInput,
    ShardMetrics,
    StageDescription,
    advance,
    measure_shard,
    pack,
    unpack,
)
from flowalg_shard.metrics import DROP_REASONS, PANE_KINDS
from flowalg_shard.tables.packing import stack
from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from flowalg_spark.state.state_format import Store
from flowalg_spark.state.worker_gc import freeze_imports

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues

EMISSION_SCHEMA: Final = T.StructType(
    [
        T.StructField("panes", T.BinaryType()),
        T.StructField("beside", T.BinaryType()),
        T.StructField("drops", T.BinaryType()),
        T.StructField("refused", T.BinaryType()),
        T.StructField("report", T.BinaryType()),
        T.StructField("account", T.StringType()),
    ]
)
"""What a shard emits in an instant."""


class ShardProcessor(StatefulProcessor):
    """One instant of one shard: what all partitions of the inputs send in, one emission out.

    Every shard hears every partition, so all shards come to the same clocks; Spark's own watermark and timers are
    not used. Deterministic, so a batch that is tried again gives the same, but for how long it takes. With ``reports``
    an emission is made in every instant, since a stage behind this one wants to hear of its clocks; with a place in
    ``metrics`` too, since somebody wants to read of it.
    """

    def __init__(
        self,
        operator: Operator,
        stage: StageDescription,
        shards: int,
        *,
        reports: bool,
        metrics: int | None,
        state_cache_bytes: int,
    ) -> None:
        self.operator = operator
        self.stage = stage
        self.shards = shards
        self.reports = reports
        self.metrics = metrics
        self.state_cache_bytes = state_cache_bytes

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state variables; runs on the driver too."""
        self.store = Store.of(handle, self.stage, self.shards, self.state_cache_bytes)

    def handleInputRows(  # type: ignore[override]  # the Row form of the two that Spark declares as one
        self,
        key: tuple[int, ...],
        rows: Iterator[Row],
        timerValues: TimerValues,
    ) -> Iterator[Row]:
        """Run the stage over the batch's rows."""
        freeze_imports()
        began = perf_counter()
        sent: list[list[ShardInput]] = [[] for _ in self.operator.inputs]
        passing: list[bytes] = []
        for row in rows:
            reports = pickle.loads(bytes(row.reports))  # of our own making
            sent[row.input].append(ShardInput(bytes(row.bundle), reports))
            if row.refused:
                passing.append(bytes(row.refused))
        found = self.store.read(key[0])
        stored = None if found is None else found.stored
        first = key[0] == 0
        after, emitted = advance(self.operator, stored, sent, first_shard=first)
        self.store.write(found, after)
        account: str | None = None
        if self.metrics is not None:
            told = measure_shard(self.operator, sent, after, emitted, first_shard=first)
            account = as_json(told, self.metrics, self.stage.label, key[0], perf_counter() - began)
        if self.reports or account or emitted.panes or emitted.drops or passing:
            yield Row(
                panes=emitted.panes,
                beside=emitted.side_values,
                drops=emitted.drops,
                refused=pack(stack([unpack(one) for one in passing])),
                report=pickle.dumps(emitted.report),
                account=account,
            )

    def close(self) -> None:
        """Nothing is held open."""


def as_json(account: ShardMetrics, number: int, stage: str, shard: int, seconds: float) -> str:
    """An account as a row has it, with whose it is."""
    task = TaskContext.get()
    batch = None if task is None else task.getLocalProperty(_BATCH)
    place = {"batch": None if batch is None else int(batch), "number": number, "stage": stage, "shard": shard}
    counts = dict.fromkeys((*PANE_KINDS, *DROP_REASONS), 0) | account.panes | account.dropped
    told = {name: value for name, value in asdict(account).items() if name not in ("panes", "dropped")}
    return json.dumps({**place, **told, **counts, "seconds": seconds})


_BATCH: Final = "streaming.sql.batchId"
"""Where Spark tells a task the number of the micro-batch."""


__all__ = ["EMISSION_SCHEMA", "ShardProcessor"]
