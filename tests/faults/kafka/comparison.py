"""A query over a growing topic is stopped, loses its broker, and must still be what the reference computes.

A run sends scores in parts while the local engine reads them. Between and within micro-batches the query is closed and
started again with new clients, the broker is stopped or killed, and the topic grows by a partition. The micro-batches
are then repeated by the reference, from their clocks and records: the panes and the number of drops must be equal, the
bad records must be the malformed messages, and the topics of the sinks must be the current values and all panes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Final

import flowalg_reference as reference
import flowalg_sinks
from attrs import define, field, frozen
from flowalg_kafka import Kafka, KafkaInput
from flowalg_polars import streaming
from flowalg_polars.streaming import MicroBatches, StreamInput
from flowalg_sinks.pane_sink import PaneSink
from flowalg_sinks.upserting import Upsert

from flowalg import BoundedOutOfOrderness, Mode
from flowalg.runs.panes import Pane
from tests.components.broker import Broker
from tests.faults.kafka.traffic import SCORES, SECOND, Sent, Topics, totals, traffic

SHOWN: Final = 5
TOTALS: Final = totals()
PARTITIONS: Final = 3


@define
class Counts:
    """What happened in runs."""

    messages: int = 0
    batches: int = 0
    panes: int = 0
    retractions: int = 0
    dropped: int = 0
    bad: int = 0
    restarts: int = 0
    repeated: int = 0
    outages: int = 0
    problems: list[str] = field(factory=list)

    def __str__(self) -> str:
        return (
            f"{self.messages:,} messages, {self.batches:,} micro-batches, {self.panes:,} panes "
            f"({self.retractions:,} retractions), {self.dropped:,} dropped, {self.bad:,} bad records, "
            f"{self.restarts} restarts, {self.repeated} micro-batches repeated, {self.outages} outages of the broker"
        )


@frozen
class Recorded:
    """A micro-batch of a run as it was first seen."""

    batches: MicroBatches
    panes: tuple[Pane[object], ...]

    @classmethod
    def of(cls, batches: MicroBatches) -> Recorded:
        """Returns a micro-batch with its panes as values."""
        return cls(batches, batches["totals"].panes)


def compare(broker: Broker, folder: Path, *, messages: int, seed: int, outages: bool = True) -> Counts:
    """Runs a query over a new topic with faults, and returns what happened, with the differences.

    Without ``outages`` the broker is always there.
    """
    chance = random.Random(seed)
    counts = Counts(messages=messages)
    topics, name = Topics(broker.servers), f"scores-{seed}"
    topics.create(name, PARTITIONS)
    parts = 6
    sent: list[Sent] = []
    recorded: dict[int, Recorded] = {}
    for part in range(parts):
        # The topic grows by a partition halfway.
        if part == parts // 2:
            topics.grow(name, PARTITIONS + 1)
        partitions = PARTITIONS + (part >= parts // 2)
        size = messages // parts
        some = list(traffic(chance, size, partitions, first=part * size))
        topics.send(name, some)
        sent += some
        _read(broker, folder, name, chance, counts, recorded, drain=part == parts - 1, outages=outages)
    counts.messages = len(sent)
    counts.problems += _differences(broker, seed, sent, recorded, counts)
    return counts


def sinks_of(broker: Broker, seed: int) -> tuple[PaneSink, ...]:
    """Returns sinks with new clients: the current totals, and all panes."""
    target = Kafka(broker.servers, partitions=2)
    return (
        flowalg_sinks.upsert(TOTALS, target, table=f"totals-{seed}"),
        flowalg_sinks.changelog(TOTALS, target, table=f"log-{seed}"),
    )


def _read(
    broker: Broker,
    folder: Path,
    name: str,
    chance: random.Random,
    counts: Counts,
    recorded: dict[int, Recorded],
    *,
    drain: bool,
    outages: bool,
) -> None:
    """Reads what the topic has, to the end of time with ``drain``; restarts the query at random points."""
    while True:
        topic = KafkaInput(broker.servers, name, per_batch=max(50, counts.messages // 40))
        policy = BoundedOutOfOrderness(5 * SECOND, partitions=frozenset(map(str, range(PARTITIONS))))
        query = streaming.batches_all(
            {"totals": TOTALS, "scores": SCORES},
            {SCORES: StreamInput(topic, policy)},
            checkpoint=folder / "checkpoint",
            drain=drain,
            dead_letters=True,
            metrics=True,
        )
        sinks = sinks_of(broker, int(name.rpartition("-")[2]))
        if _stopped(query, sinks, broker, chance, counts, recorded, outages=outages):
            counts.restarts += 1
            continue
        return


def _stopped(
    query: Iterator[MicroBatches],
    sinks: tuple[PaneSink, ...],
    broker: Broker,
    chance: random.Random,
    counts: Counts,
    recorded: dict[int, Recorded],
    *,
    outages: bool,
) -> bool:
    """Runs a query until its end or a random stop, and returns whether it was stopped."""
    for batches in query:
        number = batches["totals"].number
        found = Recorded.of(batches)
        if number in recorded:
            counts.repeated += 1
            if _content(found) != _content(recorded[number]):
                counts.problems.append(f"micro-batch {number} was repeated with another content")
        recorded.setdefault(number, found)
        # Stops before the sinks, between them, and after them, before the micro-batch is committed.
        stop = chance.randrange(len(sinks) + 1) if chance.random() < 0.15 else None
        outage = outages and chance.random() < 0.04
        restart = _away(broker, chance) if outage else None
        counts.outages += outage
        for index, sink in enumerate(sinks):
            if stop == index:
                break
            batches["totals"].write_to(sink)
        if restart is not None:
            restart()
        if stop is not None:
            close: Callable[[], object] = getattr(query, "close")  # noqa: B009 - the type is that of an iterator
            close()
            return True
    return False


def _away(broker: Broker, chance: random.Random) -> Callable[[], object]:
    """Stops or kills the broker, and starts it a moment later; returns a function that waits until it is back."""
    broker.stop(kill=chance.random() < 0.5)
    starter = Timer(0.5, broker.start)
    starter.start()
    return starter.join


def _content(found: Recorded) -> tuple[object, ...]:
    batch = found.batches["totals"]
    return (batch.processing_time, found.panes, batch.bad_records, found.batches["scores"].elements)


def _differences(
    broker: Broker, seed: int, sent: list[Sent], recorded: dict[int, Recorded], counts: Counts
) -> Iterator[str]:
    if sorted(recorded) != list(range(len(recorded))):
        yield f"the micro-batches are {sorted(recorded)}"
    batches = [recorded[number] for number in sorted(recorded)]
    scores = [element.element for each in batches for element in each.batches["scores"].elements]
    panes = [pane for each in batches for pane in each.panes]
    bad = [record for each in batches for record in each.batches["totals"].bad_records]
    dropped = sum(each.batches["totals"].dropped_count for each in batches)
    counts.batches, counts.panes, counts.dropped, counts.bad = len(batches), len(panes), dropped, len(bad)
    counts.retractions = sum(pane.change.value == "retraction" for pane in panes)
    yield from unequal(
        "score", Counter(scores), Counter(each.score for each in sent if each.score is not None)
    )
    malformed = sum(each.score is None for each in sent)
    if len(bad) != malformed or not all(record.error.startswith("topic ") for record in bad):
        yield f"there are {len(bad)} bad records of {malformed} malformed messages"
    log = streaming.replay_log([each.batches["totals"] for each in batches])
    # The records of a micro-batch are in the order of event time, which the log does not depend on.
    timeline = log.timeline(SCORES, [score for score in scores if score is not None])
    expected = reference.run(TOTALS, {SCORES: timeline}, mode=Mode.MICRO_BATCH)
    yield from unequal("pane", Counter(map(repr, panes)), Counter(map(repr, expected.panes)))
    if len(expected.dropped) != dropped:
        yield f"{dropped} elements were dropped, and {len(expected.dropped)} by the reference"
    latest, log_sink = sinks_of(broker, seed)
    assert isinstance(latest, Upsert), "it is the first"
    target = Kafka(broker.servers)
    _, rows = latest.changes(expected.panes)
    yield from unequal("current row", Counter(target.rows(latest.table)), Counter(rows))
    written = [row for each in batches for row in _rows(log_sink, each)]
    yield from unequal("row of the changelog", Counter(target.rows(log_sink.table)), Counter(written))


def _rows(sink: PaneSink, found: Recorded) -> list[tuple[object, ...]]:
    batch = found.batches["totals"]
    _, rows = sink._changes(batch.number, batch.output)
    return [tuple(row) for row in rows]


def unequal(what: str, found: Counter[object], expected: Counter[object]) -> Iterator[str]:
    """Yields what is missing and what is unexpected."""
    for name, difference in (("missing", expected - found), ("unexpected", found - expected)):
        if difference:
            shown = [str(each) for each in difference][:SHOWN]
            yield f"{difference.total()} {name} {what}: {'; '.join(shown)}"
