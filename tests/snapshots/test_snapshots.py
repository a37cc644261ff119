"""Snapshots of a table: what elements read from them, on all engines, and what cannot be a snapshot."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count, repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import flowalg_polars
import flowalg_reference as reference
import flowalg_spark
import polars as pl
import psycopg
import pytest
from attrs import frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import StreamInput
from flowalg_snapshots import Snapshots, postgresql_rows
from flowalg_spark.streaming.interpreter import run_to_end
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from flowalg import FixedWindows, MonotonicTimestamps, Source, ToList
from flowalg.data.errors import ArgumentError, ElementError, SchemaMismatchError

MINUTE = timedelta(minutes=1)
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@frozen
class Price:
    """A row of the table, at the time of its snapshot."""

    item: str
    cents: int
    at: datetime


@frozen
class Order:
    """An order of an item."""

    item: str
    at: datetime


PRICES = Source("prices", Price, event_time=lambda price: price.at)
ORDERS = Source("orders", Order, event_time=lambda order: order.at)
TABLE = (
    PRICES.map(lambda price: (price.item, price.cents))
    .window(FixedWindows(MINUTE), allowed_lateness=timedelta(0))
    .combine_globally(ToList())
    .as_singleton()
    .latest_complete()
)


def bill(order: Order, rows: list[tuple[str, int]]) -> tuple[str, int | None, datetime]:
    """Returns an order with its price."""
    return (order.item, dict(rows).get(order.item), order.at)


BILLED = ORDERS.map_with(TABLE, bill)

Rows = Sequence[Mapping[str, object]]


def snapshots_in(folder: Path, states: Iterator[Rows]) -> Snapshots[Price]:
    """Returns snapshots of a table that has one state after another."""
    return Snapshots(PRICES, folder / "prices", lambda: next(states), time="at", every=MINUTE)


def rows_of(prices: Mapping[str, int]) -> Rows:
    """Returns the rows of a table of prices, which has a further column."""
    return [{"item": item, "cents": cents, "note": "x"} for item, cents in prices.items()]


@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), min_size=1), min_size=1, max_size=6),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 6 * 60 - 1)), max_size=8),
)
def test_an_element_reads_the_newest_snapshot_at_its_time(
    states: list[dict[str, int]], orders: list[tuple[str, int]]
) -> None:
    """Whatever changes and disappears, an order reads the table as it was when its minute began."""
    with TemporaryDirectory() as scratch:
        snapshots = snapshots_in(Path(scratch), map(rows_of, states))
        for minute in range(len(states)):
            assert snapshots.take(NOON + minute * MINUTE + MINUTE / 3) is not None
        made = [Order(item, NOON + timedelta(seconds=second)) for item, second in orders]
        covered = [order for order in made if order.at < NOON + len(states) * MINUTE]
        read = ((order, states[(order.at - NOON) // MINUTE]) for order in covered)
        expected = sorted(
            ((order.item, prices.get(order.item), order.at) for order, prices in read), key=repr
        )
        records = flowalg_spark.records_in(PRICES, snapshots.table())
        batch = reference.run_batch(BILLED, {ORDERS: covered, PRICES: records})
        assert sorted((element.element for element in batch.elements), key=repr) == expected
        local = flowalg_polars.batch.run(
            BILLED, {ORDERS: _orders(covered), PRICES: pl.DataFrame(pl.from_arrow(snapshots.table()))}
        )
        assert sorted((element.element for element in local.elements), key=repr) == expected


def _orders(orders: Sequence[Order]) -> pl.DataFrame:
    frame = pl.from_arrow(flowalg_spark.record_table(ORDERS, orders))
    assert isinstance(frame, pl.DataFrame)
    return frame


@pytest.fixture
def prices(server: str) -> Iterator[psycopg.Connection]:
    """A table of prices in PostgreSQL."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE prices (item text, cents integer, changed timestamptz DEFAULT now())"
        )
        connection.execute("INSERT INTO prices VALUES ('tea', 300), ('cup', 900)")
        yield connection
        connection.execute("DROP TABLE prices")


FIRST = [
    Order("tea", NOON + MINUTE / 2),
    Order("cup", NOON + MINUTE / 2),
    Order("tea", NOON + 3 * MINUTE / 2),
]
SECOND = [Order("cup", NOON + 5 * MINUTE / 2), Order("tea", NOON + 5 * MINUTE / 2)]
EXPECTED = sorted(
    [
        ("tea", 300, NOON + MINUTE / 2),
        ("cup", 900, NOON + MINUTE / 2),
        ("tea", 250, NOON + 3 * MINUTE / 2),
        ("cup", None, NOON + 5 * MINUTE / 2),
        ("tea", 250, NOON + 5 * MINUTE / 2),
    ],
    key=repr,
)


def growing_inputs(server: str, prices: psycopg.Connection, folder: Path) -> Iterator[Snapshots[Price]]:
    """Writes the first orders and the snapshots of 12:00 and 12:01, then the others, while the table changes."""
    rows = postgresql_rows(server, "SELECT item, cents FROM prices")
    snapshots = Snapshots(PRICES, folder / "prices", rows, time="at", every=MINUTE)
    (folder / "orders").mkdir()
    _orders(FIRST).write_parquet(folder / "orders" / "1.parquet")
    snapshots.take(NOON)
    prices.execute("UPDATE prices SET cents = 250 WHERE item = 'tea'")
    snapshots.take(NOON + MINUTE)
    yield snapshots
    _orders(SECOND).write_parquet(folder / "orders" / "2.parquet")
    prices.execute("DELETE FROM prices WHERE item = 'cup'")
    snapshots.take(NOON + 2 * MINUTE)
    snapshots.take(NOON + 3 * MINUTE)
    yield snapshots


