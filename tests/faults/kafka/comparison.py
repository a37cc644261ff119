"""A query over a growing topic is stopped, loses its broker, and must still be what the reference computes.

A run sends scores in parts while the local engine reads them. Between and within micro-batches the query is closed and
started again with new clients, the broker is stopped or killed, and the topic grows by a partition. The micro-batches
are then repeated by the reference, from their clocks and records: the panes and the number of drops must be equal, the
bad records must be the malformed messages, and the topics of the sinks must be the current values and all panes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Timer
from typing import Final

import flowalg_reference as reference
import flowalg_sinks
from attrs import define, field
from flowalg_kafka import Kafka, KafkaInput
from flowalg_polars import streaming
from flowalg_polars.streaming import MicroBatches, StreamInput

from flowalg import BoundedOutOfOrderness, Mode, PCollection
from tests.components.broker import Broker
from tests.faults.kafka.outcome import Outcome, unequal
from tests.faults.kafka.traffic import SCORES, SECOND, Sent, Topics, totals, traffic

TOTALS: Final = totals()
OUTPUTS: Final[dict[str, PCollection[object]]] = {"totals": TOTALS, "scores": SCORES}
PARTITIONS: Final = 3
PARTS: Final = 6


@define
class Comparison:
    """A run of the query over a topic, in a folder, with the micro-batches as they were first seen."""

    broker: Broker
    folder: Path
    messages: int
    seed: int
    outages: bool
    outcome: Outcome = field(factory=Outcome)
    recorded: dict[int, MicroBatches] = field(factory=dict)
    chance: random.Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    @property
    def topic(self) -> str:
        """The name of the topic."""
        return f"scores-{self.seed}"

    def sinks(self) -> tuple[flowalg_sinks.Upsert, flowalg_sinks.Changelog]:
        """Returns sinks with new clients: the current totals, and all panes."""
        target = Kafka(self.broker.servers, partitions=2)
        return (
            flowalg_sinks.upsert(TOTALS, target, table=f"totals-{self.seed}"),
            flowalg_sinks.changelog(TOTALS, target, table=f"log-{self.seed}"),
        )

    def run(self) -> None:
        """Sends messages in parts, and reads each part."""
        topics = Topics(self.broker.servers)
        topics.create(self.topic, PARTITIONS)
        sent: list[Sent] = []
        for part in range(PARTS):
            # The topic grows by a partition halfway.
            grown = part >= PARTS // 2
            if part == PARTS // 2:
                topics.grow(self.topic, PARTITIONS + 1)
            size = self.messages // PARTS
            messages = list(traffic(self.chance, size, PARTITIONS + grown, first=part * size))
            topics.send(self.topic, messages)
            sent += messages
            while self._is_stopped(drain=part == PARTS - 1):
                self.outcome.counts["restarts"] += 1
        self.outcome.counts["messages"] = len(sent)
        self.outcome.problems += self._differences(sent)

    def _is_stopped(self, *, drain: bool) -> bool:
        """Reads what the topic has until its end, with ``drain`` to the end of time, or until a random stop.

        Returns whether it was stopped.
        """
        counts, chance = self.outcome.counts, self.chance
        topic = KafkaInput(self.broker.servers, self.topic, per_batch=max(50, self.messages // 40))
        policy = BoundedOutOfOrderness(5 * SECOND, partitions=frozenset(map(str, range(PARTITIONS))))
        query = streaming.batches(
            OUTPUTS,
            {SCORES: StreamInput(topic, policy)},
            checkpoint=self.folder / "checkpoint",
            drain=drain,
            dead_letters=True,
            metrics=True,
        )
        sinks = self.sinks()
        for batches in query:
            self._record(batches)
            # Stops before the sinks, between them, and after them, before the micro-batch is committed.
            stop = chance.randrange(len(sinks) + 1) if chance.random() < 0.15 else len(sinks) + 1
            restart = _away(self.broker, chance) if self.outages and chance.random() < 0.04 else None
            for sink in sinks[:stop]:
                batches["totals"].write_to(sink)
            if restart is not None:
                counts["outages"] += 1
                restart()
            if stop <= len(sinks):
                query.close()
                return True
        return False

    def _record(self, batches: MicroBatches) -> None:
        number = batches["totals"].number
        if number not in self.recorded:
            self.recorded[number] = batches
            return
        self.outcome.counts["repeated"] += 1
        if _content(batches) != _content(self.recorded[number]):
            self.outcome.problems.append(f"micro-batch {number} was repeated with another content")

    def _differences(self, sent: Sequence[Sent]) -> Iterator[str]:
        if sorted(self.recorded) != list(range(len(self.recorded))):
            yield f"the micro-batches are {sorted(self.recorded)}"
        batches = [self.recorded[number] for number in sorted(self.recorded)]
        runs = [batch["totals"] for batch in batches]
        scores = [element.element for batch in batches for element in batch["scores"].elements]
        panes = [pane for run in runs for pane in run.panes]
        bad = [record for run in runs for record in run.bad_records]
        dropped = sum(run.dropped_count for run in runs)
        counts = {
            "micro-batches": len(batches),
            "panes": len(panes),
            "dropped": dropped,
            "bad records": len(bad),
        }
        self.outcome.counts.update(counts)
        self.outcome.counts["retractions"] = sum(pane.change.value == "retraction" for pane in panes)
        expected_scores = Counter[object](message.score for message in sent if message.score is not None)
        yield from unequal("score", Counter(scores), expected_scores)
        malformed = sum(message.score is None for message in sent)
        if len(bad) != malformed or not all(record.error.startswith("topic ") for record in bad):
            yield f"there are {len(bad)} bad records of {malformed} malformed messages"
        # The records of a micro-batch are in the order of event time, which the log does not depend on.
        timeline = streaming.replay_log(runs).timeline(
            SCORES, [score for score in scores if score is not None]
        )
        expected = reference.run(TOTALS, {SCORES: timeline}, mode=Mode.MICRO_BATCH)
        yield from unequal("pane", Counter(map(repr, panes)), Counter(map(repr, expected.panes)))
        if len(expected.dropped) != dropped:
            yield f"{dropped} elements were dropped, and {len(expected.dropped)} by the reference"
        latest, log = self.sinks()
        target = Kafka(self.broker.servers)
        _, rows = latest.changes(expected.panes)
        yield from unequal("current row", Counter(target.rows(latest.table)), Counter(rows))
        written = Counter[object](row for run in runs for row in log.rows(run.number, run.output))
        yield from unequal("row of the changelog", Counter(target.rows(log.table)), written)


def compare(broker: Broker, folder: Path, *, messages: int, seed: int, outages: bool = True) -> Outcome:
    """Runs a query over a new topic with faults, and returns what happened, with the differences.

    Without ``outages`` the broker is always there.
    """
    comparison = Comparison(broker, folder, messages, seed, outages)
    comparison.run()
    return comparison.outcome


def _away(broker: Broker, chance: random.Random) -> Callable[[], object]:
    """Stops or kills the broker, and starts it a moment later; returns a function that waits until it is back."""
    broker.stop(kill=chance.random() < 0.5)
    starter = Timer(0.5, broker.start)
    starter.start()
    return starter.join


def _content(batches: MicroBatches) -> tuple[object, ...]:
    totals_of = batches["totals"]
    return totals_of.processing_time, totals_of.panes, totals_of.bad_records, batches["scores"].elements
