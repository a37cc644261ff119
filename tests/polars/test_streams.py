"""Streams on Polars: inputs, checkpoints, bad records and sinks, against the reference over the same micro-batches.

These tests catch faults in reading inputs, in what a checkpoint stores, and in what is repeated after a kill.
"""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal

import flowalg_reference as reference
import flowalg_sinks
import polars as pl
import pytest
from flowalg_polars import PolarsBatch, streaming
from flowalg_polars.streaming import Files, Frames, MicroBatch, Records, StreamInput
from flowalg_polars.streaming.storage import checkpoint as checkpoints
from flowalg_shard.step import bundle
from flowalg_sinks import SQLite
from flowalg_tools.live import show
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from flowalg import (
    FOREVER,
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    BoundedOutOfOrderness,
    Count,
    FixedWindows,
    Mean,
    Mode,
    PCollection,
    Perfect,
    Repeat,
    Sessions,
    SlidingWindows,
    Sum,
    Timeline,
    ToList,
)
from flowalg.data.errors import ElementError
from flowalg.data.time import MAX_TIME, event_time, processing_time
from flowalg.errors import (
    ArgumentError,
    CheckpointError,
    SchemaMismatchError,
    UnsupportedError,
    UserFunctionError,
)
from flowalg.triggers import AfterDelay, AtSignal
from flowalg.watermarks import Observation
from flowalg.windows import WindowFn
from tests.support.scores import NOON, SCORES, Score

MINUTE = timedelta(minutes=1)
WATERMARK = BoundedOutOfOrderness(30 * timedelta(seconds=1))
POINTS = SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points)
EVERY = AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1))
TOTALS = POINTS.window(
    FixedWindows(MINUTE), trigger=EVERY, accumulation=Accumulation.RETRACTING, allowed_lateness=2 * MINUTE
).combine_per_key(Sum())
CHAIN = (
    POINTS.window(
        Sessions(MINUTE), trigger=EVERY, accumulation=Accumulation.RETRACTING, allowed_lateness=FOREVER
    )
    .combine_per_key(Sum(), Count(), Mean())
    .map(lambda pair: KV(pair.value[1], pair.value[0]))
    .combine_per_key(ToList())
)
BATCHES = (
    (Score("a", 1, NOON), Score("b", 2, NOON + 20 * timedelta(seconds=1))),
    (Score("a", 3, NOON + MINUTE), Score("a", 4, NOON + 10 * timedelta(seconds=1))),
    (Score("b", 5, NOON + 9 * MINUTE),),
    (Score("a", 6, NOON), Score("c", 7, NOON + 8 * MINUTE)),
)


def frame_of(records: Iterable[Score]) -> pl.DataFrame:
    """Returns scores as a frame."""
    rows = [{"team": s.team, "points": s.points, "at": s.at} for s in records]
    schema = {"team": pl.String(), "points": pl.Int64(), "at": pl.Datetime("us", "UTC")}
    return pl.DataFrame(rows, schema=schema)


def stream_of(batches: Sequence[Sequence[Score]] = BATCHES) -> StreamInput:
    """Returns micro-batches as a stream of frames."""
    return StreamInput(Frames([frame_of(batch) for batch in batches]), WATERMARK)


def summary(batches: Iterable[MicroBatch[object]]) -> list[tuple[object, ...]]:
    """Returns what panes say, without processing times, which are those of the run."""
    return [
        (
            batch.number,
            pane.element,
            pane.window,
            pane.change,
            pane.timing,
            pane.index,
            pane.is_last,
            pane.watermark,
        )
        for batch in batches
        for pane in batch.panes
    ]


