"""Functions that cannot be sent to the workers of Spark are named, with the variable that is at fault.

These tests catch an error of pickle alone, which says neither which function nor which variable it is.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from flowalg_spark import SparkBatch, batch, streaming
from pyspark.sql import SparkSession

from flowalg import FOREVER, KV, Computation, FixedWindows, PCollection, Sum, combiner
from flowalg.computations import Clocks, Observed, Transition
from flowalg.data.errors import ArgumentError
from flowalg.errors import CheckpointError, ElementError, NotWritableError
from flowalg.watermarks import WatermarkPolicy
from flowalg.watermarks.clock import SourceClock
from tests.spark.test_errors import POLICY, TYPES, scores
from tests.support.elements import bounded
from tests.support.scores import NOON, POINTS, SCORES, Score


def guarded(lock: threading.Lock) -> Callable[[Score], int]:
    """Returns a function that refers to a lock."""

    def points(score: Score) -> int:
        with lock:
            return score.points

    return points


def looked_up(connection: sqlite3.Connection, score: Score) -> int:
    """Returns what a database has."""
    return int(connection.execute("select 1").fetchone()[0]) + score.points


class Service:
    """An object with a lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def points(self, score: Score) -> int:
        """Returns the points."""
        with self.lock:
            return score.points


def counting(lock: threading.Lock) -> Computation[str, int, int, int]:
    """Returns a computation that refers to a lock."""

    def count(seen: int, element: Observed[str, int], clocks: Clocks) -> Transition[int, int]:
        with lock:
            return Transition(seen + 1, emit=[seen])

    return Computation(initial=0, on_element=count)


LOCK = threading.Lock()
add = guarded(LOCK)


@pytest.mark.parametrize(
    ("pipeline", "label", "variable"),
    [
        (SCORES.map(guarded(LOCK)).map(lambda n: KV("a", n)).combine_per_key(Sum()), "map", "lock"),
        (
            SCORES.flat_map(lambda s: [add(s)], result=int).map(lambda n: KV(1, n)).combine_per_key(Sum()),
            "flat_map",
            "lock",
        ),
        (SCORES.key_by(lambda s: s.team).combine_per_key(Sum.of(guarded(LOCK))), "Sum", "lock"),
        (
            SCORES.map(partial(looked_up, sqlite3.connect(":memory:")), result=int)
            .map(lambda n: KV(1, n))
            .combine_per_key(Sum()),
            "map",
            r"args\[0\]",
        ),
        (SCORES.map(Service().points).map(lambda n: KV("a", n)).combine_per_key(Sum()), "map", r"self\.lock"),
        (
            POINTS.combine_per_key(
                combiner(zero=0, add=lambda a, n: a + n + LOCK.locked(), merge=lambda a, b: a + b, result=int)
            ),
            "combine_per_key",
            "LOCK",
        ),
        (POINTS.process(counting(LOCK)), "process", "lock"),
    ],
    ids=["map", "flat_map", "sum", "connection", "method", "combiner", "computation"],
)
def test_a_function_that_cannot_be_sent_is_named_with_its_variable(
    spark: SparkSession, tmp_path: Path, pipeline: PCollection[object], label: str, variable: str
) -> None:
    """A function over a lock or a connection is an error when it is compiled, with its transform and the variable."""
    message = rf"{label}.* cannot be sent to the workers of Spark, because of its variable '{variable}', which is a "
    with pytest.raises(NotWritableError, match=message):
        batch.compile(pipeline, {SCORES: scores(spark)})
    stream = spark.readStream.schema(TYPES).parquet(str(tmp_path))
    with pytest.raises(NotWritableError, match=message):
        streaming.compile(pipeline, {SCORES: streaming.StreamInput(stream, POLICY)})


def test_a_policy_that_cannot_be_sent_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """The error for a watermark policy that cannot be pickled says that it may be one, and the reason."""
    lock = threading.Lock()

    class Guarded(WatermarkPolicy):
        """A policy of a local class over a lock."""

        def candidate(self, clock: SourceClock) -> int | None:
            """Returns nothing."""
            with lock:
                return None

    stream = spark.readStream.schema(TYPES).parquet(str(tmp_path))
    windowed = POINTS.window(FixedWindows(timedelta(minutes=1)), allowed_lateness=FOREVER)
    with pytest.raises(NotWritableError, match=r"such as a watermark policy, cannot be sent .*_thread.lock"):
        streaming.compile(windowed.combine_per_key(Sum()), {SCORES: streaming.StreamInput(stream, Guarded())})


def test_an_accumulator_that_cannot_be_pickled_names_its_step(spark: SparkSession) -> None:
    """An accumulator with a lock is an error of its grouping, as on the local engine."""

    def add(held: tuple[object, ...], points: int) -> tuple[object, ...]:
        return (threading.Lock(),)

    def merge(held: tuple[object, ...], other: tuple[object, ...]) -> tuple[object, ...]:
        return held or other

    held = combiner(zero=tuple[object, ...](), add=add, merge=merge, extract=len, name="held", result=int)
    with pytest.raises(
        ElementError,
        match=r"combine_per_key\(.*held.*: an accumulator cannot be sent to another task: .*lock",
    ):
        SparkBatch(spark).run(POINTS.combine_per_key(held), {SCORES: bounded(Score("a", 3, NOON))})


def refuse(score: Score) -> int:
    """Raises an error of flowalg."""
    raise ArgumentError("size", score.points, "positive") if score.points else CheckpointError("none")


def test_an_error_of_flowalg_in_a_worker_keeps_its_class(spark: SparkSession) -> None:
    """An error of any class that a function raises fails the query as an error of that class, with its message."""
    with pytest.raises(ArgumentError, match=r"size must be positive; got 3 \(int\)"):
        SparkBatch(spark).run(SCORES.map(refuse), {SCORES: bounded(Score("a", 3, NOON))})
