"""The queries of Nexmark have the same answers on every engine, and those of their SQL.

The tests catch an engine or a pipeline whose rows differ, a query that finds nothing to compare, and events
that are not those of the model.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from docs.benchmarks.nexmark import on_flink, on_spark
from docs.benchmarks.nexmark.agreement import BY_HAND, FEW, LOCAL, LOCAL_RIVALS, compare
from docs.benchmarks.nexmark.answers import agree
from docs.benchmarks.nexmark.engines import (
    Tables,
    on_duckdb,
    on_local_batch,
    on_local_stream,
    on_polars,
)
from docs.benchmarks.nexmark.generator import DELAY, Scale, generate, tables
from docs.benchmarks.nexmark.page import PAGE, page_with
from docs.benchmarks.nexmark.queries.all import QUERIES
from docs.benchmarks.nexmark.query import Query, Rejected
from docs.benchmarks.nexmark.structured_streaming import on_structured_streaming
from docs.benchmarks.nexmark.timing import table
from tests.peers.environments import MissingPeer
from tests.support.depth import a_few

SPARSE = Scale(500, rate=0.01, files=3)
"""Events of half a day, so that windows of ten seconds have one, and parts of the day differ."""

VARIED = [QUERIES[number] for number in (4, 7, 13, 15)]
"""A join with retractions, values of a side input, a lookup, and an aggregate with filters."""


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The tables of many events in a short time."""
    return tables(tmp_path_factory.mktemp("nexmark"), FEW)


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """The tables of few events in a long time."""
    return tables(tmp_path_factory.mktemp("nexmark"), SPARSE)


@pytest.mark.long
@pytest.mark.parametrize("query", a_few(QUERIES, VARIED), ids=lambda query: query.label)
def test_engines_agree_with_sql(query: Query, dense: Tables) -> None:
    """The reference, the local engine over a batch and a stream, and queries by hand have equal rows."""
    expected = on_duckdb(query, dense)
    assert expected.height > 0
    answer = compare(query, {**LOCAL, **LOCAL_RIVALS}, dense)
    assert (answer.rows, answer.different) == (expected.height, ())


@pytest.mark.long
@pytest.mark.parametrize("query", a_few(QUERIES, VARIED), ids=lambda query: query.label)
def test_engines_agree_where_events_are_sparse(query: Query, sparse: Tables) -> None:
    """The local engine and DuckDB have equal rows where most windows have one event, or none."""
    expected = on_duckdb(query, sparse)
    for engine in (on_local_batch, on_local_stream, on_polars):
        assert agree(engine(query, sparse), expected), engine.__name__


@pytest.mark.parametrize("query", a_few(QUERIES, VARIED), ids=lambda query: query.label)
def test_spark_agrees_with_sql(query: Query, dense: Tables, spark: SparkSession) -> None:
    """Spark batch has the rows of the SQL, in DuckDB and in Spark."""
    engines = {
        "Spark batch": [partial(on_spark.on_batch, spark)],
        "SQL": [partial(on_spark.on_sql, spark)],
    }
    assert not compare(query, engines, dense).different


@pytest.mark.thorough
@pytest.mark.parametrize("number", [4, 7, 12])
def test_spark_streaming_agrees_with_sql(number: int, dense: Tables, spark: SparkSession) -> None:
    """A join with retractions, a side input and windows of arrival: ``make nexmark`` compares all queries."""
    assert not compare(QUERIES[number], {"stream": [partial(on_spark.on_stream, spark)]}, dense).different


@pytest.mark.thorough
@pytest.mark.parametrize("number", [5, 12, 15, 18])
def test_structured_streaming_by_hand_agrees_with_sql(
    number: int, dense: Tables, spark: SparkSession
) -> None:
    """Two groupings, windows of arrival, joins of groupings, and rows that replace others; all by ``make nexmark``."""
    assert not compare(QUERIES[number], {BY_HAND: [partial(on_structured_streaming, spark)]}, dense).different


def test_a_query_that_cannot_be_expressed_is_rejected(dense: Tables, spark: SparkSession) -> None:
    """Spark's reason is reported, and is neither an answer nor a difference."""
    answer = compare(QUERIES[4], {BY_HAND: [partial(on_structured_streaming, spark)]}, dense)
    assert (answer.equal, answer.different) == ((), ())
    assert answer.rejected == {BY_HAND: "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"}