def expected(pipeline: PCollection[object], batches: Sequence[Sequence[Score]]) -> list[tuple[object, ...]]:
    """Returns what the reference says over the same micro-batches, one at each minute, and the end of the input."""
    clock, timeline = WATERMARK.start(), Timeline[Score]()
    for number, batch in enumerate(batches):
        now = NOON + (1000 + number) * MINUTE
        observed = [Observation("", event_time(score.at), processing_time(now)) for score in batch]
        clock = WATERMARK.advance(clock, WATERMARK.summarize(observed), processing_time(now))
        timeline = timeline.at(now, *batch, watermark=clock.watermark.datetime)
    end = NOON + 2000 * MINUTE
    run = reference.run(
        pipeline, {SCORES: timeline.at(end, watermark=MAX_TIME.datetime)}, mode=Mode.MICRO_BATCH
    )
    times = [processing_time(NOON + (1000 + number) * MINUTE) for number in range(len(batches))]
    return [
        (
            times.index(pane.processing_time) if pane.processing_time in times else len(batches),
            pane.element,
            pane.window,
            pane.change,
            pane.timing,
            pane.index,
            pane.is_last,
            pane.watermark,
        )
        for pane in run.panes
    ]


@pytest.mark.parametrize("pipeline", [TOTALS, CHAIN], ids=["totals", "two groupings"])
def test_a_stream_has_the_panes_of_the_reference(pipeline: PCollection[object]) -> None:
    """A stream of frames has the panes of the reference over the same micro-batches, in order."""
    assert summary(streaming.batches(pipeline, {SCORES: stream_of()})) == expected(pipeline, BATCHES)


