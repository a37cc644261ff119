"""The same work by hand: a processor of ``transformWithState``, Spark's own deduplication, and a loop in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl
from pyspark.sql import DataFrame, Row
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from docs.benchmarks.millwheel.pipelines import DAY, TEN, WITHIN
from docs.benchmarks.stream.data import DISORDER

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues, ValueState

_STATE: Final = T.StructType([T.StructField("number", T.LongType()), T.StructField("due", T.LongType())])
_OUT: Final = T.StructType(
    [
        T.StructField("key", T.LongType()),
        T.StructField("value", T.LongType()),
        T.StructField("event_time", T.TimestampType()),
    ]
)
_NO_TIMER: Final = -1


class Counter(StatefulProcessor):
    """Counts the readings of a sensor. Only the last timer that a batch would set is registered."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """The number of readings, and when the timer is due, in milliseconds."""
        self.handle = handle
        self.state: ValueState = handle.getValueState("state", _STATE)

    def handleInputRows(  # type: ignore[override]  # Spark declares its Row and pandas variants as one method
        self, key: tuple[int, ...], rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Counts the rows by event time, and emits at each tenth."""
        state = self.state.get()
        number, before = (0, _NO_TIMER) if state is None else state
        due = before
        for row in sorted(rows, key=lambda row: row.at):
            number += 1
            if number % TEN == 0:
                due = _NO_TIMER
                yield Row(key=key[0], value=number, event_time=row.at)
            else:
                due = int((row.at + DAY).timestamp() * 1000)
        if due != before:
            if before != _NO_TIMER:
                self.handle.deleteTimer(before)
            if due != _NO_TIMER:
                self.handle.registerTimer(due)
        self.state.update((number, due))

    def handleExpiredTimer(
        self, key: tuple[int, ...], timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Forgets the sensor."""
        state = self.state.get()
        self.state.clear()
        if state is not None:
            yield Row(key=key[0], value=-state[0], event_time=None)

    def close(self) -> None:
        """Does nothing."""


def with_processor(readings: DataFrame) -> DataFrame:
    """The counter on Spark, called for each key, over rows."""
    watermarked = readings.withWatermark("at", "30 seconds").groupBy("sensor")
    return watermarked.transformWithState(Counter(), _OUT, "append", "EventTime")


def drop_duplicates(readings: DataFrame) -> DataFrame:
    """Spark's own deduplication, which keeps an id for as long."""
    seconds = int(WITHIN.total_seconds())
    return readings.withWatermark("at", f"{seconds} seconds").dropDuplicatesWithinWatermark(["sensor"])


OUTPUT: Final = {"key": pl.Int64(), "value": pl.Int64(), "event_time": pl.Int64()}
"""The columns that are compared."""
_DAY: Final = int(DAY.total_seconds()) * 1_000_000


def count_in_a_loop(files: Iterable[Path]) -> Iterator[pl.DataFrame]:
    """The counter in plain Python, batch by batch: dictionaries by sensor, and a heap of timers."""
    numbers: dict[int, int] = {}
    due: dict[int, int] = {}
    timers: list[tuple[int, int]] = []
    watermark = -1
    for path in files:
        frame = pl.read_parquet(path, columns=["sensor", "at"]).with_columns(pl.col("at").to_physical())
        outputs: list[tuple[int, int, int]] = []
        for sensor, at in frame.sort("at").iter_rows():
            number = numbers[sensor] = numbers.get(sensor, 0) + 1
            if number % TEN == 0:
                due.pop(sensor, None)
                outputs.append((sensor, number, at))
            else:
                due[sensor] = at + _DAY
                heappush(timers, (at + _DAY, sensor))
        latest = frame["at"].max()
        assert isinstance(latest, int), "a batch has rows"
        watermark = max(watermark, latest - DISORDER)
        while timers and timers[0][0] <= watermark:
            point, sensor = heappop(timers)
            # A timer that was set again or cleared is ignored.
            if due.get(sensor) == point:
                del due[sensor]
                outputs.append((sensor, -numbers.pop(sensor), point))
        yield pl.DataFrame(outputs, schema=OUTPUT, orient="row")
