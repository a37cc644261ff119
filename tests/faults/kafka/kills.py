"""Kills of queries from Kafka to Kafka: on both engines, and outages of the broker."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import flowalg_polars.streaming
import flowalg_reference as reference
from attrs import evolve
from flowalg_kafka.client import connection_of
from flowalg_kafka.fetching import fetch_all
from flowalg_sinks.databases.tables import Cell
from flowalg_sinks.drops import drop_table

from tests.components.broker import Broker
from tests.faults.harness import Fault, Moment, QueryFailed, finish, kill
from tests.faults.kafka.on_spark import PARTITIONS, SparkTopics
from tests.faults.kafka.outcome import Outcome, named_rows, unequal
from tests.faults.kafka.query import FORMATS, LocalTopics, TopicQuery
from tests.faults.kafka.traffic import SCORES, START, Sent, Topics, traffic
from tests.faults.subject import Process, Subject

MESSAGES: Final = 20_000
SOON: Final = Moment((1, 2), (0, 1))
"""Soon after the query has begun a micro-batch."""


def kill_on_local(broker: Broker, folder: Path, *, kills: int, seed: int) -> Outcome:
    """Kills a query on the local engine soon after it has begun a micro-batch, ``kills`` times unless it ends before.

    Its topics must be those of a query that is never killed.
    """
    chance, outcome = random.Random(seed), Outcome()
    topic = f"readings-{seed}"
    topics = Topics(broker.servers)
    topics.create(topic, 3)
    topics.send(topic, list(traffic(chance, MESSAGES, 3)))
    calm = LocalTopics(folder / "calm", broker.servers, topic, f"calm-{seed}", per_batch=400)
    finish(calm, (), chance)
    killed = evolve(calm, folder=folder / "killed", name=f"killed-{seed}")
    try:
        struck = finish(killed, [kill("kill", Moment((1, 1), (0, 0.3)))] * kills, chance).struck
    except QueryFailed as error:
        outcome.problems.append(str(error))
        return outcome
    outcome.counts["kills"] = len(struck)
    expected, written = calm.content(), killed.content()
    outcome.problems += [
        f"the topic {name or 'of current values'} has {len(written[name])} rows that differ from {len(rows)} expected"
        for name, rows in expected.items()
        if written[name] != rows or not expected["-log"]
    ]
    return outcome


def outage(broker: Broker) -> Fault:
    """Returns a kill of the broker, which starts again at once; the query must go on by itself."""

    def strike(subject: Subject, process: Process, chance: random.Random) -> bool:
        if not SOON.wait(subject, process, chance):
            return False
        broker.stop(kill=True)
        broker.start()
        return True

    return Fault("outages", strike)


def compare_on_spark(
    broker: Broker,
    folder: Path,
    *,
    messages: int,
    kills: int,
    seed: int,
    format: str = "json",
    parts: int = 2,
    calm: bool = False,
) -> Outcome:
    """Runs the query on Spark over a topic that grows, with faults, and returns the differences to the reference.

    The query is killed soon after it has begun a micro-batch. In its last run the broker is killed too, and started
    again. A ``calm`` run has no other faults than its kills.
    """
    chance, outcome = random.Random(seed), Outcome()
    topics, topic = Topics(broker.servers), f"spark-{format}-scores-{seed}"
    topics.create(topic, PARTITIONS)
    query = SparkTopics(folder, broker.servers, topic, f"spark-{format}-totals-{seed}", format, calm=calm)
    sent: list[Sent] = []
    for part in range(parts):
        if part == 1:
            topics.grow(topic, PARTITIONS + 1)
        size = messages // parts
        chunk = list(
            traffic(chance, size, PARTITIONS + (part > 0), first=part * size, format=FORMATS[format])
        )
        topics.send(topic, chunk)
        sent += chunk
        last = part == parts - 1
        faults = [kill("kills", SOON)] * (kills * (part + 1) // parts - outcome.counts["kills"])
        faults += [outage(broker)] * (last and not calm)
        try:
            finished = finish(evolve(query, ends=last), faults, chance)
        except QueryFailed as error:
            outcome.problems.append(str(error))
            return outcome
        outcome.counts.update(fault.name for fault in finished.struck)
        outcome.counts["starts"] += finished.starts
    outcome.counts.update({"messages": len(sent), "micro-batches": query.begun() + 1})
    outcome.problems += differences(query, sent, outcome.counts)
    return outcome


def differences(query: TopicQuery, sent: list[Sent], counts: Counter[str]) -> Iterator[str]:
    """Yields how the topics of a query differ from what the reference computes of the scores that were sent."""
    latest, log = (sink.table for sink in query.sinks)
    scores = [message.score for message in sent if message.score is not None]
    run = reference.run_batch(query.pipeline, {SCORES: scores}, time=START)
    expected = Counter[object]((pane.key, pane.window.start.datetime, pane.value) for pane in run.panes)
    rows, panes = named_rows(query.target, latest), named_rows(query.target, log)
    counts.update({"current values": len(rows), "panes": len(panes)})
    yield from unequal("current value", Counter(map(_total, rows)), expected)
    # The panes of the changelog, less the retracted ones, are the current values if each was written once.
    written = Counter[object]()
    for pane in panes:
        written[_total(pane)] += -1 if pane["change"] == "retraction" else 1
    yield from unequal("value of the changelog", +written, expected)
    messages = len(fetch_all(connection_of(query.target), log.name))
    if any(count < 0 for count in written.values()) or messages != len(panes):
        yield "the changelog has a retraction without its value, or a pane twice"
    stream = flowalg_polars.streaming.StreamInput(query.input, query.policy)
    batches = flowalg_polars.streaming.batches(SCORES, {SCORES: stream}, dead_letters=True)
    bad = Counter(
        (record.stage, record.error, record.record) for batch in batches for record in batch.bad_records
    )
    counts["bad records"] = bad.total()
    for table in (latest, log):
        drops = named_rows(query.target, drop_table(table.name))
        dropped = Counter[object]((drop["stage"], drop["error"], drop["dropped_value"]) for drop in drops)
        yield from unequal(f"bad record of {table.name}", dropped, Counter[object](bad))


def _total(row: Mapping[str, Cell]) -> object:
    return row["key"], row["window_start"], row["value"]
