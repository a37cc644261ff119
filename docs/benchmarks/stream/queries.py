"""The timed pipelines, and the same query in Spark's own operators and by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from attrs import frozen
from flowalg_spark import StreamInput, streaming
from flowalg_spark.streaming.options import STATE_CACHE_BYTES
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from docs.benchmarks.stream.data import DISORDER, Reading
from docs.benchmarks.stream.pipelines import (
    CORRECTED,
    EARLY_AT_COUNT,
    EARLY_AT_SUMMARY,
    EARLY_AT_VALUE,
    FILTERED,
    JOINED,
    ON_TIME,
    OTHERS,
    READINGS,
    SESSIONS,
    TWO_STAGES,
)
from flowalg import BoundedOutOfOrderness, PCollection, Source

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, MapState, TimerValues

Rival = Callable[[DataFrame], DataFrame]
"""A function from the readings of a stream to the output of a query."""


def compile_rival(
    pipeline: PCollection[object],
    *sources: Source[Reading],
    delay: timedelta = timedelta(microseconds=DISORDER),
    shards: int | None = None,
    state_cache_bytes: int = STATE_CACHE_BYTES,
    metrics: bool = False,
) -> Rival:
    """Returns a pipeline compiled by flowalg; all its sources have the same readings."""
    policy = BoundedOutOfOrderness(delay)

    def frame(readings: DataFrame) -> DataFrame:
        inputs = {source: StreamInput(readings, policy) for source in sources or (READINGS,)}
        return streaming.compile(
            pipeline, inputs, shards=shards, state_cache_bytes=state_cache_bytes, metrics=metrics
        )

    return frame


def spark_aggregation(readings: DataFrame) -> DataFrame:
    """Spark's own stateful aggregation, in append mode."""
    return (
        readings.withWatermark("at", "30 seconds")
        .groupBy("sensor", F.window("at", "60 seconds"))
        .agg(F.sum("value").alias("total"))
        .select(F.col("sensor").alias("key"), F.col("total").alias("value"), "window")
    )


def plain_select(readings: DataFrame) -> DataFrame:
    """A filter and a projection."""
    kept = readings.filter(F.col("value") % 2 == 0)
    return kept.select(
        F.col("sensor").alias("key"),
        (F.col("value") * 2).alias("value"),
        F.col("at").alias("event_time"),
        F.current_timestamp().alias("processing_time"),
    )


def stream_stream_join(readings: DataFrame) -> DataFrame:
    """Spark's own join of two streams, whose state is never removed, as in the global window."""
    left = readings.select("sensor", "at", F.col("value").alias("left"))
    right = readings.select("sensor", "at", F.col("value").alias("right"))
    return left.join(right, ["sensor", "at"]).select(
        F.struct(F.col("sensor").alias("_1"), F.col("at").alias("_2")).alias("key"),
        F.struct(F.col("left").alias("_1"), F.col("right").alias("_2")).alias("value"),
    )


_OUT: Final = T.StructType(
    [
        T.StructField("key", T.LongType()),
        T.StructField("value", T.LongType()),
        T.StructField("start", T.LongType()),
    ]
)
_WINDOW: Final = T.StructType([T.StructField("start", T.LongType())])
_TOTAL: Final = T.StructType([T.StructField("total", T.LongType())])


class Sums(StatefulProcessor):
    """The sum of each window of a key, emitted when Spark's watermark passes its end."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """The sums of a key by the start of their window, in seconds."""
        self.handle = handle
        self.totals: MapState = handle.getMapState("totals", _WINDOW, _TOTAL)

    def handleInputRows(  # type: ignore[override]  # Spark declares its Row and pandas variants as one method
        self, key: tuple[int, ...], rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Adds the new rows."""
        sums = Counter[int]()
        for row in rows:
            sums[int(row.at.timestamp()) // 60 * 60] += row.value
        for start, total in sums.items():
            stored = self.totals.getValue((start,))
            if stored is None:
                self.handle.registerTimer((start + 60) * 1000)
            self.totals.updateValue((start,), (total + (0 if stored is None else stored[0]),))
        return iter(())

    def handleExpiredTimer(
        self, key: tuple[int, ...], timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Emits the sum of the window that ends now."""
        start = expiredTimerInfo.getExpiryTimeInMs() // 1000 - 60
        stored = self.totals.getValue((start,))
        self.totals.removeKey((start,))
        if stored is not None:
            yield Row(key=key[0], value=stored[0], start=start)

    def close(self) -> None:
        """Does nothing."""


def by_hand(readings: DataFrame) -> DataFrame:
    """A processor written by hand, called for each key, over rows."""
    sums = (
        readings.withWatermark("at", "30 seconds")
        .groupBy("sensor")
        .transformWithState(Sums(), _OUT, "append", "EventTime")
    )
    start = F.timestamp_seconds("start")
    window = F.struct(start.alias("start"), (start + F.expr("interval 1 minute")).alias("end"))
    return sums.select("key", "value", window.alias("window"))


@frozen
class Case:
    """The readings per micro-batch, and the rivals that process them.

    All rivals of a ``complete`` case emit the same rows in the same run; others emit what flowalg emits, perhaps later.
    """

    name: str
    rows: int
    rivals: dict[str, Rival]
    complete: bool = False


SIZES: Final = (0, 1_000, 100_000, 1_000_000, 4_000_000)
"""A batch without rows has only the fixed costs."""

LARGEST_BY_HAND: Final = 100_000
"""The largest batch for the processor by hand, which takes more than ten seconds for a million rows."""

OF_SIZE: Final = 100_000

CASES: Final = (
    *(
        Case(
            f"fixed windows, on time, {rows:,} rows",
            rows,
            {"flowalg": compile_rival(ON_TIME), "native": spark_aggregation}
            | ({"tws": by_hand} if rows <= LARGEST_BY_HAND else {}),
        )
        for rows in SIZES
    ),
    Case(
        f"a filter and a map, without a grouping, {SIZES[-1]:,} rows",
        SIZES[-1],
        {"flowalg": compile_rival(FILTERED), "native": plain_select},
    ),
    Case(
        f"early by the value of an aggregate, {OF_SIZE:,} rows",
        OF_SIZE,
        {"flowalg": compile_rival(EARLY_AT_VALUE), "built in": compile_rival(EARLY_AT_COUNT)},
    ),
    Case(
        f"early by a custom trigger, {OF_SIZE:,} rows",
        OF_SIZE,
        {"flowalg": compile_rival(EARLY_AT_SUMMARY), "built in": compile_rival(EARLY_AT_COUNT)},
    ),
    Case(
        f"a join in the global window, {OF_SIZE:,} rows",
        OF_SIZE,
        {"flowalg": compile_rival(JOINED, READINGS, OTHERS), "native": stream_stream_join},
    ),
    *(
        Case(
            f"the same, early, late and retracting, {rows:,} rows",
            rows,
            {"flowalg": compile_rival(CORRECTED), "on time": compile_rival(ON_TIME)},
        )
        for rows in (OF_SIZE, 1_000_000)
    ),
    Case(
        f"sessions, early, late and retracting, {OF_SIZE:,} rows",
        OF_SIZE,
        {"flowalg": compile_rival(SESSIONS), "on time": compile_rival(ON_TIME)},
    ),
    Case(
        f"two stages, on time, {OF_SIZE:,} rows",
        OF_SIZE,
        {"flowalg": compile_rival(TWO_STAGES), "on time": compile_rival(ON_TIME)},
    ),
)
