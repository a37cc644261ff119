"""Kills of a query from Kafka to Kafka: its topics must be those of a query that is never killed.

``python -m tests.faults.kafka.kills SERVERS TOPIC FOLDER NAME`` is the query: it reads a topic to its end, and
writes the topics ``NAME`` and ``NAME-log``.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from signal import SIGKILL
from typing import Final

import flowalg_sinks
from attrs import frozen
from flowalg_kafka import Kafka, KafkaInput
from flowalg_polars import streaming
from flowalg_polars.streaming import StreamInput
from flowalg_sinks.drops import drop_table
from flowalg_sinks.pane_sink import PaneSink
from flowalg_sinks.tables import Row

from flowalg import BoundedOutOfOrderness
from tests.components.broker import Broker
from tests.faults.kafka.traffic import SCORES, SECOND, Topics, totals, traffic

MESSAGES: Final = 20_000
PER_BATCH: Final = 400


@frozen
class Trial:
    """A run of the query: its topic, the folder of its checkpoint, and the name of its tables."""

    servers: str
    topic: str
    folder: Path
    name: str

    @property
    def sinks(self) -> tuple[PaneSink, ...]:
        """The current values and all panes."""
        target, pipeline = Kafka(self.servers), totals()
        return (
            flowalg_sinks.upsert(pipeline, target, table=self.name),
            flowalg_sinks.changelog(pipeline, target, table=f"{self.name}-log"),
        )

    def run(self) -> None:
        """Runs the query to the end of its input. The clock is that of the messages, so that runs are equal."""
        topic = KafkaInput(self.servers, self.topic, per_batch=PER_BATCH)
        stream = StreamInput(topic, BoundedOutOfOrderness(5 * SECOND), processing_time="kafka_timestamp")
        checkpoint = self.folder / "checkpoint"
        streaming.run(
            totals(), {SCORES: stream}, sink=self.sinks, checkpoint=checkpoint, drain=True, dead_letters=True
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the query in a process of its own."""
        module = "tests.faults.kafka.kills"
        arguments = (self.servers, self.topic, str(self.folder), self.name)
        return subprocess.Popen([sys.executable, "-m", module, *arguments], stderr=subprocess.PIPE)

    def begun(self) -> int:
        """Returns when the query has begun its last micro-batch; 0 before the first."""
        intent = self.folder / "checkpoint" / "intent"
        return intent.stat().st_mtime_ns if intent.exists() else 0

    def content(self) -> dict[str, list[Row]]:
        """Returns the rows of all tables."""
        target = Kafka(self.servers)
        tables = [table for sink in self.sinks for table in (sink.table, drop_table(sink.name))]
        return {table.name.removeprefix(self.name): target.rows(table) for table in tables}


def killed(broker: Broker, folder: Path, *, kills: int, seed: int) -> tuple[int, list[str]]:
    """Kills a query soon after it has begun a micro-batch, ``kills`` times unless it ends before.

    Returns the number of kills, and the differences from a query that was not killed.
    """
    chance = random.Random(seed)
    topic = f"readings-{seed}"
    topics = Topics(broker.servers)
    topics.create(topic, 3)
    topics.send(topic, list(traffic(chance, MESSAGES, 3)))
    calm = Trial(broker.servers, topic, folder / "calm", f"calm-{seed}")
    calm.run()
    trial = Trial(broker.servers, topic, folder / "killed", f"killed-{seed}")
    done = 0
    while True:
        begun = trial.begun()
        process = trial.start()
        while process.poll() is None and (done == kills or trial.begun() == begun):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.3))
        if process.poll() is None:
            process.kill()
            done += 1
        _, errors = process.communicate()
        if process.returncode == -SIGKILL:
            continue
        if process.returncode != 0:
            return done, [f"the query failed after {done} kills: {errors.decode(errors='replace')[-2000:]}"]
        break
    expected, found = calm.content(), trial.content()
    return done, [
        f"the topic {name or 'of current values'} has {len(found[name])} rows that differ from the {len(rows)} expected"
        for name, rows in expected.items()
        if found[name] != rows or not expected["-log"]
    ]


if __name__ == "__main__":
    servers, topic_name, where, prefix = sys.argv[1:]
    Trial(servers, topic_name, Path(where), prefix).run()
