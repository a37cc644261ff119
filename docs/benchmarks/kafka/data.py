"""The benchmark's messages: the readings of the stream benchmark, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import numpy as np

from docs.benchmarks.stream.data import BEGIN, DISORDER, KEYS, MINUTE, SEED
from flowalg.data.time import EPOCH
from tests.faults.kafka.traffic import Sent, Topics

PARTITIONS: Final = 4
MICROSECOND: Final = datetime.resolution


def create(servers: str, topic: str) -> None:
    """Creates a topic."""
    Topics(servers).create(topic, PARTITIONS)


def texts(rows: int, number: int) -> list[bytes]:
    """Returns the messages of a micro-batch: readings of one minute and up to half a minute before it."""
    random = np.random.default_rng(SEED + number)
    begin = (BEGIN - EPOCH) // MICROSECOND + number * MINUTE
    times = begin + random.integers(-DISORDER, MINUTE, rows)
    moments = np.datetime_as_string(times.astype("datetime64[us]")).tolist()
    sensors, values = random.integers(0, KEYS, rows).tolist(), random.integers(0, 100, rows).tolist()
    return [
        b'{"sensor": %d, "value": %d, "at": "%bZ"}' % (sensor, value, moment.encode())
        for sensor, value, moment in zip(sensors, values, moments, strict=True)
    ]


def send(servers: str, topic: str, messages: list[bytes]) -> None:
    """Sends messages to the partitions of a topic, in equal numbers, and waits until the broker has them."""
    sent = [Sent(number % PARTITIONS, message, None) for number, message in enumerate(messages)]
    Topics(servers).send(topic, sent)
