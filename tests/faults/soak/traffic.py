"""The traffic of a soak: scores as they happen, some late, some messages that are not scores, and the totals.

What the totals must be is added up here by plain arithmetic, so that the check depends on no interpreter.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import UTC, datetime
from threading import Event
from typing import Final

from attrs import define, field
from flowalg_kafka.client import driver

from flowalg.data.time import EPOCH
from tests.faults.kafka.traffic import JSON, MALFORMED, SECOND, Score

WINDOW: Final = 10 * SECOND
DISORDER: Final = 3 * SECOND
LATEST: Final = 60 * SECOND
"""How late a late score is at most, less than the allowed lateness, so that none is dropped."""

LATENESS: Final = 120 * SECOND
PLAYERS: Final = 200
PARTITIONS: Final = 2

Totals = Counter[tuple[str, datetime]]
"""The points of each player and start of a window."""


@define(eq=False)
class Traffic:
    """Sends messages to a topic until ``stopped`` is set: so many in a second, 3% of them late, and 2% malformed."""

    servers: str
    topic: str
    rate: int
    seed: int
    stopped: Event = field(factory=Event)
    sent: int = 0
    bad: int = 0
    expected: Totals = field(factory=Counter)

    def run(self) -> None:
        """Sends messages in real time."""
        producer = driver().Producer(
            {"bootstrap.servers": self.servers, "enable.idempotence": True, "log_level": 2}
        )
        chance, started = random.Random(self.seed), time.monotonic()
        while not self.stopped.wait(0.1):
            due = int((time.monotonic() - started) * self.rate) - self.sent
            for _ in range(due):
                producer.produce(
                    self.topic, value=self._message(chance), partition=chance.randrange(PARTITIONS)
                )
                self.sent += 1
            producer.poll(0)
        if left := producer.flush(120):
            raise RuntimeError(f"{left} messages were not sent to {self.topic}")

    def _message(self, chance: random.Random) -> bytes | None:
        if chance.random() < 0.02:
            self.bad += 1
            return chance.choice(MALFORMED)
        late = LATEST if chance.random() < 0.03 else DISORDER
        at = datetime.now(UTC) - chance.random() * late
        player, points = f"p{chance.randrange(PLAYERS)}", chance.randrange(-20, 100)
        start = at - (at - EPOCH) % WINDOW
        self.expected[player, start] += points
        return JSON.encode(Score(self.sent, player, points, at))