@pytest.mark.long
@settings(max_examples=8)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=6))
def test_a_stream_goes_on_from_its_checkpoint(runs: list[int]) -> None:
    """A query that is stopped after any micro-batches, committed or not, has the output of one that is not stopped."""
    import tempfile

    whole = summary(streaming.batches(CHAIN, {SCORES: stream_of()}))
    with tempfile.TemporaryDirectory() as folder:
        by_number: dict[int, list[tuple[object, ...]]] = {}
        for count in [*runs, 99]:
            batches = streaming.batches(CHAIN, {SCORES: stream_of()}, checkpoint=folder)
            for _, batch in zip(range(count), batches, strict=False):
                panes = summary([batch])
                # The last micro-batch of a stopped run is not committed, so it is repeated.
                assert by_number.setdefault(batch.number, panes) == panes
            batches.close()
        assert [pane for number in sorted(by_number) for pane in by_number[number]] == whole


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with a Parquet file for each micro-batch."""
    files = tmp_path / "in"
    files.mkdir()
    for number, batch in enumerate(BATCHES):
        arrive(files, number, batch)
    return files


def arrive(files: Path, number: int, batch: Iterable[Score]) -> None:
    """Writes a file of scores."""
    path = files / f"{number}.parquet"
    frame_of(batch).write_parquet(path)
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def test_files_are_read_in_the_order_of_modification(folder: Path) -> None:
    """Files are micro-batches in their order; new files continue the query, and draining ends its input."""
    checkpoint = folder.parent / "checkpoint"
    stream = StreamInput(folder, WATERMARK)
    first = list(streaming.batches(TOTALS, {SCORES: stream}, checkpoint=checkpoint))
    assert [batch.number for batch in first] == [0, 1, 2, 3]
    arrive(folder, 4, [Score("z", 1, NOON + 20 * MINUTE)])
    second = list(streaming.batches(TOTALS, {SCORES: stream}, checkpoint=checkpoint, drain=True))
    assert [batch.number for batch in second] == [4, 5]
    longer = (*BATCHES, (Score("z", 1, NOON + 20 * MINUTE),))
    assert summary([*first, *second]) == expected(TOTALS, longer)


def test_drain_ends_a_query_from_outside(folder: Path) -> None:
    """A query whose checkpoint was drained reads what there is and then ends its input."""
    checkpoint = folder.parent / "checkpoint"
    streaming.drain(checkpoint)
    batches = streaming.batches(
        TOTALS, {SCORES: StreamInput(folder, WATERMARK)}, checkpoint=checkpoint, follow=True
    )
    assert summary(batches) == expected(TOTALS, BATCHES)


def test_csv_and_json_lines_have_the_types_of_the_record(tmp_path: Path) -> None:
    """Text files are read with the types of the record class."""
    records = [score for batch in BATCHES for score in batch]
    lines = [{"team": s.team, "points": s.points, "at": s.at.isoformat()} for s in records]
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "0.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "csv").mkdir()
    rows = ["team,points,at", *(",".join(map(str, line.values())) for line in lines)]
    (tmp_path / "csv" / "0.csv").write_text("\n".join(rows))
    wanted = summary(streaming.batches(TOTALS, {SCORES: stream_of([records])}))
    for kind, name in (("jsonl", "json"), ("csv", "csv")):
        files = Files(tmp_path / name, kind)  # type: ignore[arg-type]  # both are formats
        batches = streaming.batches(TOTALS, {SCORES: StreamInput(files, WATERMARK)}, drain=True)
        assert summary(batches) == wanted


def test_records_are_read_in_a_thread() -> None:
    """An iterable of records is divided into micro-batches; all records arrive, and its end is that of the input."""
    records = [score for batch in BATCHES for score in batch]
    stream = StreamInput(Records(iter(records), per_batch=3), WATERMARK)
    counted = POINTS.window(FixedWindows(60 * MINUTE), allowed_lateness=FOREVER).combine_per_key(Count())
    panes = [pane for batch in streaming.batches(counted, {SCORES: stream}) for pane in batch.panes]
    assert {(pane.key, pane.value) for pane in panes} == {("a", 4), ("b", 2), ("c", 1)}


def test_an_error_of_an_iterable_is_raised() -> None:
    """An iterable that raises fails the query with its own error."""

    def records() -> Iterator[Score]:
        yield BATCHES[0][0]
        raise OSError("the line is dead")

    with pytest.raises(OSError, match="the line is dead"):
        list(streaming.batches(TOTALS, {SCORES: StreamInput(Records(records()), WATERMARK)}))


def test_control_rows_are_no_elements() -> None:
    """Rows with a signal, a tick or the end of the input advance clocks and triggers, and are not elements."""
    control = {"team": None, "points": None, "at": None}
    frames = [
        frame_of(BATCHES[0]).with_columns(
            pl.lit(None, pl.String()).alias("signal"), pl.lit(False).alias("ends")
        ),
        pl.DataFrame(
            [{**control, "signal": "now", "ends": False}], schema_overrides=dict(frame_of([]).schema)
        ),
        pl.DataFrame([{**control, "signal": None, "ends": True}], schema_overrides=dict(frame_of([]).schema)),
    ]
    signalled = POINTS.window(
        FixedWindows(MINUTE),
        trigger=Repeat(AtSignal("now")),
        accumulation=Accumulation.DISCARDING,
        allowed_lateness=FOREVER,
    ).combine_per_key(Sum())
    stream = StreamInput(Frames(frames), WATERMARK, signal="signal", end_of_input="ends")
    emitted = [
        [(pane.key, pane.value) for pane in batch.panes]
        for batch in streaming.batches(signalled, {SCORES: stream})
    ]
    assert emitted[:3] == [[], [("a", 1), ("b", 2)], []]


def test_an_idle_query_ticks() -> None:
    """With ``tick_when_idle`` a trigger of processing time fires without further records."""
    delayed = POINTS.window(
        FixedWindows(MINUTE), trigger=Repeat(AfterDelay(timedelta(microseconds=1))), allowed_lateness=FOREVER
    ).combine_per_key(Sum())

    def records() -> Iterator[Score]:
        import time

        yield BATCHES[0][0]
        time.sleep(0.3)

    stream = StreamInput(Records(records()), WATERMARK)
    batches = streaming.batches(
        delayed, {SCORES: stream}, follow=True, interval=timedelta(milliseconds=20), tick_when_idle=True
    )
    first_with_panes = next(batch for batch in batches if batch.panes)
    assert [(pane.key, pane.value, pane.timing.value) for pane in first_with_panes.panes] == [
        ("a", 1, "early")
    ]


def test_bad_records_are_kept_aside() -> None:
    """With dead letters, records that fail a check or a function are named with their step, and all others count."""
    frame = frame_of([Score("a", 1, NOON), Score("b", 0, NOON), Score("c", 2, NOON)])
    with_null = pl.concat(
        [frame, frame_of([Score("d", 5, NOON)]).with_columns(pl.lit(None, pl.String()).alias("team"))]
    )
    inverse = SCORES.key_by(lambda s: s.team).map_values(lambda s: 6 // s.points)
    totals = inverse.window(FixedWindows(MINUTE), allowed_lateness=FOREVER).combine_per_key(Sum())
    stream = StreamInput(Frames([with_null]), WATERMARK)
    batches = list(streaming.batches(totals, {SCORES: stream}, dead_letters=True))
    assert {(pane.key, pane.value) for batch in batches for pane in batch.panes} == {("a", 6), ("c", 3)}
    bad = [record for batch in batches for record in batch.bad_records]
    assert [json.loads(record.record).get("points", 0) for record in bad] == [5, 0]
    assert bad[0].stage == "Source('scores')"
    assert "team must be of type str; got null" in bad[0].error
    assert bad[1].stage.startswith("map_values(<lambda> at")
    assert "ZeroDivisionError" in bad[1].error
    with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
        list(streaming.batches(totals, {SCORES: StreamInput(Frames([frame]), WATERMARK)}))


def test_a_sink_is_written_once(tmp_path: Path) -> None:
    """A micro-batch that was written and not committed is repeated with the same number, and changes no table."""
    target = SQLite(tmp_path / "panes.db")
    table = flowalg_sinks.upsert(TOTALS, target, table="totals")
    log = flowalg_sinks.changelog(TOTALS, target, table="log")
    checkpoint = tmp_path / "checkpoint"
    stopped = streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=checkpoint)
    for _ in range(2):
        batch = next(stopped)
        assert batch.write_to(table)
        assert batch.write_to(log)
    stopped.close()
    done = streaming.run(TOTALS, {SCORES: stream_of()}, sink=[table, log], checkpoint=checkpoint)
    assert done.batches == len(BATCHES)
    panes = [pane for batch in streaming.batches(TOTALS, {SCORES: stream_of()}) for pane in batch.panes]
    with sqlite3.connect(tmp_path / "panes.db") as connection:
        logged = connection.execute(
            "SELECT change, key, value, pane_index FROM log ORDER BY batch, position"
        ).fetchall()
        assert logged == [(p.change.value, p.key, p.value, p.index) for p in panes]
        finals = connection.execute("SELECT key, value FROM totals ORDER BY window_start, key").fetchall()
        drops = connection.execute(
            'SELECT reason, "count", dropped_key, dropped_value FROM log_drops'
        ).fetchall()
    assert finals == [("a", 5), ("b", 2), ("a", 3), ("c", 7), ("b", 5)]
    assert drops == [("expired", 1, '"a"', "6")]


def test_a_checkpoint_in_use_is_refused(tmp_path: Path) -> None:
    """Two queries cannot have one checkpoint."""
    first = streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=tmp_path)
    next(first)
    with pytest.raises(CheckpointError, match="is in use by another process"):
        next(streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=tmp_path))


def test_a_damaged_or_different_checkpoint_is_refused(tmp_path: Path) -> None:
    """A checkpoint with a wrong checksum, or of another pipeline, says so."""
    list(streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=tmp_path))
    means = POINTS.window(FixedWindows(MINUTE), allowed_lateness=2 * MINUTE).combine_per_key(Mean())
    with pytest.raises(CheckpointError, match="the combiners were"):
        next(streaming.batches(means, {SCORES: stream_of()}, checkpoint=tmp_path))
    with pytest.raises(CheckpointError, match="has 1 shards; got shards=2"):
        next(streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=tmp_path, shards=2))
    manifest = tmp_path / "manifest"
    stored = bytearray(manifest.read_bytes())
    stored[-1] ^= 1
    manifest.write_bytes(bytes(stored))
    with pytest.raises(CheckpointError, match="is damaged: its manifest has the wrong checksum"):
        next(streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=tmp_path))


@pytest.mark.parametrize("shards", [1, 2])
def test_a_checkpoint_of_another_placement_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    """A query with several shards goes on with another hash of keys only after resharding; one shard needs none."""
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "PLACEMENT", "xxh64-0")
        list(streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=tmp_path, shards=shards))
    goes_on = streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=tmp_path, shards=shards)
    if shards == 1:
        assert list(goes_on) == []
    else:
        with pytest.raises(
            CheckpointError,
            match=r"by the hash 'xxh64-0', and this version of flowalg by 'xxh64-1'; continue .* or reshard",
        ):
            next(goes_on)
        streaming.reshard(tmp_path, shards)
        assert (
            list(streaming.batches(TOTALS, {SCORES: stream_of()}, checkpoint=tmp_path, shards=shards)) == []
        )


def test_bad_arguments_name_what_is_valid() -> None:
    """Arguments are checked before anything runs."""
    with pytest.raises(ArgumentError, match=r"StreamInput\.data must be Files\(folder\)"):
        StreamInput(3, WATERMARK)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match=r"StreamInput\.watermark must be a watermark policy"):
        StreamInput("in", 3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError, match=r"Files\.format must be one of parquet, csv, jsonl; got 'orc'"):
        Files("in", "orc")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnsupportedError, match="Perfect needs to know the future"):
        streaming.batches(TOTALS, {SCORES: StreamInput("in", Perfect())})
    unlimited = POINTS.window(FixedWindows(MINUTE)).combine_per_key(Sum())
    with pytest.raises(UnsupportedError, match="has no allowed_lateness"):
        streaming.batches(unlimited, {SCORES: stream_of()})
    wrong = StreamInput(Frames([pl.DataFrame({"team": ["a"], "points": ["x"]})]), WATERMARK)
    with pytest.raises(SchemaMismatchError, match=r"points must be int \(Int64 in Polars\); got String"):
        list(streaming.batches(TOTALS, {SCORES: wrong}))
    with pytest.raises(ArgumentError, match="sink must be upsert"):
        streaming.run(TOTALS, {SCORES: stream_of()}, sink=[3])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def test_metrics_are_those_of_each_stage() -> None:
    """With metrics, each micro-batch has the elements, panes and windows of each stage."""
    batches = list(streaming.batches(CHAIN, {SCORES: stream_of()}, metrics=True))
    first = batches[0].metrics
    assert [metric.number for metric in first] == [0, 1]
    assert (first[0].elements, first[0].early, first[0].windows) == (2, 2, 2)
    assert (
        sum(metric.on_time + metric.early + metric.late for batch in batches for metric in batch.metrics) > 4
    )


def test_a_replay_of_the_metrics_in_the_reference_has_the_same_panes() -> None:
    """The replay log of a run, with its records, gives the timeline on which the reference emits the same panes."""
    batches = list(streaming.batches(TOTALS, {SCORES: stream_of()}, metrics=True, drain=True))
    records = [record for batch in BATCHES for record in batch]
    timeline = streaming.replay_log(batches).timeline(SCORES, records)
    replayed = reference.run(TOTALS, {SCORES: timeline}, mode=Mode.MICRO_BATCH)
    assert [pane for batch in batches for pane in batch.panes] == list(replayed.panes)
    with pytest.raises(ArgumentError, match="number 0 is missing"):
        streaming.replay_log(batches[1:])
    without = list(streaming.batches(TOTALS, {SCORES: stream_of()}))
    with pytest.raises(ArgumentError, match="pass metrics=True"):
        streaming.replay_log(without)


@pytest.mark.parametrize("shards", [1, 3])
def test_open_state_reads_the_live_windows_of_a_checkpoint(tmp_path: Path, shards: int) -> None:
    """While a query runs, its checkpoint has the windows that have not expired, and when they are due."""
    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(CheckpointError, match="is no checkpoint"):
        streaming.open_state(checkpoint)
    query = streaming.batches(
        TOTALS, {SCORES: stream_of()}, checkpoint=checkpoint, shards=shards, metrics=True
    )
    next(query)
    live = 0
    for batch in islice(query, 2):
        # The micro-batch before this one is committed.
        state = streaming.open_state(checkpoint)
        assert state.height == live or batch.number == 1
        assert (state["next_watermark"] >= state["window"].struct.field("end")).all()
        assert state.columns == [
            *("stage", "shard", "key", "window", "panes", "pending", "next_watermark", "next_time")
        ]
        live = batch.metrics[0].windows
    assert live > 0, "windows are open"
    query.close()
    with pytest.raises(ArgumentError, match="an int from 0 to 0"):
        streaming.open_state(checkpoint, stage=1)


def test_the_live_view_shows_totals_and_yields_all_batches() -> None:
    """``show`` yields the micro-batches, and its last view has the panes by timing and the drops of the run."""
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=180)
    batches = list(show(streaming.batches(TOTALS, {SCORES: stream_of()}, metrics=True), console=console))
    text = re.sub(r"\x1b\[[^m]*[a-zA-Z]", "", output.getvalue())
    last = text[text.rindex(f"batch {len(batches) - 1}:") :]
    assert f"{sum(map(len, BATCHES))} elements so far" in last
    (line,) = (line for line in last.splitlines() if line.strip().startswith("combine_"))
    cells = re.split(r"\s{2,}", line.strip())
    panes = [pane for batch in batches for pane in batch.panes]
    timings = [
        sum(pane.timing.value == timing and pane.change.value == "value" for pane in panes)
        for timing in ("early", "on_time", "late")
    ]
    assert [int(cell) for cell in cells[4:7]] == timings
    assert int(cells[8]) == sum(batch.dropped_count for batch in batches)
    silent = io.StringIO()
    assert len(list(show(iter(batches), console=Console(file=silent)))) == len(batches)
    assert not silent.getvalue()


def test_a_missing_clock_column_is_named() -> None:
    """An input that names a column which the rows lack fails with the argument, the column and those there are."""
    stream = StreamInput(
        Frames([frame_of(BATCHES[0])]), WATERMARK, processing_time="seen", partition="device"
    )
    with pytest.raises(
        SchemaMismatchError, match=r"StreamInput\.processing_time is 'seen'.* they have team, points"
    ):
        streaming.run(TOTALS, {SCORES: stream}, sink=print)


def test_the_exception_of_a_function_is_the_cause_of_the_error() -> None:
    """The error of a query has the exception that a user-defined function raised as its cause, in batch too."""

    def fail(score: Score) -> int:
        raise LookupError(score.team)

    failing = SCORES.key_by(lambda s: s.team).map_values(fail, result=int)
    totals = failing.window(FixedWindows(MINUTE), allowed_lateness=MINUTE).combine_per_key(Sum())
    with pytest.raises(UserFunctionError) as raised:
        streaming.run(totals, {SCORES: stream_of()}, sink=print)
    assert isinstance(raised.value.__cause__, LookupError)
    assert type(raised.value) is UserFunctionError
    with pytest.raises(UserFunctionError) as raised:
        PolarsBatch().run(totals, {SCORES: frame_of(BATCHES[0]).lazy()})
    assert isinstance(raised.value.__cause__, LookupError)


BAD_CSV = """team,points,at
red,5,2024-01-01T12:00:00Z
red,five,2024-01-01T12:00:01Z
red,1.5,2024-01-01T12:00:01Z
blue,7
blue,8,2024-01-01T12:00:02Z,9
blue,9,noon
blue,3,2024-01-01T12:00:03Z
"""
BAD_LINES = """{"team": "red", "points": 5, "at": "2024-01-01T12:00:00Z"}
{"team": "red", "points": "five", "at": "2024-01-01T12:00:01Z"}
{"team": "red", "points": 1.5, "at": "2024-01-01T12:00:01Z"}
{"team": "blue", "points"
null
{"team": "blue", "points": true, "at": "2024-01-01T12:00:01Z"}
{"team": "blue", "points": 3, "at": "2024-01-01T12:00:03Z"}
"""


@pytest.mark.parametrize(
    ("kind", "text", "first"),
    [
        ("csv", BAD_CSV, r"row 2.*five|row 4 must have 3 columns"),
        ("jsonl", BAD_LINES, r"row 2: points must be of type int64; got 'five'"),
    ],
)
def test_texts_that_cannot_be_read_are_bad_records(
    tmp_path: Path, kind: Literal["csv", "jsonl"], text: str, first: str
) -> None:
    """A text of another type never becomes a number or a null: it is a dead letter, or fails with file and row."""
    (tmp_path / f"0.{kind}").write_text(text)
    stream = StreamInput(Files(tmp_path, kind), WATERMARK)
    with pytest.raises(ElementError, match=first) as raised:
        streaming.run(TOTALS, {SCORES: stream}, sink=print)
    assert str(tmp_path / f"0.{kind}") in str(raised.value)
    (batch, _) = streaming.batches(TOTALS, {SCORES: stream}, dead_letters=True, drain=True)
    assert [(pane.key, pane.value) for pane in batch.panes] == [("blue", 3), ("red", 5)]
    lines = text.splitlines()[1:] if kind == "csv" else text.splitlines()
    assert [json.loads(bad.record)["text"] for bad in batch.bad_records] == lines[1:-1]
    for number, bad in enumerate(batch.bad_records, start=2):
        assert f"row {number}" in bad.error
        assert bad.stage == "Source('scores')"


def test_a_micro_batch_that_was_begun_is_repeated_as_it_was(tmp_path: Path) -> None:
    """A query that stops within a micro-batch repeats it with the same files and time, though more files have come."""
    files = tmp_path / "in"
    files.mkdir()
    arrive(files, 0, BATCHES[0])
    stream = StreamInput(Files(files, per_batch=5), WATERMARK)
    query = streaming.batches(TOTALS, {SCORES: stream}, checkpoint=tmp_path / "checkpoint")
    begun = next(query)
    query.close()
    arrive(files, 1, BATCHES[1])
    again, after = streaming.batches(TOTALS, {SCORES: stream}, checkpoint=tmp_path / "checkpoint")
    assert (again.number, again.processing_time, again.panes) == (0, begun.processing_time, begun.panes)
    assert [pane.value for pane in after.panes if pane.change.value == "value"] == [5, 3]


@pytest.mark.parametrize("large", [1, 1_000_000])
def test_dropped_elements_are_counted_and_reachable(monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    """Late elements of one window and micro-batch are one drop, with their number, key and combined value."""
    monkeypatch.setattr(bundle, "LARGE", large)
    late = [Score("a", 2, NOON), Score("a", 5, NOON + 10 * timedelta(seconds=1))]
    frames = [frame_of([Score("b", 1, NOON + 60 * MINUTE)]), frame_of(late)]
    _, batch, _ = streaming.batches(TOTALS, {SCORES: StreamInput(Frames(frames), WATERMARK)})
    assert batch.dropped_count == 2
    assert [(drop.key, drop.count, drop.window.start) for drop in batch.dropped] == [
        ("a", 2, event_time(NOON))
    ]
    (fields,) = batch.drop_fields
    drop = fields["drop"]
    assert isinstance(drop, dict)
    assert (drop["key"], drop["value"], drop["count"], drop["reason"]) == ('"a"', "7", 2, "expired")


@pytest.mark.parametrize("windows", [FixedWindows, partial(SlidingWindows, period=2 * MINUTE)])
def test_windows_of_a_batch_begin_at_their_offset(windows: Callable[..., WindowFn]) -> None:
    """The windows of a batch begin at multiples of their period after the offset, as in the reference."""
    totals = POINTS.window(windows(4 * MINUTE, offset=MINUTE)).combine_per_key(Sum())
    records = [score for batch in BATCHES for score in batch]
    panes = PolarsBatch().run(totals, {SCORES: frame_of(records).lazy()}).panes
    timeline = Timeline[Score]().at(NOON, *records).at(NOON, watermark=MAX_TIME.datetime)
    wanted = reference.run(totals, {SCORES: timeline}).panes
    assert {(p.key, p.window, p.value) for p in panes} == {(p.key, p.window, p.value) for p in wanted}


@pytest.mark.parametrize("damage", ["no Parquet", "cut off", "other columns"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, damage: str) -> None:
    """An error about a file names the source and the file, in a stream; in a batch it names the source."""
    path = tmp_path / "0.parquet"
    frame_of(BATCHES[0]).write_parquet(path)
    match damage:
        case "no Parquet":
            path.write_text("team,points")
        case "cut off":
            path.write_bytes(path.read_bytes()[:200])
        case _:
            pl.DataFrame({"team": ["a"], "points": ["five"]}).write_parquet(path)
    with pytest.raises(
        (ElementError, SchemaMismatchError), match=r"'scores'.*must|'scores'.*as Parquet"
    ) as raised:
        streaming.run(TOTALS, {SCORES: StreamInput(tmp_path, WATERMARK)}, sink=print)
    assert str(path) in str(raised.value)
    with pytest.raises((ElementError, SchemaMismatchError), match="'scores'"):
        PolarsBatch().run(TOTALS, {SCORES: str(tmp_path)})
