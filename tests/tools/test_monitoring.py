"""Operating a query: its metrics in Prometheus and OpenTelemetry, its log lines, and its page, for a real query.

These tests catch a metric that two exporters show differently, a value that is not that of the query, text of the data
that is read as HTML, and a server that answers others or stays.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

import pytest
from flowalg_polars import streaming
from flowalg_polars.streaming import MicroBatch
from flowalg_tools.monitoring import (
    METRICS,
    MetricKind,
    Monitor,
    QueryState,
    QueryStatus,
    StatusServer,
    local_windows,
    log_to,
    serve,
    status_after,
)
from flowalg_tools.monitoring.open_telemetry import instrument
from flowalg_tools.monitoring.prometheus import prometheus_text, register
from flowalg_tools.monitoring.windows import explain_watermark
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint, Sum
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from flowalg import FixedWindows, Max
from flowalg.errors import ArgumentError
from flowalg.runs.events import QueryAdvanced, QueryEnded, QueryEvent, QueryStarted
from flowalg.windows import TimestampCombiner
from tests.support.observed import BATCHES, HOSTILE, MINUTE, TOTALS, run_observed, scores_stream
from tests.support.programs import run_program
from tests.support.scores import SCORES

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
"""Values of metrics by the name and the labels."""


def observed_events() -> list[QueryEvent]:
    """Returns the events of the query."""
    events: list[QueryEvent] = []
    run_observed(events.append)
    return events


def running_status(checkpoint: Path | None = None) -> Monitor:
    """Returns the monitor of a query that has run all micro-batches but the last, and still runs."""
    monitor, events = Monitor(), list[QueryEvent]()
    run_observed(events.append, checkpoint=checkpoint)
    for event in events[:-2]:
        monitor(event)
    return monitor


def samples_of(monitor: Monitor, *, prometheus: bool) -> Samples:
    """Returns all samples of the table of metrics."""
    return {
        (
            metric.prometheus_name if prometheus else metric.name,
            frozenset(zip(metric.labels, labels, strict=True)),
        ): float(value)
        for metric in METRICS
        for status in monitor.statuses
        for labels, value in metric.samples(status)
    }


def test_a_status_has_the_totals_of_a_query() -> None:
    """Totals are the sums over all micro-batches, and the state is that of the last event."""
    status: QueryStatus | None = None
    events: list[QueryEvent] = []
    batches = run_observed(events.append)
    for event in events:
        status = status_after(status, event)
    assert status is not None
    assert status.total is not None
    assert (status.state, status.batches, status.error) == (QueryState.ENDED, len(batches), None)
    for stage in status.total.stages:
        for name in ("early", "on_time", "late", "retraction", "expired"):
            counts = [getattr(batch.metrics[stage.number], name) for batch in batches]
            assert getattr(stage, name) == sum(counts)
    totals = status.total.stages[0]
    assert all((totals.early, totals.on_time, totals.late, totals.retraction, totals.expired))
    assert status.total.bad_records == 1
    failed = status_after(status, QueryEnded("best", NOW, "OSError: away"))
    assert (failed.state, failed.error) == (QueryState.FAILED, "OSError: away")
    again = status_after(failed, QueryStarted("best", NOW))
    assert (again.state, again.error, again.batches) == (QueryState.RUNNING, None, len(batches))


def test_prometheus_reads_the_values_of_the_table() -> None:
    """The library's parser reads every sample from the text, with its labels; the registry shows the same text."""
    monitor = running_status()
    text = prometheus_text(monitor.statuses)
    families = list(text_string_to_metric_families(text))
    samples = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }
    assert samples == samples_of(monitor, prometheus=True)
    assert {family.documentation for family in families} == {metric.meaning for metric in METRICS}
    panes = (("query", "best"), ("stage", "0 combine_per_key(Sum)"), ("kind", "late"))
    assert samples["flowalg_stage_panes_total", frozenset(panes)] == 2
    registry = CollectorRegistry()
    register(monitor, registry)
    assert generate_latest(registry).decode() == text


