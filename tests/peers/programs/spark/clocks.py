"""Time in Structured Streaming: percentile watermarks, idle sources, timers, replay, and why there is no result yet."""

from __future__ import annotations

import json
import tempfile
import time

import pandas as pd
from feed import ARRIVALS, BASE, CLOCK, WINDOW, element, print_cells, refusal, watermark
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor
from queries import read_files, run, run_query, seconds, spark, start, write_files

MINUTE = f"{WINDOW} seconds"


def sums(frame, delay: int = 0):
    """Returns the sums by minute."""
    windowed = frame.withWatermark("at", f"{delay} seconds").groupBy(F.window("at", MINUTE))
    return windowed.agg(F.sum("points").alias("points"))


def percentile() -> object:
    """A watermark at a percentile."""
    reason = refusal(lambda: run(lambda frame: frame.withWatermark("at", "90%"), [], "append"))
    return reason.partition("]")[0]


def idle() -> object:
    """The first minute of two streams, one of which is silent after its first element, by Spark's policies."""
    by_policy = {}
    for policy in ("min", "max"):
        spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", policy)
        with tempfile.TemporaryDirectory() as folder:
            write_files(f"{folder}/a", [("all", 5, 10), *(("all", 7, at) for at in (70, 90, 110, 130))])
            write_files(f"{folder}/b", [("all", 1, 15)])
            a, b = (read_files(f"{folder}/{part}").withWatermark("at", "0 seconds") for part in ("a", "b"))
            minute = a.union(b).groupBy(F.window("at", MINUTE)).agg(F.sum("points").alias("points"))
            rows: list = []
            start(minute, folder, rows, "append", availableNow=True).awaitTermination()
            by_policy[policy] = [row.points for row in rows if seconds(row.window.start) == 0]
    return by_policy


class Timer(StatefulProcessor):
    """Adds up the values of a player, and emits the sum at a timer."""

    def __init__(self, after: int | None) -> None:
        self.after = after

    def init(self, handle) -> None:
        """Makes the state."""
        self.handle = handle
        self.sum = handle.getValueState("sum", "total long")

    def handleInputRows(self, key, rows, timerValues):
        """Adds values, and sets a timer."""
        total = self.sum.get()[0] if self.sum.exists() else 0
        if not total:
            now = timerValues.getCurrentProcessingTimeInMs()
            self.handle.registerTimer((BASE + 60) * 1000 if self.after is None else now + self.after)
        added = sum(int(points) for frame in rows for points in frame["points"])
        self.sum.update((total + added,))
        yield pd.DataFrame()

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        """Emits the sum."""
        name = "event" if self.after is None else "processing"
        yield pd.DataFrame({"player": [key[0]], "output": [f"{name} {self.sum.get()[0]}"]})

    def close(self) -> None:
        """Does nothing."""


def timers() -> object:
    """State and timers, in a query for each time domain; a query has one time mode."""
    steps = (element("all", 5, 10), element("all", 3, 20), watermark(60))

    def keyed(mode: str, after: int | None):
        return lambda frame: (
            frame.withWatermark("at", "0 seconds")
            .groupBy("player")
            .transformWithStateInPandas(Timer(after), "player string, output string", "update", mode)
        )

    rows = run(keyed("EventTime", None), steps, "update")
    fired = {"EventTime": [row.output for row in rows if row.player != CLOCK]}
    with tempfile.TemporaryDirectory() as folder:
        write_files(f"{folder}/in", [("all", 5, 10)])
        outputs: list = []
        frame = keyed("ProcessingTime", 1)(read_files(f"{folder}/in"))
        query = start(frame, folder, outputs, "update", processingTime="0 seconds")
        # Of processing time, only the end can be waited for.
        deadline = time.monotonic() + 60
        while not outputs and time.monotonic() < deadline:
            time.sleep(0.1)
        query.stop()
    fired["ProcessingTime"] = [row.output for row in outputs[:1]]
    both = refusal(lambda: run(keyed("EventTime, ProcessingTime", None), steps, "update"))
    return {**fired, "both": both != "accepted"}


def replay() -> object:
    """The sums of recorded rows that arrive one in each micro-batch."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(f"{folder}/in", [("all", value, at) for _, value, at in ARRIVALS])
        rows: list = []
        writer = (
            sums(read_files(f"{folder}/in"), 5).writeStream.outputMode("append").trigger(availableNow=True)
        )
        writer = writer.option("checkpointLocation", f"{folder}/checkpoint")
        writer.foreachBatch(lambda frame, number: rows.extend(frame.collect())).start().awaitTermination()
        return [row.points for row in rows]


def explanations() -> object:
    """What the progress of a query says of a window that has no result yet."""
    rows, progress = run_query(sums, (element("all", 5, 10), watermark(20)), "append")
    assert not rows
    text = json.dumps([dict(batch["eventTime"]) for batch in progress[-1:]])
    facts = {"waits for": "12:01:00", "watermark": "12:00:20", "held by": "held"}
    return [name for name, words in facts.items() if words in text]


if __name__ == "__main__":
    print_cells(percentile, idle, timers, replay, explanations)
