"""Messages per second of the local engine, and the time of the parts: fetching, decoding, and the whole query."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

from attrs import frozen
from flowalg_kafka import KafkaInput
from flowalg_kafka.client import RawMessage
from flowalg_kafka.decoding import decode_messages
from flowalg_kafka.messages import messages_table
from flowalg_kafka.reader import Position, TopicReader
from flowalg_polars import streaming
from flowalg_polars.streaming import StreamInput

from docs.benchmarks.kafka.data import create, send, texts
from docs.benchmarks.results import Result
from docs.benchmarks.stream.data import DISORDER
from docs.benchmarks.stream.pipelines import ON_TIME, READINGS
from flowalg import BoundedOutOfOrderness
from flowalg.pipeline.source import source_node

WARM: Final = 2
"""The micro-batches of a run that do not count."""


@frozen
class Part:
    """What is timed of a query: it yields after each micro-batch."""

    name: str
    run: Callable[[KafkaInput, Path], Iterator[object]]


def _fetch(topic: KafkaInput, _: Path) -> Iterator[object]:
    yield from _messages(topic)


def _decode(topic: KafkaInput, _: Path) -> Iterator[object]:
    node = source_node(READINGS)
    for messages in _messages(topic):
        yield decode_messages(node, topic, messages_table(topic, messages), None)


def _messages(topic: KafkaInput) -> Iterator[list[RawMessage]]:
    reader, after = TopicReader("readings", topic), Position()
    while (until := reader.available(after)) is not None:
        yield reader.read(after, until)
        after = until


def _query(topic: KafkaInput, folder: Path) -> Iterator[object]:
    stream = StreamInput(topic, BoundedOutOfOrderness(timedelta(microseconds=DISORDER)))
    yield from streaming.batches(ON_TIME, {READINGS: stream}, checkpoint=folder)


PARTS: Final = (Part("fetch", _fetch), Part("fetch and decode", _decode), Part("query", _query))


def measure(servers: str, folder: Path, *, rows: int, batches: int, rounds: int) -> Result:
    """Returns the median seconds of a micro-batch of ``rows`` messages, by part, in turns."""
    name = f"local-{rows}"
    create(servers, name)
    for number in range(batches):
        send(servers, name, texts(rows, number))
    topic = KafkaInput(servers, name, per_batch=rows)
    seconds: dict[str, list[float]] = {part.name: [] for part in PARTS}
    for number in range(rounds):
        for part in PARTS if number % 2 else PARTS[::-1]:
            started = time.perf_counter()
            times: list[float] = []
            for _ in part.run(topic, folder / f"{part.name}-{number}"):
                ended = time.perf_counter()
                times.append(ended - started)
                started = ended
            seconds[part.name] += times[WARM:]
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    decoding = medians["fetch and decode"] - medians["fetch"]
    return {
        "case": f"local engine, {rows:,} messages",
        "rows": rows,
        **{f"{name.replace(' ', '_')}_s": round(took, 4) for name, took in medians.items()},
        "decoder_share": round(decoding / medians["query"], 3),
        "messages_per_s": round(rows / medians["query"]),
    }
