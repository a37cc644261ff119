"""The brokers, by confluent-kafka: requests are repeated while no broker answers, until a timeout."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any, Final, Protocol, TypeVar, cast

from attrs import define, field, frozen

from flowalg.data.errors import ArgumentError, FlowalgError, MissingExtraError, hidden
from flowalg.data.time import duration_of

A = TypeVar("A")

_RETRY_SECONDS: Final = 0.1
_GRACE_SECONDS: Final = 2.0
"""How long a topic may be unknown: brokers learn of a new topic one after another."""

_FINAL: Final = ("AUTHORIZATION_FAILED", "AUTHENTICATION_FAILED", "_AUTHENTICATION")
"""The ends of the names of errors that do not pass if the request is repeated."""

_SHORTEST: Final = 4
"""The length of the shortest value of an option that an error must not show: a shorter one is part of many words."""

_QUIET: Final = 2
"""The level of messages that the client library prints: the errors of requests are raised, or the request repeated."""


class TopicError(FlowalgError, RuntimeError):
    """A topic cannot be read or written: it is missing, was deleted, lacks messages, or no broker answers.

    The message names the topic and says how to continue.
    """


class RawError(Protocol):
    """An error of the client library."""

    def code(self) -> int:
        """Returns the number of the error."""
        ...

    def name(self) -> str:
        """Returns the name of the error."""
        ...

    def str(self) -> str:
        """Returns the text of the error."""
        ...


class RawMessage(Protocol):
    """A message of the client library."""

    def partition(self) -> int:
        """Returns the partition."""
        ...

    def offset(self) -> int:
        """Returns the offset."""
        ...

    def key(self) -> bytes | None:
        """Returns the key."""
        ...

    def value(self) -> bytes | None:
        """Returns the value."""
        ...

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Returns the headers, in order."""
        ...

    def timestamp(self) -> tuple[int, int]:
        """Returns the type of the timestamp, 0 if there is none, and its milliseconds since the epoch."""
        ...

    def error(self) -> RawError | None:
        """Returns the error that came instead of a message."""
        ...


def driver() -> ModuleType:
    """Returns the module ``confluent_kafka``; raises ``MissingExtraError`` if it is not installed."""
    try:
        return importlib.import_module("confluent_kafka")
    except ImportError as missing:
        raise MissingExtraError(
            "Kafka needs the package confluent-kafka: pip install 'flowalg[kafka]'"
        ) from missing


def require_connection(owner: str, servers: object, options: object, timeout: timedelta) -> None:
    """Raises ``ArgumentError`` for invalid arguments of a connection."""
    if not isinstance(servers, str) or not servers or "@" in servers:  # a host has no "@"
        valid = "addresses of brokers, such as 'localhost:9092', without a user or password, which belong in options"
        raise ArgumentError(f"{owner}.servers", hidden(servers), valid)
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        valid = "a mapping of options of librdkafka, such as {'security.protocol': 'SSL'}"
        raise ArgumentError(f"{owner}.options", hidden(options), valid)
    duration_of(f"{owner}.timeout", timeout, allow_zero=False)


def require_topic(argument: str, topic: object) -> None:
    """Raises ``ArgumentError`` unless a value is a valid name of a topic."""
    legal = (
        isinstance(topic, str)
        and topic.isascii()
        and topic.replace("_", "").replace("-", "").replace(".", "")
    )
    if not isinstance(topic, str) or len(topic) > 249 or not (legal and legal.isalnum()):
        valid = "the name of a topic: at most 249 ASCII letters, digits, '.', '_' and '-'"
        raise ArgumentError(argument, topic, valid)


@frozen
class Connection:
    """How to reach the brokers: their addresses, the options of the client, and how long to wait for an answer."""

    servers: str
    # Options may contain a password.
    options: Mapping[str, str] = field(repr=False)
    timeout: timedelta

    @property
    def seconds(self) -> float:
        """The timeout in seconds."""
        return self.timeout.total_seconds()

    def config(self, **settings: object) -> dict[str, object]:
        """Returns the configuration of a client; the user's options precede."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return {"log_level": _QUIET, **named, **self.options, "bootstrap.servers": self.servers}

    def client(self, make: Callable[[dict[str, object]], A], **settings: object) -> A:
        """Returns a client; raises ``TopicError``, without the values, for options that it does not take."""
        try:
            return make(self.config(**settings))
        except (driver().KafkaException, TypeError, ValueError) as error:
            # Not the error of the client library: it may have a value.
            raise TopicError(
                f"the options of the client of {self.servers} are invalid: {self.masked(error)}; their names and "
                "values are those of librdkafka"
            ) from None

    def masked(self, error: object) -> str:
        """Returns the text of an error without the values of options, which may be passwords."""
        text = str(error)
        for value in sorted(map(str, self.options.values()), key=len, reverse=True):
            if len(value) >= _SHORTEST:
                text = text.replace(value, "***")
        return text

    def unanswered(self, error: object) -> TopicError:
        """Returns the error after the timeout."""
        return TopicError(
            f"no broker at {self.servers} has answered within {self.timeout}: {self.masked(error)}; start the query "
            "again when a broker is there: it goes on where it stopped"
        )


class Connectable(Protocol):
    """What reaches brokers."""

    @property
    def servers(self) -> str:
        """The addresses of brokers."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the client."""
        ...

    @property
    def timeout(self) -> timedelta:
        """How long to wait for an answer."""
        ...


