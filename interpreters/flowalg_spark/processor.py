"""The stateful operator: a thin shell around the shard step, which loads and stores its state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from flowalg_shard import Clocks, ShardState, Stage, clock_report, pack, step, unpack
from flowalg_shard.stage import SHARD
from pyspark.sql import Row
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from flowalg.errors import UnsupportedError
from flowalg.time import MIN_TIME, EventTime, ProcessingTime
from flowalg.watermarks import ClockReport, SourceClock, WatermarkPolicy

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues, ValueState

FORMAT: Final = 2
"""The version of the state's layout; another one is refused, not guessed at."""

BUNDLE_SCHEMA: Final = T.StructType(
    [
        T.StructField(SHARD, T.IntegerType()),
        T.StructField("bundle", T.BinaryType()),
        T.StructField("latest_event", T.LongType()),
        T.StructField("latest_processing", T.LongType()),
        T.StructField("ended", T.BooleanType()),
    ]
)
"""What every input partition sends to every shard: its bundle, and its clock report."""

EMISSION_SCHEMA: Final = T.StructType(
    [
        T.StructField("panes", T.BinaryType()),
        T.StructField("drops", T.BinaryType()),
        T.StructField("processing_time", T.LongType()),
        T.StructField("watermark", T.LongType()),
    ]
)
"""What a shard emits in an instant."""

_STATE_SCHEMA: Final = T.StructType(
    [
        T.StructField("format", T.IntegerType()),
        T.StructField("shards", T.IntegerType()),
        T.StructField("watermark", T.LongType()),
        T.StructField("processing_time", T.LongType()),
        T.StructField("table", T.BinaryType()),
        T.StructField("standing", T.BinaryType()),
    ]
)


class ShardProcessor(StatefulProcessor):
    """One instant of one shard: all input partitions' bundles and reports in, one emission out.

    Every shard hears every partition, so all shards read the same clocks; Spark's own watermark and timers are
    not used. Deterministic, so a batch that is tried again gives the same.
    """

    def __init__(self, stage: Stage, policy: WatermarkPolicy, shards: int) -> None:
        self.stage = stage
        self.policy = policy
        self.shards = shards

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state variable; runs on the driver too."""
        self.state: ValueState = handle.getValueState("shard", _STATE_SCHEMA)

    def handleInputRows(  # type: ignore[override]  # the Row form of the two that Spark declares as one
        self,
        key: tuple[object, ...],
        rows: Iterator[Row],
        timerValues: TimerValues,
    ) -> Iterator[Row]:
        """Run the shard step over the batch's rows."""
        arrived = list(rows)
        state, clock = self._load()
        report = ClockReport()
        for row in arrived:
            report = report.merge(clock_report(row.latest_event, row.latest_processing, ended=row.ended))
        if report.latest_processing is not None:
            clock = max(clock, report.latest_processing)
        # The policies that run here need no memory but the watermark itself: it never moves back.
        before = SourceClock(state.watermark, clock)
        watermark = self.policy.advance(before, report, clock).watermark
        bundles = [unpack(bytes(row.bundle)) for row in arrived]
        after, emission = step(self.stage, state, bundles, Clocks(clock, watermark))
        tables = (pack(after.table), pack(after.standing))
        self.state.update((FORMAT, self.shards, after.watermark, clock, *tables))
        panes, drops = pack(emission.panes), pack(emission.drops)
        if panes or drops:
            yield Row(panes=panes, drops=drops, processing_time=clock, watermark=watermark)

    def _load(self) -> tuple[ShardState, ProcessingTime]:
        found = self.state.get()
        if found is None:
            return ShardState(), ProcessingTime(MIN_TIME)
        version, shards, watermark, clock, table, standing = found
        if version != FORMAT:
            raise UnsupportedError(
                f"the checkpoint's state has format {version}; this version reads {FORMAT}"
            )
        if shards != self.shards:
            raise UnsupportedError(
                f"the checkpoint was written with {shards} shards, and the query now has {self.shards}; "
                f"compile with shards={shards}"
            )
        state = ShardState(unpack(bytes(table)), EventTime(watermark), unpack(bytes(standing)))
        return state, ProcessingTime(clock)

    def close(self) -> None:
        """Nothing is held open."""


__all__ = ["BUNDLE_SCHEMA", "EMISSION_SCHEMA", "FORMAT", "ShardProcessor"]
