"""Programs with flowalg: one value for batch and stream, types, laws, SQL, processes, and the package itself."""

from __future__ import annotations

import importlib.util
import os
from importlib.metadata import version

import flowalg_sinks
import flowalg_spark.sinks
from feed import BUNDLES, UNORDERED, WINDOW, at_least, print_cells, refusal, release, reported_mistakes
from flowalg_laws import check_combiner
from flowalg_polars import PolarsBatch, PolarsStreaming
from hypothesis import strategies as st
from scores import SECOND, START, Score, points, scores

import flowalg
from flowalg import FixedWindows, Sum, Timeline, combiner

totals = points.window(FixedWindows(WINDOW * SECOND), allowed_lateness=WINDOW * SECOND).combine_per_key(Sum())


def one_value() -> object:
    """The final values of one pipeline as a batch and as a stream."""
    records = [Score(key, value, START + at * SECOND) for key, value, at in UNORDERED if key]
    stream = Timeline[Score]()
    for number, score in enumerate(records):
        stream = stream.at(START + number * SECOND, score)
    runs = {
        "batch": PolarsBatch().run(totals, {scores: Timeline.batch(records, time=START)}),
        "stream": PolarsStreaming().run(totals, {scores: stream.end(START + WINDOW * SECOND)}),
    }
    return {
        name: sorted(
            [round((pane.window.start.datetime - START) / SECOND), pane.value] for pane in run.final_values()
        )
        for name, run in runs.items()
    }


def types() -> object:
    """The mistakes that mypy reports."""
    mistakes = reported_mistakes("""
from datetime import datetime
from attrs import frozen
from flowalg import Source, Sum

@frozen
class Score:
    player: str
    points: int
    at: datetime

scores = Source("scores", Score, event_time=lambda score: score.at)
keyed = scores.key_by(lambda score: score.playr)  # mistake: misspelt field
names = scores.key_by(lambda score: score.player).map_values(lambda score: score.player)
total = names.combine_per_key(Sum())  # mistake: sum of text
""")
    return {"mypy": mistakes}


def laws() -> object:
    """The law that an average of averages breaks."""

    def middle(left: float | None, right: float | None) -> float | None:
        if left is None or right is None:
            return right if left is None else left
        return (left + right) / 2

    averages = combiner(zero=None, add=middle, merge=middle, name="averages")
    reason = refusal(lambda: check_combiner(averages, st.sampled_from([v for b in BUNDLES for v in b])))
    return "a law is broken" if "merge" in reason else reason


def sql() -> object:
    """The names with which text of SQL could be given."""
    return [name for name in dir(flowalg) if "sql" in name.lower()]


def connectors() -> object:
    """The systems that the packages can read or write without Spark's own."""
    systems = {name: hasattr(flowalg_sinks, name) for name in ("SQLite", "PostgreSQL")}
    systems |= {name: importlib.util.find_spec(f"flowalg_{name.lower()}") is not None for name in ("Kafka",)}
    systems |= {name: name in flowalg_spark.sinks.__all__ for name in ("Delta", "Iceberg")}
    return [name for name, there in systems.items() if there]


def processes() -> object:
    """The number of processes in which the local engine calls a function."""
    records = [Score(f"player {number}", number, START) for number in range(100)]
    called = scores.map(lambda score: os.getpid(), result=int)
    run = PolarsBatch().run(called, {scores: Timeline.batch(records, time=START)})
    return at_least(2, len({output.element for output in run.elements}))


def status() -> object:
    """The version."""
    return release(version("flowalg"))


if __name__ == "__main__":
    print_cells(one_value, types, laws, sql, connectors, processes, status)
