"""Topics of a real broker: queries with faults against the reference, failures, transactions and the page.

The tests catch a query that loses or repeats messages when it restarts, that reads uncommitted messages, that goes on
without messages that were deleted, and a sink whose topic is not the table.
"""

from __future__ import annotations

import gc
import importlib
import json
import random
from datetime import timedelta
from pathlib import Path

import flowalg_sinks
import pytest
from flowalg_kafka import Kafka, KafkaInput
from flowalg_polars import streaming
from flowalg_polars.streaming import StreamInput
from flowalg_sinks import SinkBatch, Table, WrittenBatch

from docs.pages import DOCS, run_page, working_in
from flowalg import BoundedOutOfOrderness
from flowalg.runs import Output
from tests.components.broker import Broker
from tests.faults.kafka.comparison import compare
from tests.faults.kafka.failures import LocalCase, failures_of
from tests.faults.kafka.traffic import MALFORMED, SCORES, SECOND, START, Sent, Topics, totals, traffic

pytestmark = pytest.mark.long


def numbers_of(topic: KafkaInput, checkpoint: Path) -> list[int]:
    """Returns the numbers of the scores that a query reads, from its checkpoint on."""
    stream = StreamInput(topic, BoundedOutOfOrderness(5 * SECOND))
    batches = streaming.batches(SCORES, {SCORES: stream}, checkpoint=checkpoint, dead_letters=True)
    return sorted(element.element.number for batch in batches for element in batch.elements)


@pytest.mark.long
def test_a_query_with_restarts_is_that_of_the_reference(kafka: Broker, tmp_path: Path) -> None:
    """Over a growing topic with late and malformed messages, the panes, drops and topics are those of the reference."""
    outcome = compare(kafka, tmp_path, messages=1_200, seed=7, outages=False)
    assert outcome.problems == []
    assert outcome.counts["restarts"]
    assert outcome.counts["repeated"]
    assert outcome.counts["dropped"]
    assert outcome.counts["bad records"]


@pytest.mark.parametrize("failure", failures_of(LocalCase))
def test_a_failure_is_an_error_that_names_it(failure: str, kafka: Broker, tmp_path: Path) -> None:
    """A topic that is missing, deleted, or lacks messages, and a second writer, are errors that name it."""
    number = failures_of(LocalCase).index(failure)
    assert LocalCase(kafka.servers, tmp_path, f"test-failure-{number}").unexpected(failure) is None


def test_a_query_starts_where_it_is_told(kafka: Broker, tmp_path: Path) -> None:
    """From ``latest`` only later messages are read, also if there were none at first; from a time, those since then."""
    topics = Topics(kafka.servers)
    topics.create("starts", 2)
    earlier = list(traffic(random.Random(1), 100, 2))
    topics.send("starts", earlier)
    latest = KafkaInput(kafka.servers, "starts", start="latest")
    assert numbers_of(latest, tmp_path / "latest") == []
    more = list(traffic(random.Random(2), 100, 2, first=100))
    topics.send("starts", more)
    numbers = [message.score.number for message in more if message.score is not None]
    assert numbers_of(latest, tmp_path / "latest") == numbers
    past = KafkaInput(kafka.servers, "starts", start=START)
    every = [message.score.number for message in [*earlier, *more] if message.score is not None]
    assert numbers_of(past, tmp_path / "past") == every


def test_a_query_that_has_ended_has_no_connections(kafka: Broker, tmp_path: Path) -> None:
    """Its clients end with it, and not when they are collected: they would connect for ever, also without a broker."""
    topics = Topics(kafka.servers)
    topics.create("connections", 2)
    topics.send("connections", list(traffic(random.Random(1), 20, 2)))
    gc.collect()
    before = len(client_threads())
    gc.disable()
    try:
        numbers_of(KafkaInput(kafka.servers, "connections"), tmp_path / "checkpoint")
        assert len(client_threads()) <= before
    finally:
        gc.enable()


def client_threads() -> list[str]:
    """Returns the names of the threads of Kafka's clients in this process."""
    names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    return [name for name in names if name.startswith("rdk:")]