def test_a_table_in_postgresql_enriches_a_local_stream(
    server: str, prices: psycopg.Connection, tmp_path: Path
) -> None:
    """A query that is started again reads rows that were updated and deleted since."""
    elements: list[tuple[str, int | None, datetime]] = []
    for snapshots in growing_inputs(server, prices, tmp_path):
        inputs = {
            ORDERS: StreamInput(tmp_path / "orders", MonotonicTimestamps()),
            PRICES: streaming.snapshot_input(snapshots),
        }
        for batch in streaming.batches(BILLED, inputs, checkpoint=tmp_path / "checkpoint"):
            elements += [element.element for element in batch.elements]
    assert sorted(elements, key=repr) == EXPECTED


@pytest.mark.thorough
def test_a_table_in_postgresql_enriches_a_stream_of_spark(
    spark: SparkSession, server: str, prices: psycopg.Connection, tmp_path: Path
) -> None:
    """As on the local engine, with a checkpoint of Spark."""
    for snapshots in growing_inputs(server, prices, tmp_path):
        files = spark.readStream.schema(flowalg_spark.schema_of(ORDERS)).parquet(str(tmp_path / "orders"))
        inputs = {
            ORDERS: flowalg_spark.StreamInput(files, MonotonicTimestamps()),
            PRICES: flowalg_spark.snapshot_input(spark, snapshots),
        }
        frame = flowalg_spark.streaming.compile(BILLED, inputs, shards=1).with_drops()
        run_to_end(frame, tmp_path / "out", tmp_path / "checkpoint")
    elements = flowalg_spark.collect_elements(BILLED, spark.read.parquet(str(tmp_path / "out")))
    assert sorted((element.element for element in elements), key=repr) == EXPECTED


def test_a_window_has_one_snapshot_and_an_unchanged_table_is_not_stored_again(tmp_path: Path) -> None:
    """A second process finds the file of the window; rows in another order are the same table."""
    first, again = rows_of({"a": 1, "b": 2}), rows_of({"b": 2, "a": 1})
    snapshots = snapshots_in(tmp_path, iter([first, again, rows_of({"a": 1})]))
    assert snapshots.take(NOON) is not None
    assert snapshots.take(NOON + MINUTE / 2) is None
    snapshots.take(NOON + MINUTE)
    assert snapshots.table().num_rows == 2
    snapshots.take(NOON + 2 * MINUTE)
    last = NOON + 2 * MINUTE - timedelta(microseconds=1)
    assert snapshots.table()["at"].to_pylist()[2:] == [last]
    assert snapshots.take(NOON) is None


def test_rows_are_stored_again_once_their_file_is_removed(tmp_path: Path) -> None:
    """A table that does not change stores its rows once, for as long as their file exists."""
    snapshots = snapshots_in(tmp_path, repeat(rows_of({"a": 1})))
    first = snapshots.take(NOON)
    for minute in (1, 2):
        snapshots.take(NOON + minute * MINUTE)
    assert snapshots.table().num_rows == 1
    assert first is not None
    first.unlink()
    snapshots.take(NOON + 3 * MINUTE)
    assert snapshots.table()["at"].to_pylist() == [NOON + 3 * MINUTE - timedelta(microseconds=1)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the table has no rows; a side input cannot lose all its values"),
        ([{"item": "a"}], "cents must be int .*got no such column"),
        ([{"item": "a", "cents": "x"}], "cents must be int .*got string.*'x'"),
        ([{"item": "a", "cents": None}], "cents must be of type int; got null in row 1"),
        (
            [{"item": "a", "cents": 1}, {"item": "b", "cents": object()}],
            "snapshot of source 'prices'.*object",
        ),
    ],
)
def test_rows_that_are_not_records_raise(rows: Rows, message: str, tmp_path: Path) -> None:
    """An error names the column and the value. No file is written, so elements wait."""
    snapshots = snapshots_in(tmp_path, iter([rows]))
    with pytest.raises((ElementError, SchemaMismatchError), match=message):
        snapshots.take(NOON)
    assert list((tmp_path / "prices").iterdir()) == []


def test_arguments_are_checked(tmp_path: Path) -> None:
    """The time must be the source's event time, and the length positive."""
    other = Source("prices", Price, event_time=lambda price: price.at - MINUTE)
    with pytest.raises(ArgumentError, match="the field that is the event time of source 'prices'"):
        Snapshots(other, tmp_path, lambda: rows_of({"a": 1}), time="at", every=MINUTE).take(NOON)
    with pytest.raises(ArgumentError, match=r"Snapshots\.time .*'cents'"):
        Snapshots(PRICES, tmp_path, list, time="cents", every=MINUTE)
    with pytest.raises(ArgumentError, match=r"Snapshots\.every"):
        Snapshots(PRICES, tmp_path, list, time="at", every=timedelta(0))


def test_a_database_that_is_away_is_asked_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Failures are logged, and have no file; the next window has a snapshot."""

    calls = count()

    def read() -> Rows:
        if not next(calls):
            raise OSError("no route")
        return rows_of({"a": 1})

    every = timedelta(milliseconds=200)
    snapshots = Snapshots(PRICES, tmp_path / "prices", read, time="at", every=every)
    with caplog.at_level(logging.WARNING), snapshots.follow() as following:
        until = time.monotonic() + 30
        while not list(Path(snapshots.folder).glob("2*.parquet")) and time.monotonic() < until:
            time.sleep(0.02)
        assert following.error is None
    assert "no snapshot of prices: no route" in caplog.text
    assert snapshots.table()["cents"].to_pylist() == [1]
