"""The end of the input at computations on Spark: the horizon, timers of processing time, and holds."""

from __future__ import annotations

from datetime import timedelta

from flowalg_laws.strategies.computations import FILLING, HEARTBEAT
from flowalg_reference import Reference, ReferenceBatch
from flowalg_spark import SparkBatch, SparkStreaming
from pyspark.sql import SparkSession

from flowalg import BoundedOutOfOrderness, Computation, FixedWindows, Mode, Sum, Timeline
from flowalg.computations import Transition
from tests.support.scores import POINTS, SCORES, Score, minute

MINUTE = timedelta(minutes=1)
RECORDS = [Score("a", 1, minute(0.5)), Score("a", 2, minute(3.2)), Score("b", 7, minute(6.5))]
DAY = Timeline.from_records(
    SCORES, RECORDS, processing_time=lambda score: score.at, watermark=BoundedOutOfOrderness(5 * MINUTE)
)
HOLDING_ON: Computation[str, int, int, int] = Computation(
    initial=0,
    on_element=lambda number, seen, clocks: Transition(number + 1, emit=[seen.value], hold=seen.event_time),
    result=int,
)
OUTPUTS = {
    "filled": POINTS.process(FILLING, in_order=True),
    "beats": POINTS.process(HEARTBEAT),
    "held": POINTS.process(HOLDING_ON)
    .window(FixedWindows(10 * MINUTE), allowed_lateness=timedelta(0))
    .combine_per_key(Sum()),
}


def test_a_stream_ends_as_the_reference_does(spark: SparkSession) -> None:
    """Silent minutes are filled up to the last element, timers of processing time fire, and holds end."""
    engine = SparkStreaming(spark, shards=2, generate_watermarks=True)
    run, reference = (
        interpreter.run(OUTPUTS, {SCORES: DAY}) for interpreter in (engine, Reference(Mode.MICRO_BATCH))
    )
    for name in OUTPUTS:
        assert run[name].elements == reference[name].elements
        assert run[name].panes == reference[name].panes
        assert run[name].elements or run[name].panes


def test_a_batch_ends_as_the_reference_does(spark: SparkSession) -> None:
    """A batch has the same horizon, also for the elements that a filter drops, and with dead letters."""
    reference = ReferenceBatch().run(OUTPUTS, {SCORES: DAY})
    for engine in (SparkBatch(spark), SparkBatch(spark, dead_letters=True)):
        run = engine.run(OUTPUTS, {SCORES: DAY})
        for name in OUTPUTS:
            assert run[name].elements == reference[name].elements
            assert run[name].panes == reference[name].panes
