"""Programs with Quix Streams: one value for batch and stream, types, laws, restart, SQL, processes, the package."""

from __future__ import annotations

import ast
import csv
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

import feed
import quixstreams
from apps import PATIENCE, START, application, filled, first, run, topic_of, windows
from confluent_kafka import TopicPartition
from feed import (
    BUNDLES,
    MANY,
    STREAM,
    UNORDERED,
    WINDOW,
    at_least,
    print_cells,
    refused,
    release,
    reported_mistakes,
)
from quixstreams import Application
from quixstreams.dataframe import StreamingDataFrame
from quixstreams.sources import CSVSource

SECONDS = 5
"""The seconds after which a topic has no further message."""
ROWS = [("ann", {"points": value}, at) for _, value, at in UNORDERED]


def totals(frame):
    """Returns the sums by minute, for elements that are a minute late at most."""
    return windows(frame.apply(lambda row: int(row["points"])), WINDOW).sum().final()


def with_starts(results: list) -> list:
    """Returns the starts and the sums of the minutes."""
    return sorted([(result["start"] - START) // 1000, result["value"]] for result in results)


def key_of(row: dict) -> str:
    """Returns the key of all rows; a source calls it in a process of its own, to which functions of a name are sent."""
    return "ann"


def timestamp_of(row: dict) -> int:
    """Returns the time of a row."""
    return START + int(row["at"]) * 1000


def one_value() -> object:
    """The sums by minute of one function, of a file and of a topic."""
    found: list = []
    with tempfile.TemporaryDirectory() as folder:
        with Path(folder, "rows.csv").open("w") as file:
            csv.writer(file).writerows([("points", "at"), *((value, at) for _, value, at in UNORDERED)])
        source = CSVSource(
            f"{folder}/rows.csv",
            f"rows-{os.getpid()}",
            key_extractor=key_of,
            timestamp_extractor=timestamp_of,
        )
        app = application(folder, len(ROWS))
        totals(app.dataframe(topic_of(app), source)).update(found.append)
        app.run(timeout=PATIENCE)
    return {"batch": with_starts(found), "stream": with_starts(run(totals, ROWS))}


def types() -> object:
    """The mistakes that mypy reports, and those that are found when the data frame is built."""
    with tempfile.TemporaryDirectory() as folder:
        app = application(folder, 0)
        frame = app.dataframe(topic_of(app))
        built = refused(
            misspelt_field=lambda: frame.group_by("playr"),
            sum_of_text=lambda: windows(frame.apply(lambda score: score["player"])).sum().final(),
        )
    mistakes = reported_mistakes("""
from quixstreams import Application

app = Application("localhost:9092")
scores = app.dataframe(app.topic("scores"))
keyed = scores.group_by("playr")  # mistake: misspelt field
names = scores.apply(lambda score: str(score["player"]))
total = names.tumbling_window(1000).sum()  # mistake: sum of text
""")
    return {"mypy": mistakes, "when built": built}


def laws() -> object:
    """What a reduction gives whose result depends on the order."""
    values = [value for bundle in BUNDLES for value in bundle]

    def averages(frame):
        middle = lambda a, b: (a + b) / 2  # noqa: E731
        return windows(frame).reduce(middle, lambda value: value, middle).final()

    end = ("all", 0.0, WINDOW)
    orders = (values, values[::-1])
    return [first(run(averages, [*(("all", value, 0) for value in order), end]))[0] for order in orders]


def query(folder: str) -> None:
    """Runs the query that is killed, which reads a topic and writes one."""
    name = Path(folder).name
    app = application(
        folder,
        0,
        consumer_group=name,
        on_message_processed=lambda topic, partition, offset: offset == len(STREAM) - 1 and app.stop(),
        processing_guarantee="exactly-once",
        commit_every=1,
        # Without these, it would wait for the member and the transaction of the killed one.
        consumer_extra_config={"session.timeout.ms": 6000},
        producer_extra_config={"transactional.id": name},
    )
    again = Path(folder, "died").exists()
    given, sums = topic_of(app, f"in-{name}"), topic_of(app, f"out-{name}")
    filled(app, given, [] if again else [("all", value, 0) for value in STREAM])

    def add(value, state):
        state.set("total", state.get("total", 0) + feed.die_once(value, folder))
        return state.get("total")

    app.dataframe(given).apply(add, stateful=True).to_topic(sums)
    app.run(timeout=PATIENCE)
    with app.get_consumer() as consumer:
        # It reads what is committed, from the start.
        consumer.assign([TopicPartition(sums.name, 0, 0)])
        found = []
        while (message := consumer.poll(SECONDS)) is not None:
            found.append(message.value().decode())
    Path(folder, "output").write_text("\n".join(found))


def restart() -> object:
    """What is written, with a kill in between."""
    return feed.restart(__file__)


def sql() -> object:
    """The names with which text of SQL could be given."""
    return [name for kind in (Application, StreamingDataFrame) for name in dir(kind) if "sql" in name.lower()]


def connectors() -> object:
    """The number of classes of sources, without their base classes."""
    names = set()
    for path in Path(quixstreams.__file__).parent.glob("sources/*/**/*.py"):
        if path.stem != "base" and path.parent.name != "base":
            tree = ast.parse(path.read_text())
            names |= {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    return at_least(MANY, len({name for name in names if name.endswith("Source")}))


def processes() -> object:
    """The number of processes in which a function is called, for a hundred keys."""
    rows = [(f"key {number}", number, 0) for number in range(100)]
    return at_least(2, len(set(run(lambda frame: frame.apply(lambda value: os.getpid()), rows))))


def status() -> object:
    """The version."""
    return release(version("quixstreams"))


if __name__ == "__main__":
    print_cells(one_value, types, laws, restart, sql, connectors, processes, status, query=query)