def test_only_committed_messages_are_read(kafka: Broker, tmp_path: Path) -> None:
    """Messages of an aborted transaction are never read, and those of an open one after its commit."""
    Topics(kafka.servers).create("committed")
    client = importlib.import_module("confluent_kafka")
    producer = client.Producer({"bootstrap.servers": kafka.servers, "transactional.id": "test-committed"})
    producer.init_transactions(60)
    topic = KafkaInput(kafka.servers, "committed")
    for number, ends in enumerate(("abort", "commit", "abort")):
        producer.begin_transaction()
        document = {"number": number, "player": "ann", "points": 1, "at": START.isoformat()}
        producer.produce("committed", json.dumps(document))
        producer.flush()
        assert numbers_of(topic, tmp_path / "checkpoint") == []
        getattr(producer, f"{ends}_transaction")(60)
        assert numbers_of(topic, tmp_path / "checkpoint") == ([number] if ends == "commit" else [])


def test_a_retracted_row_is_a_tombstone(kafka: Broker) -> None:
    """The last message of a key is its current row, and a deleted row is a message without a value."""
    target = Kafka(kafka.servers)
    table: Table = flowalg_sinks.upsert(totals(), target, table="tombstones").table
    row = ("ann", 3, START, START + SECOND, START, "on_time", 0, True, False, START, START)
    other = ("bob", *row[1:])
    for batch in range(2):
        with target.transaction() as transaction:
            transaction.last_batch("tombstones")
            transaction.prepare(table)
            if batch:
                transaction.delete(table, [("ann", START, START + SECOND)])
            else:
                transaction.put(table, [row, other])
    assert target.rows(table) == [other]


def test_a_failed_transaction_leaves_nothing(kafka: Broker) -> None:
    """Messages of a transaction that fails are not read, and the next transaction of the table succeeds."""
    target = Kafka(kafka.servers)
    table = flowalg_sinks.upsert(totals(), target, table="failing").table
    row = ("ann", 3, START, START + SECOND, START, "on_time", 0, True, False, START, START)
    for player in ("lost", "kept"):
        try:
            with target.transaction() as transaction:
                transaction.last_batch("failing")
                transaction.prepare(table)
                transaction.put(table, [(player, *row[1:])])
                if player == "lost":
                    raise ZeroDivisionError
        except ZeroDivisionError:
            continue
    assert [row[0] for row in target.rows(table)] == ["kept"]


def test_progress_is_found_behind_many_transactions(kafka: Broker) -> None:
    """A new writer finds the last batch, and a batch that is repeated is not written again."""
    first = Kafka(kafka.servers)
    sink = flowalg_sinks.upsert(totals(), first, table="progress")
    empty: SinkBatch[object] = SinkBatch(Output(()), None)
    for batch in range(3):
        assert sink.write(empty, WrittenBatch("query", batch))
    again = flowalg_sinks.upsert(totals(), Kafka(kafka.servers), table="progress")
    assert not again.write(empty, WrittenBatch("query", 2))
    assert again.write(empty, WrittenBatch("query", 3))


def test_a_bad_message_fails_a_query_without_dead_letters(kafka: Broker) -> None:
    """Without dead letters a malformed message fails the query, with its place."""
    Topics(kafka.servers).create("strict")
    Topics(kafka.servers).send("strict", [Sent(0, MALFORMED[2], None)])
    stream = StreamInput(KafkaInput(kafka.servers, "strict"), BoundedOutOfOrderness(timedelta(0)))
    with pytest.raises(Exception, match="topic 'strict', partition 0, offset 0: source 'scores'"):
        list(streaming.batches(SCORES, {SCORES: stream}))


def test_the_page_shows_its_output(kafka: Broker, tmp_path: Path) -> None:
    """The code of the page on Kafka runs with the address ``servers``, and shows its output."""
    page = DOCS / "kafka.md"
    with working_in(tmp_path):
        assert run_page(page, servers=kafka.servers) == page.read_text(encoding="utf-8")