def test_opentelemetry_reads_the_values_of_the_table() -> None:
    """A reader of the library has every sample, with its unit, and counters are monotonic sums."""
    monitor, reader = running_status(), InMemoryMetricReader()
    provider = MeterProvider([reader])
    instrument(monitor, provider)
    data = reader.get_metrics_data()
    assert data is not None
    metrics = [
        metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    ]
    samples = {
        (
            metric.name,
            frozenset((name, str(value)) for name, value in (point.attributes or {}).items()),
        ): float(point.value)
        for metric in metrics
        for point in metric.data.data_points
        if isinstance(point, NumberDataPoint)
    }
    assert samples == samples_of(monitor, prometheus=False)
    kinds = {metric.name: metric for metric in METRICS}
    for metric in metrics:
        expected = kinds[metric.name]
        assert (metric.unit, metric.description) == (expected.unit, expected.meaning)
        assert (isinstance(metric.data, Sum) and metric.data.is_monotonic) == (
            expected.kind is MetricKind.COUNTER
        )
    provider.shutdown()


def test_names_of_metrics_follow_the_conventions() -> None:
    """Names are unique, counters end with the unit and total, and labels begin with the query."""
    names = [metric.prometheus_name for metric in METRICS]
    assert len(set(names)) == len(names)
    for metric in METRICS:
        assert re.fullmatch(r"flowalg_(query|stage|source)_[a-z_]+", metric.prometheus_name)
        assert metric.prometheus_name.endswith("_total") == (metric.kind is MetricKind.COUNTER)
        assert ("_seconds" in metric.prometheus_name) == (metric.unit == "s")
        assert metric.labels[0] == "query"


def test_gauges_of_stages_disappear_when_the_query_ends() -> None:
    """Alerts on the state of stages and sources do not fire for a query that has ended; its counters stay."""
    monitor = running_status()
    monitor(QueryEnded("best", NOW))
    for metric in METRICS:
        samples = list(metric.samples(monitor.statuses[0]))
        assert bool(samples) == (metric.kind is MetricKind.COUNTER or metric.name.startswith("flowalg.query"))


def test_log_lines_are_events_as_json(caplog: pytest.LogCaptureFixture) -> None:
    """Each event is a line of JSON with the fields of its progress, and a failure is an error."""
    logger = logging.getLogger("operating")
    caplog.set_level(logging.INFO, "operating")
    log = log_to(logger)
    events = [*observed_events()[:-1], QueryEnded("best", NOW, "OSError:\naway")]
    for event in events:
        log(event)
    lines = [json.loads(record.getMessage()) for record in caplog.records]
    assert all("\n" not in record.getMessage() for record in caplog.records)
    assert [line["event"] for line in lines] == ["started", *["advanced"] * (len(BATCHES) + 1), "failed"]
    assert [record.levelno for record in caplog.records] == [
        *[logging.INFO] * (len(lines) - 1),
        logging.ERROR,
    ]
    assert lines[-1]["error"] == "OSError:\naway"
    for line, event in zip(lines, events, strict=True):
        assert datetime.fromisoformat(line["time"]) == event.time
        if isinstance(event, QueryAdvanced):
            progress = event.progress
            assert (line["batch"], line["bad_records"]) == (progress.batch, progress.bad_records)
            assert [stage["windows"] for stage in line["stages"]] == [
                stage.windows for stage in progress.stages
            ]
            assert [source["elements"] for source in line["sources"]] == [progress.elements]
    first, last = lines[1]["stages"][0], lines[-2]["stages"][0]
    assert (first["watermark"], first["watermark_lag"]) == ("2024-01-01T12:00:00Z", 90)
    assert (last["watermark"], last["watermark_lag"]) == (None, None)
    with pytest.raises(ArgumentError, match="logger must be a logging.Logger, .*; got 'log'"):
        log_to("log")  # type: ignore[arg-type]  # a fault on purpose


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StatusServer]:
    """The page of the query, whose last commit is that of the end of its input but one."""
    monitor = Monitor()
    query = streaming.batches(
        TOTALS,
        {SCORES: scores_stream()},
        checkpoint=tmp_path / "checkpoint",
        dead_letters=True,
        name="totals",
        observers=[monitor],
    )
    for _ in range(3):
        next(query)
    with serve(monitor, port=0, windows={"totals": local_windows(tmp_path / "checkpoint")}) as running:
        yield running
    query.close()


