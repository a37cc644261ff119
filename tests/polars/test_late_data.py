"""Late data: each element that a stream drops, as data, is that of the reference.

These tests catch an element that is lost or repeated when the elements of a key and window are combined, and a table of
late data that a restart changes.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from datetime import timedelta
from itertools import islice
from pathlib import Path

import polars as pl
import pytest
from flowalg_columns.tables import record_table
from flowalg_laws import check_interpreter, free_timelines
from flowalg_laws.conformance import JOBS, Job, covering
from flowalg_laws.kit.readings import READINGS, START, VALUES, Reading
from flowalg_polars import Cluster, PolarsStreaming, replay, streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_reference import Reference
from flowalg_sinks import SQLite, changelog, late_data
from hypothesis import given, settings

from flowalg import (
    KV,
    BoundedOutOfOrderness,
    FixedWindows,
    Mode,
    Sum,
    Timeline,
)
from flowalg.errors import ArgumentError
from flowalg.runs import Change, DroppedElement, DropReason
from tests.support.late_data import PIPELINES, require_drops

MINUTE = timedelta(minutes=1)
DROPPING = [job for job in JOBS if job.drops]


SUMS = VALUES.window(FixedWindows(2 * MINUTE), allowed_lateness=timedelta(0)).combine_per_key(Sum())
BATCHES = (
    [Reading("a", 1, START + 20 * MINUTE, START)],
    [Reading(key, value, START + MINUTE, START) for key, value in (("a", 2), ("a", 1), ("a", 2), ("b", 3))],
    [Reading("c", 5, START + 30 * MINUTE, START), Reading("a", 7, START, START)],
    [Reading("b", 4, START + 12 * MINUTE, START)],
)
"""Elements, of which the second micro-batch and all but the first of the later ones are late by ten minutes or more."""
LATE = Counter({("a", 2): 2, ("a", 1): 1, ("b", 3): 1, ("a", 7): 1, ("b", 4): 1})


def stream() -> StreamInput:
    """Returns the readings as a stream."""
    frames = Frames([pl.DataFrame(record_table(READINGS, elements)) for elements in BATCHES])
    return StreamInput(frames, BoundedOutOfOrderness(10 * MINUTE))


def test_each_dropped_element_has_its_values_and_times() -> None:
    """A sum of late elements comes apart: each has its value, its window, both times and the watermark before."""
    timeline = (
        Timeline[Reading]()
        .at(START, Reading("a", 1, START + 20 * MINUTE, START), watermark=START + 10 * MINUTE)
        .at(START + MINUTE, *BATCHES[1])
        .end(START + 2 * MINUTE)
    )
    run = PolarsStreaming(late_data=True).run(SUMS, {READINGS: timeline})
    reference = Reference(Mode.MICRO_BATCH).run(SUMS, {READINGS: timeline})
    assert Counter(run.dropped) == Counter(reference.dropped)
    first = run.dropped[0]
    assert isinstance(first, DroppedElement)
    assert first.element == KV("a", 2)
    assert first.window.start.datetime == START
    assert first.event_time.datetime == first.processing_time.datetime == START + MINUTE
    assert first.watermark.datetime == START + 10 * MINUTE
    assert (first.change, first.reason, first.stage) == (
        Change.VALUE,
        DropReason.EXPIRED,
        "combine_per_key(Sum)",
    )
    combined = PolarsStreaming().run(SUMS, {READINGS: timeline})
    assert combined.panes == run.panes
    assert sorted(drop.count for drop in combined.dropped) == [1, 3]


@pytest.mark.parametrize("name", PIPELINES)
def test_what_a_stage_drops_is_what_the_reference_drops(name: str) -> None:
    """In each kind of window, of values and retractions, at a join, a side input and a computation."""
    for cluster in (Cluster(), Cluster(partitions=2, shards=2, restarts=True)):
        require_drops(PolarsStreaming(cluster, late_data=True), name)


@pytest.mark.long
@pytest.mark.parametrize("name", PIPELINES)
@settings(max_examples=max(3, settings().max_examples // 2))
@given(timeline=free_timelines())
def test_late_data_of_any_timeline_are_those_of_the_reference(name: str, timeline: Timeline[Reading]) -> None:
    """The dropped elements of a generated timeline are those of the reference, as a bag."""
    require_drops(PolarsStreaming(late_data=True), name, timeline)


@pytest.mark.parametrize("job", covering(DROPPING), ids=lambda job: job.name)
def test_jobs_that_drop_have_the_late_data_of_the_reference(job: Job) -> None:
    """However the run is divided into partitions and shards."""
    engine = PolarsStreaming(Cluster(partitions=2, shards=3, restarts=True))
    check_interpreter(engine, jobs=[job], ordered=True, late_data=True)


@pytest.mark.thorough
def test_streaming_conforms_with_late_data() -> None:
    """All jobs and generated pipelines have the panes and the dropped elements of the reference."""
    for interpreter in (PolarsStreaming(), PolarsStreaming(mode=Mode.CONTINUOUS)):
        check_interpreter(interpreter, ordered=True, late_data=True, generated=100)


def test_a_replay_has_the_late_data_of_the_stream() -> None:
    """The dropped elements of a replay of the micro-batches are those of the stream, and both are the late ones."""
    streamed = [
        [drop.element for drop in batch.dropped if isinstance(drop, DroppedElement)]
        for batch in streaming.batches(SUMS, {READINGS: stream()}, late_data=True)
    ]
    assert Counter((pair.key, pair.value) for pairs in streamed for pair in map(_pair, pairs)) == LATE
    rows = pl.concat(
        pl.DataFrame(record_table(READINGS, elements)).with_columns(pl.lit(number).alias("batch"))
        for number, elements in enumerate(BATCHES)
    )
    replayed = replay(
        SUMS,
        {READINGS: rows},
        watermark=BoundedOutOfOrderness(10 * MINUTE),
        processing_time="seen",
        micro_batch="batch",
        late_data=True,
    )
    elements = [
        drop.element for batch in replayed for drop in batch.dropped if isinstance(drop, DroppedElement)
    ]
    assert Counter(map(repr, elements)) == Counter(repr(pair) for pairs in streamed for pair in pairs)


def _pair(element: object) -> KV[object, object]:
    assert isinstance(element, KV)
    return element


def test_a_table_has_each_dropped_element_once(tmp_path: Path) -> None:
    """A repeated micro-batch adds no row of late data; the table of drops of a changelog counts the same elements."""
    target = SQLite(tmp_path / "tables.db")
    sinks = [late_data(SUMS, target, table="late"), changelog(SUMS, target, table="panes")]
    for stop in (2, 1, None):
        batches = streaming.batches(
            SUMS, {READINGS: stream()}, checkpoint=tmp_path / "checkpoint", late_data=True
        )
        for batch in islice(batches, stop):
            for sink in sinks:
                batch.write_to(sink)
        batches.close()
    with sqlite3.connect(tmp_path / "tables.db") as connection:
        late = connection.execute(
            "SELECT key, element, event_time, stage, reason, change, input FROM late"
        ).fetchall()
        counted = connection.execute("SELECT count(*), sum(count) FROM panes_drops").fetchall()
    elements = [(json.loads(key), json.loads(element)) for key, element, *_ in late]
    assert Counter((element["key"], element["value"]) for _, element in elements) == LATE
    assert all(key == element["key"] for key, element in elements)
    assert {time[:16] for _, _, time, *_ in late} == {f"2024-01-01T00:{n}" for n in ("00", "01", "12")}
    assert {tuple(facts) for _, _, _, *facts in late} == {("combine_per_key(Sum)", "expired", "value", 0)}
    assert counted == [(6, 6)]


def test_a_query_may_start_again_with_late_data(tmp_path: Path) -> None:
    """The option is not in the checkpoint: the second start has the late elements of its micro-batches."""
    starts = [
        streaming.batches(SUMS, {READINGS: stream()}, checkpoint=tmp_path / "checkpoint", late_data=late)
        for late in (False, True)
    ]
    before = [*islice(starts[0], 3)]
    starts[0].close()
    after = [drop for batch in starts[1] for drop in batch.dropped]
    assert not any(isinstance(drop, DroppedElement) for batch in before for drop in batch.dropped)
    assert [drop.element for drop in after if isinstance(drop, DroppedElement)] == [KV("a", 7), KV("b", 4)]


def test_bad_records_are_no_late_data(tmp_path: Path) -> None:
    """An element that is late and on which a function fails is a bad record, and not in the table of late data."""
    pairs = VALUES.filter(lambda pair: 60 // (pair.value - 3) != 0)
    sums = pairs.window(FixedWindows(2 * MINUTE), allowed_lateness=timedelta(0)).combine_per_key(Sum())
    sink = late_data(sums, SQLite(tmp_path / "tables.db"), table="late")
    summary = streaming.run(sums, {READINGS: stream()}, sink=sink, dead_letters=True, late_data=True)
    assert (summary.dropped, summary.bad_records) == (5, 1)
    with sqlite3.connect(tmp_path / "tables.db") as connection:
        assert connection.execute("SELECT count(*) FROM late WHERE key = '\"b\"'").fetchall() == [(1,)]


def test_a_table_of_late_data_needs_the_option(tmp_path: Path) -> None:
    """A query that combines its drops has no late data: an error before anything is written."""
    sink = late_data(SUMS, SQLite(tmp_path / "tables.db"), table="late")
    with pytest.raises(ArgumentError, match="late_data must be True in the options of the query"):
        streaming.run(SUMS, {READINGS: stream()}, sink=sink)
    with pytest.raises(ArgumentError, match="late_data must be a bool; got 1"):
        streaming.batches(SUMS, {READINGS: stream()}, late_data=1)  # type: ignore[call-overload]  # the error under test
