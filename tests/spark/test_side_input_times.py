"""The processing time of elements that read a side input in a stream: that at which they could read it."""

from __future__ import annotations

from datetime import timedelta

from flowalg_laws.conformance.drawing import element_line
from flowalg_reference import Reference
from flowalg_spark import SparkStreaming
from pyspark.sql import SparkSession

from flowalg import KV, Count, FixedWindows, Mode, PCollection, Source, Sum
from flowalg.computations import Computation, Transition
from flowalg.runs import Timeline
from tests.support.scores import NOON

MINUTE = timedelta(minutes=1)
NUMBERS = Source("numbers", int, event_time=lambda number: NOON + number * MINUTE)
PAIRS = NUMBERS.map(lambda number: KV(number % 2, number), result=KV[int, int])
WINDOWED = PAIRS.window(FixedWindows(2 * MINUTE), allowed_lateness=MINUTE)
COUNTS = WINDOWED.combine_per_key(Count()).as_map()
SAME: Computation[int, int, int, int] = Computation(
    initial=0, on_element=lambda seen, one, _: Transition(seen + 1, emit=[one.value]), name="same", result=int
)


def test_elements_have_the_processing_time_at_which_they_read_the_side(spark: SparkSession) -> None:
    """Elements of a source with dead letters and of a computation have it; panes keep that of their grouping."""
    outputs: dict[str, PCollection[object]] = {
        "of a source": WINDOWED.with_side(COUNTS),
        "of a computation": WINDOWED.process(SAME).with_side(COUNTS),
        "of a grouping": WINDOWED.combine_per_key(Sum()).with_side(COUNTS),
    }
    start = Timeline[int]().at(NOON + MINUTE, 0, watermark=NOON)
    timelines = {NUMBERS: start.at(NOON + 2 * MINUTE, 5, watermark=NOON + 3 * MINUTE).end(NOON + 9 * MINUTE)}
    expected = Reference(Mode.MICRO_BATCH, dead_letters=True).run(outputs, timelines)
    run = SparkStreaming(spark, shards=1, dead_letters=True).run(outputs, timelines)
    for name in outputs:
        assert sorted(map(element_line, run[name].elements)) == sorted(
            map(element_line, expected[name].elements)
        )
        assert sorted(map(repr, run[name].panes)) == sorted(map(repr, expected[name].panes))
