"""Outputs of the local engine: frames and micro-batches of elements, several outputs of one query, and its sinks.

These tests catch state that is not shared, rows in the wrong table, and clocks that a restart loses.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import flowalg_sinks
import polars as pl
import pytest
from attrs import asdict, frozen
from flowalg_polars import batch, collect_elements, streaming
from flowalg_polars.streaming import Frames, StreamInput
from flowalg_reference import Reference
from flowalg_sinks import SQLite

from flowalg import KV, BoundedOutOfOrderness, Count, FixedWindows, Mode, Source, Sum, Timeline
from flowalg.errors import ArgumentError, RecordTypeError, UnsupportedError
from tests.support.scores import NOON, POINTS, SCORES, Score

MINUTE = timedelta(minutes=1)
SOME = [[Score("a", 3, NOON), Score("b", 4, NOON)], [Score("a", 5, NOON + 3 * MINUTE)]]


@frozen
class Timed:
    """A record whose field has the name of a column of elements."""

    processing_time: int


WINDOWED = POINTS.window(FixedWindows(MINUTE), allowed_lateness=timedelta(0))
SUMS = WINDOWED.combine_per_key(Sum())
COUNTS = WINDOWED.combine_per_key(Count())
LARGE = POINTS.filter(lambda pair: pair.value > 3)
OUTPUTS = {"sums": SUMS, "counts": COUNTS, "large": LARGE}


def stream() -> StreamInput:
    """Returns the scores, a frame for each micro-batch."""
    frames = [pl.DataFrame([asdict(score) for score in scores]) for scores in SOME]
    return StreamInput(Frames(frames), BoundedOutOfOrderness(timedelta(0)))


def test_a_frame_of_elements_has_both_times() -> None:
    """It has the fields of the element and both times; panes are not collected from it."""
    frame = batch.compile(
        LARGE, {SCORES: pl.DataFrame([asdict(score) for scores in SOME for score in scores])}, time=NOON
    )
    assert frame.collect_schema().names() == ["key", "value", "event_time", "processing_time"]
    assert [(element.key, element.value) for element in collect_elements(LARGE, frame)] == [
        ("b", 4),
        ("a", 5),
    ]
    with pytest.raises(UnsupportedError, match="the output of the pipeline is the panes of a grouping"):
        collect_elements(SUMS, frame)
    with pytest.raises(ArgumentError, match="a frame of panes, with the columns window"):
        frame.final_values()


def test_a_field_must_not_have_the_name_of_a_time() -> None:
    """A record with such a field is rejected with the names that are reserved."""
    pairs = Source("timed", Timed, event_time=lambda timed: NOON)
    with pytest.raises(
        RecordTypeError, match="processing_time must not have the name of a column of elements"
    ):
        batch.compile(pairs, {pairs: pl.DataFrame({"processing_time": [1]})})


def test_outputs_share_their_stages(tmp_path: Path) -> None:
    """Two groupings and the elements before them are one query, whose checkpoint has a state for each stage."""
    summaries = streaming.run(
        OUTPUTS,
        {SCORES: stream()},
        sinks={"sums": lambda _: None, "counts": [], "large": lambda _: None},
        checkpoint=tmp_path / "checkpoint",
        metrics=True,
    )
    assert {name: (done.panes, done.elements) for name, done in summaries.items()} == {
        "sums": (3, 0),
        "counts": (3, 0),
        "large": (0, 2),
    }
    assert streaming.open_state(tmp_path / "checkpoint", stage=1).is_empty()
    with pytest.raises(ArgumentError, match="stage must be the number of a stage: an int from 0 to 2"):
        streaming.open_state(tmp_path / "checkpoint", stage=3)
    with pytest.raises(
        ArgumentError, match="sinks must be a mapping with sinks for each output: sums, counts"
    ):
        streaming.run(OUTPUTS, {SCORES: stream()}, sinks={"sums": []})


def test_each_output_is_written_to_its_own_table(tmp_path: Path) -> None:
    """Panes are upserted and elements appended, by one query."""
    database = SQLite(tmp_path / "tables.db")
    sums = flowalg_sinks.upsert(SUMS, database, table="sums")
    large = flowalg_sinks.changelog(LARGE, database, table="large")
    outputs = {"sums": SUMS, "large": LARGE}
    streaming.run(outputs, {SCORES: stream()}, sinks={"sums": sums, "large": large})
    assert sorted(row[:2] for row in database.rows(sums.table)) == [("a", 3), ("a", 5), ("b", 4)]
    assert [row[2:4] for row in database.rows(large.table)] == [("b", 4), ("a", 5)]


def test_a_micro_batch_of_elements_is_that_of_the_reference() -> None:
    """Its elements have the processing time of the micro-batch; a batch gives the same elements at its own time."""
    batches = list(streaming.batches(LARGE, {SCORES: stream()}, metrics=True))
    assert [element.element for micro_batch in batches for element in micro_batch.elements] == [
        KV("b", 4),
        KV("a", 5),
    ]
    for micro_batch in batches:
        assert {element.processing_time for element in micro_batch.elements} <= {micro_batch.processing_time}
        assert (micro_batch.panes, micro_batch.dropped) == ((), ())
        assert micro_batch.frame.columns == ["key", "value", "event_time", "processing_time"]
    assert [metrics.stage for metrics in batches[0].metrics] == ["output output"]
    timeline = Timeline[Score]().at(NOON, *SOME[0]).at(NOON + MINUTE, *SOME[1])
    run = Reference(Mode.MICRO_BATCH).run(LARGE, {SCORES: timeline})
    assert [element.element for element in run.elements] == [KV("b", 4), KV("a", 5)]
