"""Passwords in arguments: none is in an error, its causes, or what observers and the status page show of it.

These tests catch a message, of the project or of a client library, that quotes a connection string or an option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final, cast

import flowalg_sinks
import pytest
from flowalg_kafka import Kafka, KafkaInput
from flowalg_polars import streaming
from flowalg_polars.streaming import StreamInput
from flowalg_sinks import PaneSink, PostgreSQL, SQLite
from flowalg_snapshots import postgresql_rows

from flowalg import BoundedOutOfOrderness, FixedWindows, FlowalgError, Sum
from flowalg.runs import QueryEvent
from tests.support.scores import SCORES

PASSWORD: Final = "hunter2"
SECOND: Final = timedelta(seconds=1)
WATERMARK: Final = BoundedOutOfOrderness(SECOND)
TOTALS: Final = (
    SCORES.key_by(lambda s: s.team)
    .map_values(lambda s: s.points)
    .window(FixedWindows(60 * SECOND), allowed_lateness=SECOND)
    .combine_per_key(Sum())
)
CONNINFOS: Final[tuple[object, ...]] = (
    b"password=hunter2",
    {"password": PASSWORD},
    Path("postgresql://u:hunter2@localhost/d"),
    "host=localhost password=my hunter2",
    "host=localhost password='hunter2",
    "host=localhost hunter2=3",
    "postgresql://u:p@hunter2@localhost/d",
    "postgresql://u:x/hunter2@localhost/d",
    "postgresql://u:x%zhunter2@localhost/d",
    "postgresql://localhost:hunter2/d",
    "dbname='postgresql://u:hunter2@localhost/d'",
    "dbname='host=localhost password=hunter2'",
)
"""Connection strings of a wrong type, or malformed by a password with special characters."""


def to_kafka(options: object) -> object:
    """Begins a transaction of a target."""
    with Kafka(
        "localhost:1", options=cast("Mapping[str, str]", options), timeout=SECOND
    ).transaction() as transaction:
        return transaction.last_batch("t")


def from_kafka(options: object) -> object:
    """Reads the partitions of a topic."""
    return KafkaInput(
        "localhost:1", "t", options=cast("Mapping[str, str]", options), timeout=SECOND
    ).partitions()


def connect(conninfo: object) -> object:
    """Begins a transaction of a target."""
    with PostgreSQL(cast("str", conninfo)).transaction() as transaction:
        return transaction.last_batch("t")


def run(sink: object, data: object = "in") -> object:
    """Runs a query."""
    return streaming.run(
        TOTALS, {SCORES: StreamInput(cast("str", data), WATERMARK)}, sink=cast("PaneSink", sink)
    )


CASES: Final[dict[str, Callable[[], object]]] = {
    **{f"target {number}": partial(connect, conninfo) for number, conninfo in enumerate(CONNINFOS)},
    **{
        f"snapshots {number}": partial(postgresql_rows, cast("str", conninfo), "SELECT 1")
        for number, conninfo in enumerate(CONNINFOS)
    },
    "target: a list of options": lambda: to_kafka([("sasl.password", PASSWORD)]),
    "target: an option without a name": lambda: to_kafka({3: PASSWORD}),
    "target: an invalid value": lambda: to_kafka({"security.protocol": PASSWORD}),
    "target: options as servers": lambda: Kafka({"sasl.password": PASSWORD}),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "target: a URL as servers": lambda: Kafka("SASL_SSL://u:hunter2@h:9093"),
    "input: a user and a password in servers": lambda: KafkaInput("h:9092,u:hunter2@h:9093", "t"),
    "input: a list of options": lambda: from_kafka([("sasl.password", PASSWORD)]),
    "input: an invalid value": lambda: from_kafka(
        {"sasl.mechanism": "X hunter2", "security.protocol": "SASL_SSL"}
    ),
    "input: options of Spark": lambda: KafkaInput(
        "b", "t", spark_options=cast("Mapping[str, str]", {"kafka.sasl.jaas.config": (PASSWORD,)})
    ),
    "a text as a target": lambda: flowalg_sinks.upsert(TOTALS, "postgresql://u:hunter2@h/d", table="t"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "a mapping as a target": lambda: flowalg_sinks.changelog(TOTALS, {"password": PASSWORD}, table="t"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "a text as a sink": lambda: run("postgresql://u:hunter2@h/d"),
    "a mapping as a sink": lambda: run({"password": PASSWORD}),
    "a mapping as a path": lambda: SQLite({"password": PASSWORD}),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "a connection string as a folder": lambda: run(print, "postgresql://u:hunter2@h/d"),
    "a mapping as data": lambda: run(print, {"password": PASSWORD}),
}


def texts(error: BaseException) -> Iterator[str]:
    """Yields what a log shows of an error: its text, and those of its causes."""
    raised: BaseException | None = error
    while raised is not None:
        yield f"{raised} {raised!r}"
        raised = raised.__cause__ or (None if raised.__suppress_context__ else raised.__context__)


@pytest.mark.parametrize("case", CASES)
def test_no_error_has_a_password(case: str) -> None:
    """An argument of a wrong type, or one that a client library cannot use, is an error of ours without the value."""
    with pytest.raises(FlowalgError) as raised:
        CASES[case]()
    assert PASSWORD not in "\n".join(texts(raised.value))


def test_an_error_of_a_server_has_no_password(tmp_path: Path) -> None:
    """If a server cannot be reached, the error names it, and neither it nor what observers show has the password."""
    events: list[QueryEvent] = []
    target = PostgreSQL("host=localhost port=1 user=u password=hunter2 sslmode=hunter2", timeout=SECOND)
    (tmp_path / "in").mkdir()
    message = "PostgreSQL with host=localhost port=1 user=u cannot be written: connection is bad"
    with pytest.raises(flowalg_sinks.SinkError, match=message) as raised:
        streaming.run(
            TOTALS,
            {SCORES: StreamInput(tmp_path / "in", WATERMARK)},
            sink=flowalg_sinks.upsert(TOTALS, target, table="t"),
            drain=True,
            observers=[events.append],
        )
    assert PASSWORD not in "\n".join([*texts(raised.value), *map(repr, events)])
    assert len(events) == 2


def test_a_transaction_waits_with_a_limit(server: str) -> None:
    """A transaction that another one keeps from a table fails after the timeout, and names both remedies."""
    first, second = PostgreSQL(server), PostgreSQL(server, timeout=timedelta(milliseconds=50))
    with first.transaction() as holding:
        holding.last_batch("waits")
        with (
            pytest.raises(
                flowalg_sinks.SinkError, match="has held a table of the sink for more than 0:00:00.05"
            ),
            second.transaction() as waiting,
        ):
            waiting.last_batch("waits")
    with second.transaction() as free:
        assert free.last_batch("waits") is None
