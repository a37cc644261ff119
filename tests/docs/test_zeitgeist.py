"""Zeitgeist: anomalies that were injected are found, by all engines alike, at known delays.

These tests catch a detector that depends on batches, alerts that are matched to the wrong anomaly, and a generator
whose watermark lies.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from attrs import evolve
from flowalg_laws import check_computation
from hypothesis import strategies as st
from zeitgeist import (
    Alert,
    Bucket,
    Detection,
    Generator,
    Injected,
    Kind,
    Model,
    Search,
    Traffic,
    alerts,
    detector,
    model_calculator,
    model_updates,
    score,
    window_counter,
    window_counts,
)
from zeitgeist.running import on_reference, run_zeitgeist
from zeitgeist.searches import BEGIN, SECOND

from flowalg import KV, flatten
from flowalg.data.time import event_time, processing_time
from flowalg.runs import OutputElement

SMALL = Generator(queries=8, seconds=330, anomalies=10)


@pytest.fixture(scope="module")
def traffic() -> Traffic:
    """Searches of some minutes."""
    return SMALL()


def alert(query: str, kind: Kind, second: int, given_second: int) -> OutputElement[KV[str, Alert]]:
    """An alert for an anomaly that begins at a second of the traffic, and when it was given."""
    given_at = BEGIN + given_second * SECOND
    value = Alert(kind, BEGIN + second * SECOND, 5.0)
    return OutputElement(KV(query, value), event_time(given_at), processing_time(given_at))


def test_the_low_watermark_is_that_of_an_injector(traffic: Traffic) -> None:
    """Nothing that is observed later is behind it, and it never goes back."""
    frame = traffic.frame
    assert frame["seen"].is_sorted()
    assert frame["low_watermark"].is_sorted()
    assert (frame["low_watermark"][:-1] <= frame["at"][1:]).all()
    assert frame.filter(pl.col("at") > pl.col("seen")).is_empty()


def test_anomalies_change_the_traffic(traffic: Traffic) -> None:
    """In a dip there are no searches; in a spike there are more than in the seconds before."""
    for injected in traffic.injected:
        length = injected.end - injected.start
        own = traffic.frame.filter(query=injected.query)["at"]
        during = own.is_between(injected.start, injected.end, closed="left").sum()
        before = own.is_between(injected.start - length, injected.start, closed="left").sum()
        assert during == 0 if injected.kind is Kind.DIP else during > 2 * before
    assert {injected.kind for injected in traffic.injected} == set(Kind)


buckets = st.builds(Bucket, st.just(BEGIN), st.integers(0, 100))
models = st.builds(Model, st.floats(0, 100), st.integers(0, 100))
a_search = st.builds(Search, st.just("a"), st.just(BEGIN), st.just(BEGIN), st.just(BEGIN))


def test_each_of_the_three_is_a_computation() -> None:
    """Their transitions are valid and deterministic, and in order they do not depend on micro-batches."""
    check_computation(window_counter, a_search)
    check_computation(model_calculator, buckets)
    either: st.SearchStrategy[Bucket | Model] = buckets | models
    check_computation(detector, either)


def test_the_streams_have_the_types_of_the_paper() -> None:
    """The detector reads a stream of counts and one of models (Figure 3)."""
    assert str(window_counts.shape) == "KV[str, Bucket]"
    assert str(model_updates.shape) == "KV[str, Model]"
    assert str(flatten(window_counts, model_updates).shape) == "KV[str, Bucket | Model]"
    assert str(alerts.shape) == "KV[str, Alert]"


@pytest.mark.thorough
def test_anomalies_are_found(traffic: Traffic) -> None:
    """All spikes and dips of the traffic are found, no others are, and dips only by their silence."""
    scores = score(on_reference(traffic), traffic.injected, traffic.end)
    assert (scores.recall, scores.false_alerts) == (1.0, ())
    dips = [detection.delay for detection in scores.found if detection.injected.kind is Kind.DIP]
    assert all(delay is not None and delay > SECOND for delay in dips)


@pytest.mark.thorough
def test_engines_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference and the local engine find the same anomalies; the last line says so, and a picture shows them."""
    monkeypatch.setattr("zeitgeist.running.why_not", lambda: "it is left out here")
    assert run_zeitgeist(tmp_path, SMALL)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "zeitgeist: all engines agree, precision 1.000, recall 1.000"
    assert (tmp_path / "zeitgeist.svg").read_text().count("query-") >= 3


@pytest.mark.thorough
@pytest.mark.spark
def test_spark_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So do Spark batch and Spark streaming."""
    assert run_zeitgeist(tmp_path, evolve(SMALL, queries=3, seconds=200, anomalies=3))
    assert "Spark streaming" in capsys.readouterr().out


def test_scores_count_each_anomaly_once() -> None:
    """An alert of another query or kind, or outside of the anomaly, is false; a second alert for it counts no more."""
    spike = Injected("a", Kind.SPIKE, BEGIN + 10 * SECOND, BEGIN + 20 * SECOND)
    dip = Injected("b", Kind.DIP, BEGIN + 10 * SECOND, BEGIN + 20 * SECOND)
    late, early = alert("a", Kind.SPIKE, 12, 15), alert("a", Kind.SPIKE, 11, 13)
    false = [alert("a", Kind.DIP, 11, 13), alert("b", Kind.SPIKE, 11, 13), alert("b", Kind.DIP, 20, 22)]
    silent_at_the_end = alert("a", Kind.DIP, 29, 31)
    scores = score([late, early, *false, silent_at_the_end], [spike, dip], BEGIN + 30 * SECOND)
    assert scores.detections == (Detection(spike, early), Detection(dip, None))
    assert set(scores.false_alerts) == set(false)
    assert (scores.precision, scores.recall) == (1 / 4, 1 / 2)
    assert scores.median_delay == timedelta(seconds=3)