def test_an_answer_that_differs_is_found(dense: Tables) -> None:
    """Of engines with an equal answer, another one and none, each is reported as what it is."""

    def none(query: Query, tables: Tables) -> pl.DataFrame:
        raise Rejected("NO")

    engines = {
        "equal": [on_duckdb],
        "another": [on_duckdb, lambda query, tables: on_duckdb(query, tables)[1:]],
        "none": [none],
    }
    answer = compare(QUERIES[2], engines, dense)
    assert (answer.equal, answer.different, answer.rejected) == (("equal",), ("another",), {"none": "NO"})


def test_a_missing_flink_is_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The benchmark goes on without it, and the line has the reason."""

    def missing(peer: object) -> Path:
        raise MissingPeer("pip install apache-flink: no network")

    monkeypatch.setattr(on_flink, "python_of", missing)
    monkeypatch.setattr(on_flink, "missing_jars", lambda name: None)
    with on_flink.flink() as running:
        assert running is None
    assert capsys.readouterr().out == "Flink is skipped: pip install apache-flink: no network\n"


def test_the_table_has_ratios_and_rejections() -> None:
    """A ratio has its median, a query that Spark rejects by hand is a row, and one without times is none."""
    both = {
        "query": "a",
        "local_s": 1.0,
        "local_to_polars": 1.2,
        "stream_s": 2.0,
        "stream_to_stream_by_hand": 0.5,
    }
    rejected = {"query": "b", "local_s": 2.0, "local_to_polars": 1.4, "stream_s": 3.0}
    lines = list(table([both, rejected, {"query": "c"}]))
    assert [line.split(" | ")[:1] + line.split(" | ")[3:7] for line in lines[2:]] == [
        ["| a", "2.00", "0.50", "1.00", "1.20"],
        ["| b", "3.00", "rejected", "2.00", "1.40"],
        ["| **median**", "", "0.50", "", "1.30"],
    ]


def test_answers_that_differ_do_not_agree(dense: Tables) -> None:
    """A row that is missing, changed or repeated is found."""
    answer = on_duckdb(QUERIES[2], dense)
    assert agree(answer, answer.clone())
    assert not agree(answer, answer[1:])
    assert not agree(answer, answer.with_columns(pl.col("c1") + 1))
    assert not agree(answer, answer.with_columns(pl.col("times") + 1))


def test_queries_are_numbered() -> None:
    """There are the queries 0 to 22, in order."""
    assert [query.number for query in QUERIES] == list(range(23))


def test_events_are_those_of_the_model(tmp_path: Path) -> None:
    """Of 50 events, one is a person, three are auctions and 46 are bids; they are late and skewed as stated."""
    events = generate(Scale(100_000))
    persons, auctions, bids = (events[name] for name in ("person", "auction", "bid"))
    assert [persons.height, auctions.height, bids.height] == [2_000, 6_000, 92_000]
    late = (bids["arrived"] - bids["date_time"]).dt.total_microseconds()
    assert (late > 0).mean() == pytest.approx(0.1, abs=0.02)
    assert late.is_between(0, DELAY // timedelta(microseconds=1)).all()
    assert not bids["date_time"].is_sorted()
    assert bids["arrived"].is_sorted()
    assert auctions["expires"].is_unique().all()
    assert (auctions["expires"] > auctions["date_time"]).all()
    hot = [(bids["auction"] - 1_000) % 100 == 0, (bids["bidder"] - 1_000) % 100 == 1]
    hot.append((auctions["seller"] - 1_000) % 100 == 0)
    shares = [series.mean() for series in hot]
    assert shares == pytest.approx([0.5, 0.75, 0.75], abs=0.02)
    assert events["bid"].equals(generate(Scale(100_000))["bid"])


def test_files_are_in_the_order_of_arrival(dense: Tables) -> None:
    """The events of a file arrive before those of the next, and all files together have all events."""
    files = [pl.read_parquet(file) for file in sorted(dense["bid"].iterdir())]
    assert len(files) == FEW.files
    assert pl.concat(files).equals(generate(FEW)["bid"])
    for file, following in pairwise(files):
        assert file["arrived"].max() <= following["arrived"].min()  # type: ignore[operator]


def test_too_few_events_are_an_error() -> None:
    """An epoch of the model has 50 events."""
    with pytest.raises(ValueError, match="events must be an int of 50 or more, got 10"):
        Scale(10)


def test_the_page_has_the_queries() -> None:
    """The table of the page is up to date: ``python -m docs.benchmarks.nexmark --page`` writes it, and the times."""
    page = PAGE.read_text(encoding="utf-8")
    assert page_with(page) == page
    changed = page_with(page, [{"query": "a", "local_s": 1.0}])
    assert "| a |  |  |  |  | 1.00 |" in changed
    assert len(changed) < len(page)
    assert page.count("](benchmarks/nexmark/queries/") == len(QUERIES)