def get(
    server: StatusServer, path: str, *, method: str = "GET", host: str | None = None
) -> tuple[int, Mapping[str, str], str]:
    """Returns the status, the headers and the text of an answer."""
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    try:
        connection.request(method, path, headers={} if host is None else {"Host": host})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def test_the_page_has_the_status_of_the_query(server: StatusServer) -> None:
    """The data of the page have the state of the query, its stages and its sources."""
    _, headers, text = get(server, "/status.json")
    assert headers["Content-Type"] == "application/json"
    (query,) = json.loads(text)["queries"]
    assert (query["query"], query["state"], query["batches"], query["bad_records"]) == (
        "totals",
        "running",
        2,
        1,
    )
    (stage,) = query["stages"]
    assert (stage["watermark"], stage["lag"], stage["open_windows"]) == ("2024-01-01 12:02:00", 90, 3)
    assert stage["why"] == "The watermark is 2024-01-01 12:02:00, that of source 'scores'."
    (source,) = query["sources"]
    assert (source["source"], source["elements"], source["idle"]) == ("scores", 6, False)
    assert "flowalg_query_batches_total" in get(server, "/metrics")[2]


def test_the_page_shows_what_open_windows_wait_for(server: StatusServer) -> None:
    """The windows of a stage are those of the checkpoint, by the watermark at which they are due, with the reason."""
    windows = json.loads(get(server, f"/windows.json?{urlencode({'query': 'totals', 'stage': 0})}")[2])
    assert windows["total"] == 3
    assert windows["rows"][0] == {
        "key": "blue",
        "window": "2024-01-01 12:02:00 to 12:04:00",
        "panes": "1",
        "waits": "nothing to emit now; due when the watermark reaches 2024-01-01 12:04:00",
    }
    assert {row["key"] for row in windows["rows"]} == {"red", "blue", HOSTILE}
    for path in ("/windows.json", "/windows.json?query=totals&stage=7", "/windows.json?query=best&stage=0"):
        status, _, text = get(server, path)
        assert (status, json.loads(text)["error"]) == (
            404,
            "there is no such query, or its windows are not shown",
        )


def test_an_error_of_reading_windows_is_shown(tmp_path: Path) -> None:
    """A checkpoint that cannot be read is an answer with the error, and the page goes on."""
    with serve(running_status(), port=0, windows={"best": local_windows(tmp_path / "none")}) as server:
        status, _, text = get(server, "/windows.json?query=best&stage=0")
        assert status == 500
        assert json.loads(text)["error"].startswith("CheckpointError: ")
        assert get(server, "/status.json")[0] == 200


def test_the_server_only_reads_and_answers_only_its_own_names(server: StatusServer) -> None:
    """Other methods, other paths and other names are refused, and the page may load nothing from elsewhere."""
    status, headers, page = get(server, "/")
    assert status == 200
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "http:" not in page
    assert "https:" not in page
    assert [get(server, path)[0] for path in ("/status.js", "/status.css", "/nothing", "/../status.py")] == [
        200,
        200,
        404,
        404,
    ]
    assert [get(server, "/", method=method)[0] for method in ("POST", "PUT", "DELETE")] == [501] * 3
    assert get(server, "/status.json", host="elsewhere.example")[0] == 403
    assert get(server, "/status.json", host="localhost:1")[0] == 200


