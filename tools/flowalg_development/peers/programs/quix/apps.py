"""Applications of Quix Streams over the steps of a feed, with the broker that ``make peers`` starts."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from uuid import uuid4

from feed import BASE, WINDOW, Step
from quixstreams import Application
from quixstreams.models import Topic, TopicConfig

MINUTE = WINDOW * 1000
START = BASE * 1000
PATIENCE = 60
"""The seconds without a message after which an application ends in any case."""


def application(folder: str, count: int, **settings) -> Application:
    """Returns an application with its state in a folder, which stops after a number of messages."""
    processed = itertools.count(1)

    def stop(topic: str, partition: int, offset: int) -> None:
        if next(processed) == count:
            app.stop()

    app = Application(
        broker_address=os.environ["PEERS_KAFKA"],
        auto_offset_reset="earliest",
        state_dir=f"{folder}/state",
        loglevel=None,
        **{"consumer_group": f"group-{uuid4()}", "on_message_processed": stop, **settings},
    )
    return app


def topic_of(app: Application, name: str | None = None) -> Topic:
    """Returns a topic with one partition, which is new if there is none of this name."""
    # Without this, Kafka would delete messages of years ago after a week, that is at once.
    config = TopicConfig(1, 1, extra_config={"retention.ms": "-1"})
    return app.topic(name or f"topic-{uuid4()}", config=config)


def filled(app: Application, topic: Topic, rows: Iterable[tuple[str, object, int]]) -> Topic:
    """Returns a topic with further messages: each with a key, a value, and a second as its timestamp."""
    with app.get_producer() as producer:
        for key, value, at in rows:
            message = topic.serialize(key=key, value=value, timestamp_ms=START + at * 1000)
            producer.produce(topic.name, message.value, message.key, timestamp=message.timestamp)
    return topic


def keyed(steps: Iterable[Step]) -> list[tuple[str, int, int]]:
    """Returns the elements; a watermark is an element of 0 of every key, since a key has a watermark of its own."""
    steps = list(steps)
    keys = sorted({step.key for step in steps if step.key})
    return [(key, step.value, step.at) for step in steps for key in ([step.key] if step.key else keys)]


def run(build: Callable, *inputs: Sequence[tuple[str, object, int]]) -> list:
    """Returns the values of the data frame that ``build`` makes of those of the topics, in order."""
    found: list = []
    with tempfile.TemporaryDirectory() as folder:
        app = application(folder, sum(map(len, inputs)))
        build(*(app.dataframe(filled(app, topic_of(app), rows)) for rows in inputs)).update(found.append)
        app.run(timeout=PATIENCE)
    return found


def windows(frame, grace: int = 0, **settings):
    """Returns the minutes, which remain open for some seconds after their end."""
    return frame.tumbling_window(MINUTE, grace_ms=grace * 1000, **settings)


def first(results: list) -> list:
    """Returns the values of the first minute."""
    return [result["value"] for result in results if result["start"] == START]