def connection_of(owner: Connectable) -> Connection:
    """Returns how to reach the brokers of an input or target."""
    return Connection(owner.servers, owner.options, owner.timeout)


@frozen
class Topic:
    """A topic as the brokers describe it: a deleted and newly created topic has another id."""

    id: str
    partitions: tuple[int, ...]


@define
class Admin:
    """Requests about topics. They are repeated until the timeout of the connection, unless the error is final."""

    connection: Connection
    _client: Any = None

    def topic(self, name: str, *, grace: float = _GRACE_SECONDS) -> Topic | None:
        """Returns a topic; ``None`` if it does not exist, also after some seconds of ``grace``."""

        def describe() -> Topic:
            futures = self._client.describe_topics(driver().TopicCollection([name]), request_timeout=5)
            description = futures[name].result()
            return Topic(
                str(description.topic_id), tuple(sorted(partition.id for partition in description.partitions))
            )

        return self._repeat(describe, grace=grace)

    def create(self, name: str, partitions: int, replication: int, config: Mapping[str, str]) -> Topic:
        """Returns a topic, which is created if it does not exist."""
        topic = self.topic(name, grace=0.0)
        if topic is not None:
            return topic

        def create() -> None:
            admin = self._admin_module()
            new = admin.NewTopic(name, partitions, replication, config=dict(config))
            try:
                self._client.create_topics([new], request_timeout=10)[name].result()
            except driver().KafkaException as raised:
                if raised.args[0].name() != "TOPIC_ALREADY_EXISTS":
                    raise

        self._repeat(create)
        return self.require(name)

    def require(self, name: str) -> Topic:
        """Returns a topic; raises ``TopicError`` if it does not exist."""
        topic = self.topic(name)
        if topic is None:
            raise TopicError(
                f"the topic {name!r} does not exist at {self.connection.servers}; create it first"
            )
        return topic

    def earliest(self, name: str, partitions: Sequence[int]) -> dict[int, int]:
        """Returns the first offset that each partition has."""
        return self._offsets(name, partitions, self._admin_module().OffsetSpec.earliest())

    def latest(self, name: str, partitions: Sequence[int]) -> dict[int, int]:
        """Returns the offset after the last message of each partition; messages of open transactions do not count."""
        return self._offsets(name, partitions, self._admin_module().OffsetSpec.latest())

    def at(self, name: str, partitions: Sequence[int], millis: int) -> dict[int, int]:
        """Returns the offset of the first message at a timestamp or later, in each partition that has one."""
        offsets = self._offsets(name, partitions, self._admin_module().OffsetSpec.for_timestamp(millis))
        return {partition: offset for partition, offset in offsets.items() if offset >= 0}

    def _offsets(self, name: str, partitions: Sequence[int], spec: object) -> dict[int, int]:
        def request() -> dict[int, int]:
            module = driver()
            wanted = {module.TopicPartition(name, partition): spec for partition in partitions}
            futures = self._client.list_offsets(
                wanted, isolation_level=module.IsolationLevel.READ_COMMITTED, request_timeout=5
            )
            return {
                int(topic_partition.partition): int(future.result().offset)
                for topic_partition, future in futures.items()
            }

        return self._require(self._repeat(request), name)

    def _require(self, answer: A | None, name: str) -> A:
        if answer is None:
            raise TopicError(f"the topic {name!r} does not exist at {self.connection.servers}")
        return answer

    def _repeat(self, request: Callable[[], A], *, grace: float = _GRACE_SECONDS) -> A | None:
        """Returns the answer of a request; ``None`` if the topic does not exist, also after some seconds of grace."""
        module = driver()
        started = time.monotonic()
        while True:
            try:
                self._open()
                return request()
            except module.KafkaException as raised:
                error = cast("RawError", raised.args[0])
                waited = time.monotonic() - started
                unknown = error.name() in ("UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID")
                if unknown and waited >= grace:
                    return None
                if error.name().endswith(_FINAL) or error.name().startswith("INVALID_"):
                    raise TopicError(
                        f"{self.connection.servers} has rejected a request: {self.connection.masked(error.str())}"
                    ) from raised
                if waited > self.connection.seconds:
                    raise self.connection.unanswered(error.str()) from raised
                # The leaders of partitions that a client has cached may be those before a failure.
                self._client = None
                time.sleep(_RETRY_SECONDS)

    def close(self) -> None:
        """Ends the connections and the threads of the client; the next request makes another one."""
        self._client = None

    def _open(self) -> None:
        if self._client is None:
            self._client = self.connection.client(self._admin_module().AdminClient)

    @staticmethod
    def _admin_module() -> ModuleType:
        return importlib.import_module("confluent_kafka.admin")
