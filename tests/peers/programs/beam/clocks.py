"""Time in Beam's DirectRunner: percentile watermarks, idle sources, timers, replay, and why there is no pane yet."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import apache_beam as beam
from apache_beam.coders import VarIntCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineResult
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import trigger
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.transforms.window import FixedWindows, TimestampedValue
from apache_beam.utils.timestamp import Timestamp
from feed import ARRIVALS, BASE, LATENESS, WINDOW, print_cells, refusal


def collect(build: Callable) -> list:
    """Returns the elements of the collection that ``build`` makes of a pipeline, in order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log")
        path.touch()

        def write(element) -> None:
            with path.open("a") as file:
                file.write(json.dumps(element) + "\n")

        with beam.Pipeline("DirectRunner", options=PipelineOptions(["--streaming"])) as pipeline:
            _ = build(pipeline) | beam.Map(write)
        return [json.loads(line) for line in path.read_text().splitlines()]


def sums():
    """Returns the sums by minute, with late panes."""
    return beam.WindowInto(
        FixedWindows(WINDOW),
        trigger=trigger.AfterWatermark(late=trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
        allowed_lateness=LATENESS,
    ) | beam.CombinePerKey(sum)


def percentile() -> object:
    """A trigger at a percentile."""
    return refusal(lambda: trigger.AfterWatermark(percentile=0.9))


def idle() -> object:
    """The order of panes and of the silent source's end: the first minute waits for it."""

    def build(pipeline):
        parts = pipeline | TestStream(output_tags=["a", "b"]).add_elements(
            [TimestampedValue(("all", 5), BASE + 10)], tag="a"
        ).add_elements([TimestampedValue(("all", 1), BASE + 15)], tag="b").advance_watermark_to(
            BASE + 16, tag="b"
        ).advance_watermark_to(BASE + 130, tag="a").advance_processing_time(3600).add_elements(
            [TimestampedValue(("last", 0), BASE + 20)], tag="b"
        ).advance_watermark_to_infinity(tag="a").advance_watermark_to_infinity(tag="b")
        both = (parts["a"], parts["b"]) | beam.Flatten()
        # The marker is an element of the silent source, an hour later: a pane before it did not wait.
        marker = both | beam.Filter(lambda pair: pair[0] == "last")
        totals = both | beam.Filter(lambda pair: pair[0] == "all") | sums()
        return (marker, totals) | "together" >> beam.Flatten()

    return ["an hour passes" if key == "last" else value for key, value in collect(build)]


class Timers(beam.DoFn):
    """Adds up the values, and emits the sum at a timer of each domain."""

    SUM = ReadModifyWriteStateSpec("sum", VarIntCoder())
    EVENT = TimerSpec("event", TimeDomain.WATERMARK)
    PROCESSING = TimerSpec("processing", TimeDomain.REAL_TIME)

    def process(
        self,
        element,
        total=beam.DoFn.StateParam(SUM),
        event=beam.DoFn.TimerParam(EVENT),
        processing=beam.DoFn.TimerParam(PROCESSING),
    ):
        """Sets the timers; the one of processing time for the first element only."""
        if not total.read():
            processing.set(Timestamp(1))
        event.set(Timestamp(BASE + 60))
        total.write((total.read() or 0) + element[1])

    @on_timer(EVENT)
    def at_event_time(self, total=beam.DoFn.StateParam(SUM)):
        """Emits the sum."""
        yield f"event {total.read()}"

    @on_timer(PROCESSING)
    def at_processing_time(self, total=beam.DoFn.StateParam(SUM)):
        """Emits the sum."""
        yield f"processing {total.read()}"


def timers() -> object:
    """State and a timer in each domain."""
    stream = (
        TestStream()
        .advance_watermark_to(BASE)
        .add_elements([TimestampedValue(("all", 5), BASE + 10)])
        .advance_processing_time(2)
        .add_elements([TimestampedValue(("all", 3), BASE + 20)])
        .advance_watermark_to(BASE + 61)
        .advance_watermark_to_infinity()
    )
    return collect(lambda pipeline: pipeline | stream | beam.ParDo(Timers()))


def replay() -> object:
    """The panes of recorded rows, by a ``TestStream`` whose watermarks are computed by hand."""
    stream, clock, greatest = TestStream(), 0, 0
    for seen, value, at in ARRIVALS:
        stream = stream.advance_processing_time(seen - clock)
        stream = stream.add_elements([TimestampedValue(("all", value), BASE + at)])
        if at > greatest:
            stream = stream.advance_watermark_to(BASE + at - 5)
        clock, greatest = seen, max(greatest, at)
    panes = collect(lambda pipeline: pipeline | stream.advance_watermark_to_infinity() | sums())
    return [value for _, value in panes]


def explanations() -> object:
    """The names of a running pipeline's result that tell of its watermark or its triggers."""
    words = ("watermark", "why", "explain", "trigger", "pending")
    return [name for name in dir(PipelineResult) if any(word in name.lower() for word in words)]


if __name__ == "__main__":
    print_cells(percentile, idle, timers, replay, explanations)