@pytest.mark.parametrize(
    ("path", "host"),
    [("/", "["), ("/", "[::1"), ("/", "]"), ("http://[x/", "localhost")],
)
def test_a_request_that_is_not_valid_is_refused(
    server: StatusServer, path: str, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A malformed address or name is answered with the reason, in one line, and nothing is printed."""
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=60)) as connection:
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        response = connection.getresponse()
        assert response.status == 400
        assert json.loads(response.read())["error"].startswith("the request is not valid: ")
    assert "".join(capsys.readouterr()) == ""


def test_the_script_of_the_page_reads_no_text_as_html(server: StatusServer) -> None:
    """Text enters the page as text only, and no code is made of it."""
    script = get(server, "/status.js")[2]
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert way not in script


def test_a_server_stops_and_frees_its_port() -> None:
    """After ``close`` nobody listens, and another server can have the port; a port that is taken is an error."""
    monitor = Monitor()
    with serve(monitor, port=0) as server:
        port = int(urlsplit(server.url).port or 0)
        with pytest.raises(ArgumentError, match=f"host, port must be an address .*; got '127.0.0.1:{port}'"):
            serve(monitor, port=port)
    with pytest.raises(ConnectionRefusedError):
        get(server, "/")
    with serve(monitor, port=port) as again:
        assert json.loads(get(again, "/status.json")[2])["queries"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"monitor": 3}, "monitor must be a Monitor; got 3"),
        ({"host": 3}, "host must be an address or a name, such as '127.0.0.1'; got 3"),
        ({"port": 70000}, "port must be an int from 0 to 65535; got 70000"),
    ],
)
def test_wrong_arguments_of_a_server_are_rejected(arguments: dict[str, object], message: str) -> None:
    """Errors name the argument and what is valid."""
    with pytest.raises(ArgumentError, match=message):
        serve(**{"monitor": Monitor(), **arguments})  # type: ignore[arg-type]  # a fault on purpose


def test_the_reason_of_a_watermark_is_the_source_or_an_earlier_stage() -> None:
    """A watermark is that of its slowest source and partition, or an earlier stage holds it for its pending panes."""
    early = (
        SCORES.key_by(lambda score: score.team)
        .window(
            FixedWindows(10 * MINUTE),
            allowed_lateness=MINUTE,
            timestamp_combiner=TimestampCombiner.EARLIEST,
        )
        .combine_per_key(Max.of(lambda score: score.points))
    )
    pipeline = (
        early.map(lambda pair: pair.value)
        .window(FixedWindows(MINUTE), allowed_lateness=MINUTE)
        .combine_globally(Max())
    )

    def second_batch(partition: str | None) -> MicroBatch[int]:
        stream = scores_stream(partition=partition)
        with closing(
            streaming.batches(pipeline, {SCORES: stream}, metrics=True, dead_letters=True)
        ) as batches:
            next(batches)
            return next(batches)

    batch = second_batch("team")
    assert explain_watermark(batch.metrics[0], batch.sources) == (
        "The watermark is 2024-01-01 12:00:00, that of source 'scores'. Its least advanced partition is "
        f"'{HOSTILE}', which has reached 2024-01-01 12:01:00."
    )
    batch = second_batch(None)
    first, second = (explain_watermark(stage, batch.sources) for stage in batch.metrics)
    assert first == "The watermark is 2024-01-01 12:02:00, that of source 'scores'."
    assert second == (
        "The watermark is 2024-01-01 12:00:00. All sources are further: an earlier stage holds the watermark for what "
        "it may still emit."
    )


def chromium() -> str | None:
    """Returns the path of a headless browser, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.long
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")
def test_a_browser_shows_a_key_with_html_as_text(server: StatusServer, tmp_path: Path) -> None:
    """In a browser the page has the numbers and windows of the query, and a key that contains HTML is text."""
    command = [
        str(chromium()),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'browser'}",
        "--virtual-time-budget=6000",
        "--dump-dom",
        f"{server.url}#windows",
    ]
    page = run_program(command, check=True).stdout
    assert "<title>flowalg: running queries</title>" in page
    assert "combine_per_key(Sum): 3 open" in page
    assert "&lt;img src=x onerror=\"document.title='run'\"&gt;" in page
    assert "<img" not in page
    assert "due when the watermark reaches 2024-01-01 12:04:00" in page
