"""Kafka as a target of sinks: a table is a topic, a row a message, and a batch a transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Final

from attrs import define, field, frozen
from flowalg_sinks.databases.tables import Row, Table
from flowalg_sinks.databases.target import SinkError, WrittenBatch

from flowalg.data.errors import require_count
from flowalg_kafka.cells import decode_cells, encode_cells
from flowalg_kafka.client import (
    Admin,
    Connection,
    RawError,
    TopicError,
    connection_of,
    driver,
    require_connection,
    require_topic,
)
from flowalg_kafka.fetching import fetch_all
from flowalg_kafka.progress import Progress, WrittenTopic, read_progress, require_topic_unchanged

_COMPACT: Final = {"cleanup.policy": "compact"}
_APPENDED: Final = ("batch", "position")
"""The primary key of tables whose rows are never replaced: changelogs and drops."""


@frozen
class Kafka:
    """A Kafka cluster as the target of a sink: each table is a topic with its name.

    The key of a message is the primary key of the row as a JSON object, and its value the row. A row that is replaced
    is a further message with its key, and a row that is deleted a tombstone, so the compacted topic is the table.
    Topics that do not exist are created with ``partitions`` and ``replication`` (by default that of the brokers):
    compacted ones, except those of changelogs and drops, which have the retention of the brokers.

    Each micro-batch is a transaction, with the transactional id ``flowalg.<table>``, which also writes its number to
    the topic ``<table>_progress``. It is exactly once for readers with ``isolation.level=read_committed``. A second
    writer of the table fences the first, whose next micro-batch raises ``SinkError``.

    ``options`` are options of librdkafka, such as those of security. A transaction fails with a ``TopicError`` if no
    broker answers within ``timeout``. Needs ``flowalg[kafka]``.
    """

    servers: str
    partitions: int = field(default=1, kw_only=True)
    replication: int | None = field(default=None, kw_only=True)
    # Options may contain a password.
    options: Mapping[str, str] = field(factory=dict, kw_only=True, repr=False)
    timeout: timedelta = field(default=timedelta(minutes=1), kw_only=True)
    _writers: dict[str, Writer] = field(factory=dict, init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        require_count("Kafka.partitions", self.partitions)
        if self.replication is not None:
            require_count("Kafka.replication", self.replication)
        require_connection("Kafka", self.servers, self.options, self.timeout)
        driver()

    def __getstate__(self) -> tuple[object, ...]:
        # Writers are connections, which another process opens by itself.
        return (self.servers, self.partitions, self.replication, dict(self.options), self.timeout)

    def __setstate__(self, state: tuple[object, ...]) -> None:
        names = ("servers", "partitions", "replication", "options", "timeout")
        for name, value in (*zip(names, state, strict=True), ("_writers", {})):
            object.__setattr__(self, name, value)

    @contextmanager
    def transaction(self) -> Iterator[KafkaTransaction]:
        """Returns a transaction, which is committed when the context ends, and aborted if it ends with an error."""
        transaction = KafkaTransaction(self)
        try:
            yield transaction
            transaction.commit()
        except BaseException:
            transaction.abort()
            raise

    def rows(self, table: Table) -> list[Row]:
        """Returns the current rows of a table, the last of each key, ordered by key."""
        current: dict[bytes, bytes] = {}
        for message in fetch_all(connection_of(self), table.name):
            key, value = message.key(), message.value()
            assert key is not None, "a sink has written it"
            if value is None:
                current.pop(key, None)
            else:
                current[key] = value
        keyed = [(decode_cells(table.key_columns, key), value) for key, value in current.items()]
        return [decode_cells(table.columns, value) for _, value in sorted(keyed, key=lambda pair: pair[0])]


@define
class Writer:
    """The transactional producer of a table, and the progress of its last transaction."""

    connection: Connection
    table: str
    producer: Any
    admin: Admin
    progress: Progress | None

    @classmethod
    def open(cls, target: Kafka, table: str) -> Writer:
        """Opens the producer of a table. Open transactions of earlier producers are aborted, and these are fenced."""
        connection = connection_of(target)
        producer = connection.client(
            driver().Producer,
            # The partition of a key is that of Java's clients.
            partitioner="murmur2_random",
            linger_ms=5,
            compression_type="lz4",
            transactional_id=f"flowalg.{table}",
        )
        writer = cls(connection, table, producer, Admin(connection), None)
        writer.repeat(producer.init_transactions)
        topic = progress_topic(table)
        writer.admin.create(topic, 1, target.replication or -1, _COMPACT)
        writer.progress = read_progress(connection, topic)
        return writer

    def produce(self, topic: str, key: bytes, value: bytes | None) -> None:
        """Adds a message to the transaction; raises ``SinkError`` for one that Kafka does not take."""
        module = driver()
        started = time.monotonic()
        while True:
            try:
                self.producer.produce(topic, value=value, key=key)
                return
            except BufferError:
                # The queue is full: waits for the broker.
                self.producer.poll(0.1)
                if time.monotonic() - started > self.connection.seconds:
                    raise self.connection.unanswered("the queue of messages is full") from None
            except module.KafkaException as raised:
                raise self._failure(raised.args[0], f"a message with the key {key[:200]!r}") from raised

    def repeat(self, request: Callable[[float], object]) -> None:
        """Makes a request of a transaction, and repeats it while its outcome is unknown, until the timeout."""
        module = driver()
        started = time.monotonic()
        while True:
            try:
                request(max(0.1, started + self.connection.seconds - time.monotonic()))
                return
            except module.KafkaException as raised:
                error = raised.args[0]
                if not error.retriable():
                    raise self._failure(error, "the transaction") from raised
                if time.monotonic() - started > self.connection.seconds:
                    raise self.connection.unanswered(error.str()) from raised
                time.sleep(0.1)

    def _failure(self, error: RawError, what: str) -> SinkError | TopicError:
        if error.name() in ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"):
            return SinkError(
                f"the table {self.table!r} has another writer, which has fenced this one: its transaction was aborted; "
                "stop one of the two, and start the other again"
            )
        return SinkError(
            f"{self.connection.servers} did not take {what} of the table {self.table!r}: "
            f"{self.connection.masked(error.str())} "
            f"({error.name()}); nothing of the micro-batch was committed"
        )


@define
class KafkaTransaction:
    """A transaction of Kafka, of one table and its drops."""

    target: Kafka
    _writer: Writer | None = None
    _topics: dict[str, WrittenTopic] = field(factory=dict)
    _recorded: WrittenBatch | None = None
    _begun: bool = False

    def last_batch(self, table: str) -> WrittenBatch | None:
        """Returns the last batch of a table. Other writers of the table are fenced."""
        require_topic("table", table)
        writers = self.target._writers
        if table not in writers:
            writers[table] = Writer.open(self.target, table)
        self._writer = writers[table]
        progress = self._writer.progress
        return None if progress is None else progress.batch

    def record_batch(self, table: str, batch: WrittenBatch) -> None:
        """Records a batch as the last one of a table."""
        writer = self._of(table)
        self._recorded = batch
        self._begin()
        writer.produce(progress_topic(table), table.encode(), self._progress(writer, batch).encode())

    def prepare(self, table: Table) -> bool:
        """Creates the topic, or checks the existing one, and returns whether no earlier batch was written to it."""
        require_topic("the name of a table", table.name)
        writer = self._of(table.name)
        config = {} if table.key == _APPENDED else _COMPACT
        replication = self.target.replication or -1
        topic = writer.admin.create(table.name, self.target.partitions, replication, config)
        written = WrittenTopic.of(table, topic)
        before = None if writer.progress is None else writer.progress.topics.get(table.name)
        if before is not None:
            require_topic_unchanged(table, before, written)
        self._topics[table.name] = written
        return before is None

    def delete(self, table: Table, keys: Sequence[Row]) -> None:
        """Writes a tombstone for each key."""
        self._begin()
        writer = self._of(table.name)
        for key in keys:
            writer.produce(table.name, encode_cells(table.key_columns, key), None)

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Writes a message for each row."""
        self._begin()
        writer = self._of(table.name)
        names = [column.name for column in table.columns]
        positions = [names.index(name) for name in table.key]
        for number, row in enumerate(rows):
            key = encode_cells(table.key_columns, tuple(row[position] for position in positions))
            writer.produce(table.name, key, encode_cells(table.columns, row))
            if number % 1_000 == 0:
                writer.producer.poll(0)

    def commit(self) -> None:
        """Commits what was written."""
        if self._writer is None or not self._begun:
            return
        self._writer.repeat(self._writer.producer.commit_transaction)
        if self._recorded is not None:
            self._writer.progress = self._progress(self._writer, self._recorded)

    def abort(self) -> None:
        """Forgets what was written. The next transaction opens a new producer, which aborts this transaction."""
        if self._writer is None or not self._begun:
            return
        del self.target._writers[self._writer.table]
        with suppress(Exception):  # a transaction that is not aborted now is when the next producer opens
            self._writer.producer.abort_transaction(5.0)

    def _progress(self, writer: Writer, batch: WrittenBatch) -> Progress:
        before = {} if writer.progress is None else writer.progress.topics
        return Progress(batch, {**before, **self._topics})

    def _begin(self) -> None:
        writer = self._of("")
        if not self._begun:
            writer.producer.begin_transaction()
            self._begun = True

    def _of(self, table: str) -> Writer:
        if self._writer is None:
            self.last_batch(table)
        assert self._writer is not None, "last_batch opens it"
        return self._writer


def progress_topic(table: str) -> str:
    """Returns the topic with the last batch of a table."""
    return f"{table}_progress"
