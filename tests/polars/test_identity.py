"""The identity of a micro-batch, a checkpoint and a table on the local engine.

These tests catch a checkpoint or a table that is taken for another one: copied, restored, lost, torn apart, dropped, or
shared by two outputs. Each is an error that names both sides, and tables keep their rows.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sqlite3
import stat
import sys
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Container, Generator, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Final

import flowalg_sinks
import polars as pl
import pytest
from attrs import evolve, frozen
from flowalg_columns.text.listing import data_files
from flowalg_polars import streaming
from flowalg_polars.streaming import Files, Frames, Records, StreamInput
from flowalg_polars.streaming.reading import readers
from flowalg_polars.streaming.reading.positions import ReadFile
from flowalg_polars.streaming.storage import checkpoint as checkpoints
from flowalg_polars.streaming.storage import file_log
from flowalg_polars.streaming.storage.checkpoint import Checkpoint, Intent
from flowalg_polars.streaming.storage.file_log import FileLog, StoredFiles
from flowalg_polars.streaming.storage.files import sealed
from flowalg_polars.streaming.storage.local_folder import LocalFolder
from flowalg_sinks import Changelog, SinkError, SQLite
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import PanicException

from flowalg import Accumulation, AtCount, AtWatermark, BoundedOutOfOrderness, FixedWindows, Sum
from flowalg.combiners import Combiner
from flowalg.data.time import ProcessingTime
from flowalg.errors import ArgumentError, CheckpointError
from flowalg.runs import QueryEnded, QueryEvent, QueryStarted
from flowalg.serialization.stored import store
from tests.support.programs import run_program
from tests.support.scores import NOON, SCORES, Score

MINUTE: Final = timedelta(minutes=1)
WATERMARK: Final = BoundedOutOfOrderness(timedelta(0))
TOTALS: Final = (
    SCORES.key_by(lambda s: s.team)
    .map_values(lambda s: s.points)
    .window(
        FixedWindows(MINUTE),
        trigger=AtWatermark().with_early_firings(AtCount(1)).with_late_firings(AtCount(1)),
        accumulation=Accumulation.DISCARDING,
        allowed_lateness=10 * MINUTE,
    )
    .combine_per_key(Sum())
)
TENFOLD: Final = TOTALS.map_values(lambda total: 10 * total)


@frozen
class Place:
    """A folder of a test: files of scores, checkpoints, and a database."""

    folder: Path

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the query."""
        return self.folder / "checkpoint"

    def arrive(self, number: int, points: int, files: str = "in") -> None:
        """Writes a file with a score, each in a minute of its own."""
        (self.folder / files).mkdir(exist_ok=True)
        path = self.folder / files / f"{number:05}.parquet"
        row = {"team": "a", "points": points, "at": NOON + number * MINUTE}
        pl.DataFrame([row]).cast({"at": pl.Datetime("us", "UTC")}).write_parquet(path)
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))

    def stream(self, files: str = "in", per_batch: int = 1) -> StreamInput:
        """Returns the files as a stream."""
        return StreamInput(Files(self.folder / files, per_batch=per_batch), WATERMARK)

    def sink(self, table: str = "t") -> Changelog:
        """Returns a sink."""
        return flowalg_sinks.changelog(TOTALS, SQLite(self.folder / "panes.db"), table=table)

    def run(
        self, stream: StreamInput | None = None, *, checkpoint: str = "checkpoint", drain: bool = False
    ) -> int:
        """Runs the query over what there is; returns the number of micro-batches."""
        inputs = {SCORES: stream or self.stream()}
        folder = self.folder / checkpoint
        return streaming.run(TOTALS, inputs, sink=self.sink(), checkpoint=folder, drain=drain).batches

    def rows(self) -> list[tuple[object, ...]]:
        """Returns the rows of the table."""
        with closing(sqlite3.connect(self.folder / "panes.db")) as connection:
            return connection.execute("SELECT batch, value FROM t ORDER BY batch, position").fetchall()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A folder in which a query has processed three files."""
    place = Place(tmp_path)
    for number in range(3):
        place.arrive(number, number + 1)
    assert place.run() == 3
    return place


def test_a_copied_checkpoint_cannot_write_to_the_table(place: Place) -> None:
    """A copy that reads other data under the same number is rejected, and so is what follows it; no row is changed."""
    shutil.copytree(place.checkpoint, place.folder / "copy")
    place.arrive(3, 40)
    place.run()
    written = place.rows()
    place.arrive(3, 50, "other")
    with pytest.raises(
        SinkError, match=r"has batch 3 of .*, which has read (\w+); got batch 3 .*, which has read (?!\1)"
    ):
        place.run(place.stream("other"), checkpoint="copy")
    # The copy goes on without the table, and is then one micro-batch ahead of it.
    place.arrive(4, 60, "other")
    stream = {SCORES: place.stream("other")}
    first, _ = streaming.batches(TOTALS, stream, checkpoint=place.folder / "copy")
    assert first.number == 3
    place.arrive(5, 70, "other")
    with pytest.raises(SinkError, match="must be 4 of .* got batch 5|the table is older than the checkpoint"):
        place.run(place.stream("other"), checkpoint="copy")
    assert place.rows() == written


def test_a_batch_that_follows_another_history_is_rejected(place: Place) -> None:
    """The next number is not enough: the batch before it must be the one that the table has."""
    shutil.copytree(place.checkpoint, place.folder / "copy")
    place.arrive(3, 40)
    place.run()
    written = place.rows()
    place.arrive(3, 50, "other")
    list(streaming.batches(TOTALS, {SCORES: place.stream("other")}, checkpoint=place.folder / "copy"))
    place.arrive(4, 60, "other")
    with pytest.raises(SinkError, match="got batch 4 .* which follows a batch 3 that has read"):
        place.run(place.stream("other"), checkpoint="copy")
    assert place.rows() == written


def test_a_restored_checkpoint_is_rejected(place: Place) -> None:
    """An older copy of the checkpoint that divides its input in another way is rejected, and loses no row."""
    shutil.copytree(place.checkpoint, place.folder / "backup")
    place.arrive(3, 40)
    place.run()
    written = place.rows()
    shutil.rmtree(place.checkpoint)
    (place.folder / "backup").rename(place.checkpoint)
    place.arrive(4, 50)
    with pytest.raises(SinkError, match="the checkpoint was copied or restored"):
        place.run(place.stream(per_batch=5))
    assert place.rows() == written


def test_an_older_start_of_a_query_cannot_write(place: Place) -> None:
    """A process that another start of the query has replaced is rejected, though it has read the same."""
    place.arrive(3, 40)
    query = streaming.batches(TOTALS, {SCORES: place.stream()}, checkpoint=place.checkpoint)
    slow = next(query)
    query.close()
    place.run()
    with pytest.raises(SinkError, match="written by start 3 of the query; got batch 3 of its start 2"):
        slow.write_to(place.sink())


@pytest.mark.parametrize("lost", [("manifest",), ("intent",), ("query",), ("manifest", "intent")])
def test_a_lost_file_of_a_checkpoint_is_an_error(place: Place, lost: tuple[str, ...]) -> None:
    """A checkpoint without its manifest, its intent, its identity or all of them does not begin again."""
    for name in lost:
        (place.checkpoint / name).unlink()
    place.arrive(3, 40)
    with pytest.raises(CheckpointError, match=f"files of different times: its .*{lost[-1]}.* is missing"):
        place.run()
    assert len(place.rows()) == 3


@pytest.mark.parametrize("file", ["manifest", "intent"])
@pytest.mark.parametrize("batches", [1, 2])
def test_files_of_different_times_are_an_error(place: Place, file: str, batches: int) -> None:
    """A manifest beside a newer or an older intent is an error that names both."""
    old = (place.checkpoint / file).read_bytes()
    for number in range(3, 3 + batches):
        place.arrive(number, 40)
    place.run()
    (place.checkpoint / file).write_bytes(old)
    if file == "manifest" and batches == 1:
        # As after a kill between the sink and the manifest: the micro-batch of the intent is repeated.
        assert place.run() == 1
    else:
        intent, manifest = (2, 2 + batches) if file == "intent" else (2 + batches, 2)
        message = rf"its intent is of micro-batch {intent} \(.*\), and its manifest of {manifest} \("
        with pytest.raises(CheckpointError, match=message):
            place.run()
    assert len(place.rows()) == 3 + batches


def test_files_of_another_query_are_an_error(place: Place) -> None:
    """A manifest or an intent of another checkpoint names both queries; an intent that follows another one, both."""
    other = Place(place.folder / "other")
    other.folder.mkdir()
    for number in range(3):
        other.arrive(number, 7)
    other.run()
    for file in ("manifest", "intent"):
        own = (place.checkpoint / file).read_bytes()
        shutil.copy(other.checkpoint / file, place.checkpoint / file)
        with pytest.raises(
            CheckpointError, match=rf"its {file} is of the query ([\w-]+), and its file 'query' of (?!\1)"
        ):
            place.run()
        (place.checkpoint / file).write_bytes(own)
    begun = Checkpoint.read(place.checkpoint).manifest
    assert begun is not None
    with Checkpoint.open(place.checkpoint) as opened:
        opened.begin(evolve(begun.intent, batch=begun.intent.batch + 1, after="another"))
    with pytest.raises(CheckpointError, match="follows another, and its manifest is of"):
        place.run()


@pytest.mark.parametrize("table", ["t", "t_drops"])
def test_a_dropped_table_is_an_error(place: Place, table: str) -> None:
    """A table or a table of drops that was dropped is not created again without its rows."""
    with closing(sqlite3.connect(place.folder / "panes.db")) as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.commit()
    place.arrive(3, 40)
    with pytest.raises(SinkError, match=f"the table '{table}' must exist, since the table 't' has batch 2"):
        place.run()
    with closing(sqlite3.connect(place.folder / "panes.db")) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = ?", (table,)).fetchall()
    assert tables == []


def test_two_outputs_need_two_tables(place: Place) -> None:
    """Two sinks of one query to one table are rejected before it runs, under any path, case and name of drops."""
    inputs = {SCORES: place.stream()}
    outputs = {"a": TOTALS, "b": TENFOLD}
    (place.folder / "link").symlink_to(place.folder)
    target, link = SQLite(place.folder / "panes.db"), SQLite(place.folder / "link" / "panes.db")
    for first, second in (("x", "x"), ("x", "X"), ("x", "x_drops")):
        sinks = {
            "a": flowalg_sinks.changelog(TOTALS, target, table=first),
            "b": flowalg_sinks.changelog(TENFOLD, link, table=second),
        }
        with pytest.raises(ArgumentError, match="distinct tables; .* the outputs 'a' and 'b' both write"):
            streaming.run(outputs, inputs, sinks=sinks)
    twice = [flowalg_sinks.changelog(TOTALS, target, table="x") for _ in range(2)]
    with pytest.raises(ArgumentError, match="two sinks of the output 'output' write to this table"):
        streaming.run(TOTALS, inputs, sink=twice)


def test_two_outputs_that_write_by_themselves_are_an_error(place: Place) -> None:
    """Functions that write two outputs to one table fail at the second, which would never be written."""
    query = streaming.batches({"a": TOTALS, "b": TENFOLD}, {SCORES: place.stream()})
    batch = next(query)
    assert batch["a"].write_to(place.sink("x"))
    with pytest.raises(
        SinkError, match="'x' has batch 0 .* by another sink of the same query in the same run"
    ):
        batch["b"].write_to(flowalg_sinks.changelog(TENFOLD, SQLite(place.folder / "panes.db"), table="x"))
    query.close()


def test_names_that_differ_in_case_are_one_table_in_sqlite(place: Place) -> None:
    """A table 'T' is the table 't' in SQLite: another query, or the same one, does not overwrite it."""
    for checkpoint in (None, place.checkpoint):
        place.arrive(3, 40)
        with pytest.raises(
            SinkError, match="the table 'T' is the table 't', since names in SQLite ignore case"
        ):
            streaming.run(TOTALS, {SCORES: place.stream()}, sink=place.sink("T"), checkpoint=checkpoint)
    assert len(place.rows()) == 3


def test_files_then_frames_are_an_error(place: Place) -> None:
    """A checkpoint that counts files does not go on with frames or records, which it would skip; nor after a kill."""
    row = Score("a", 1, NOON + 5 * MINUTE)
    frame = pl.DataFrame([{"team": "a", "points": 1, "at": row.at}])
    for data in (Frames([frame] * 9), Records([row] * 9)):
        with pytest.raises(
            CheckpointError, match="a position in files for source 'scores', and its input is"
        ):
            place.run(StreamInput(data, WATERMARK))
    begun = streaming.batches(TOTALS, {SCORES: place.stream()}, checkpoint=place.folder / "begun")
    next(begun)
    begun.close()
    with pytest.raises(
        CheckpointError, match="a position in files for source 'scores', and its input is frames"
    ):
        place.run(StreamInput(Frames([frame]), WATERMARK), checkpoint="begun")


@pytest.mark.parametrize("drain", [False, True])
def test_a_drained_source_with_new_data_is_an_error(place: Place, drain: bool) -> None:
    """After its input was ended, a query that would not read a new file says so; without new data it just ends."""
    place.run(drain=True)
    assert place.run(drain=drain) == 0
    place.arrive(3, 40)
    with pytest.raises(
        CheckpointError, match=r"ended the input of source 'scores', .* has the file .*00003\.parquet"
    ):
        place.run(drain=drain)


def test_elements_after_the_row_that_ends_the_input_are_an_error(tmp_path: Path) -> None:
    """What follows the row that ended an input is an error, in the same run and in a later one, and is not dropped."""
    rows = [
        {"team": "a", "points": 1, "at": NOON + number * MINUTE, "ends": number == 1} for number in range(3)
    ]
    frames = [pl.DataFrame([row]) for row in rows]
    sink = flowalg_sinks.changelog(TOTALS, SQLite(tmp_path / "panes.db"), table="t")
    for _ in range(2):
        stream = StreamInput(Frames(frames), WATERMARK, end_of_input="ends")
        with pytest.raises(
            CheckpointError,
            match="source 'scores': by the state of the query its input has ended, .* 1 further",
        ):
            streaming.run(TOTALS, {SCORES: stream}, sink=sink, checkpoint=tmp_path / "checkpoint")
    assert Place(tmp_path).rows() == [(0, 1)]


def test_an_iterable_that_has_grown_since_its_end_is_an_error(tmp_path: Path) -> None:
    """Frames and records that follow the end of an input are an error, if the iterable knows its length."""
    rows = [Score("a", number, NOON + number * MINUTE) for number in range(3)]
    frames = [pl.DataFrame([{"team": row.team, "points": row.points, "at": row.at}]) for row in rows]
    makers: dict[str, Callable[[int], StreamInput]] = {
        "frames": lambda count: StreamInput(Frames(frames[:count]), WATERMARK),
        "records": lambda count: StreamInput(Records(rows[:count]), WATERMARK),
    }
    for kind, make in makers.items():
        list(streaming.batches(TOTALS, {SCORES: make(2)}, checkpoint=tmp_path / kind))
        assert list(streaming.batches(TOTALS, {SCORES: make(2)}, checkpoint=tmp_path / kind)) == []
        with pytest.raises(CheckpointError, match=f"the source has 1 more {kind}"):
            list(streaming.batches(TOTALS, {SCORES: make(3)}, checkpoint=tmp_path / kind))


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "not ended"])
@pytest.mark.parametrize("kind", ["frames", "an iterator of frames", "records", "an iterator of records"])
def test_an_iterable_that_lacks_what_was_read_is_an_error(tmp_path: Path, kind: str, ended: bool) -> None:
    """Fewer frames or records than were read before are an error, also if the input had ended, and not its end.

    An iterator of records whose input had ended is not checked, since reading it may block.
    """
    rows = [Score("a", number, NOON + number * MINUTE) for number in range(3)]
    frames = [pl.DataFrame([{"team": row.team, "points": row.points, "at": row.at}]) for row in rows]

    def batches(count: int) -> Generator[object, None, None]:
        data: Frames | Records[Score]
        if "frames" in kind:
            data = Frames(iter(frames[:count]) if "iterator" in kind else frames[:count])
        else:
            data = Records(iter(rows[:count]) if "iterator" in kind else rows[:count], per_batch=1)
        return streaming.batches(
            TOTALS, {SCORES: StreamInput(data, WATERMARK)}, checkpoint=tmp_path / "checkpoint"
        )

    first = batches(3)
    for number, _ in enumerate(first):
        if number == 2 and not ended:
            break
    first.close()
    if ended and kind == "an iterator of records":
        assert list(batches(1)) == []
        return
    with pytest.raises(
        CheckpointError, match="source 'scores': the iterable of .* has 1 of the [23] that were read"
    ):
        list(batches(1))


def test_exchanged_segments_are_an_error(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two segments whose files were exchanged have wrong checksums, since these include the names."""
    monkeypatch.setattr(checkpoints, "_SMALL", 0)
    monkeypatch.setattr("flowalg_shard.state.window_store._FEW", 0)
    for number in (3, 4, 5):
        place.arrive(number, number)
        place.run()
    one, other, *_ = sorted((place.checkpoint / "segments").iterdir())
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)
    with pytest.raises(CheckpointError, match="is damaged: its segment .* has the wrong checksum"):
        place.run()


@frozen
class _Missing:
    """A class of a stored value, and then gone."""

    number: int = 0


@frozen
class _Points:
    """A part of an accumulator, which is stored."""

    total: int


@frozen
class _Renamed(_Points):
    """The part of an accumulator of a later version."""


class _Gathered(Combiner[int, tuple[_Points, ...], int]):
    """A sum whose accumulator has objects of a class of its own."""

    made: ClassVar[type[_Points]] = _Points

    def zero(self) -> tuple[_Points, ...]:
        """Returns no points."""
        return ()

    def add(self, accumulator: tuple[_Points, ...], value: int) -> tuple[_Points, ...]:
        """Returns the accumulator with a value."""
        return (*accumulator, self.made(value))

    def merge(self, left: tuple[_Points, ...], right: tuple[_Points, ...]) -> tuple[_Points, ...]:
        """Returns all parts of two accumulators."""
        return (*left, *right)

    def extract(self, accumulator: tuple[_Points, ...]) -> int:
        """Returns the total."""
        return sum(points.total for points in accumulator)


@pytest.mark.parametrize(
    "payload", [b"nothing", store((checkpoints.FORMAT, 3)), store((99, None)), "class", "panic"]
)
def test_what_a_checkpoint_cannot_decode_is_named(
    place: Place, payload: bytes | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes of another format, of a class that is gone, or at which Polars panics, are a ``CheckpointError``."""

    def replace(payload: bytes) -> None:
        LocalFolder(place.checkpoint).replace("manifest", sealed("manifest", payload))

    match payload:
        case bytes():
            replace(payload)
            wanted = "its manifest|has format 99"
        case "class":
            replace(store((checkpoints.FORMAT, _Missing())))
            monkeypatch.delattr(sys.modules[__name__], "_Missing")
            wanted = "has a value of the class .*:_Missing, which cannot be found"
        case _:
            place.arrive(3, 1)

            def panic(name: str, payload: bytes) -> object:
                raise PanicException(f"{name} {len(payload)}")

            monkeypatch.setattr("flowalg_shard.state.window_store.Segment.restore", panic)
            wanted = "its segment .*: PanicException"
    with pytest.raises(CheckpointError, match=wanted) as raised:
        place.run()
    assert str(place.checkpoint) in str(raised.value)


def test_a_class_in_the_state_that_is_gone_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An accumulator of a class that cannot be imported any more is a ``CheckpointError`` that names the class."""
    accumulating = (
        SCORES.key_by(lambda s: s.team)
        .map_values(lambda s: s.points)
        .window(FixedWindows(60 * MINUTE), allowed_lateness=10 * MINUTE)
        .combine_per_key(_Gathered())
    )
    stream, folder = {SCORES: place.stream()}, place.folder / "gathered"
    list(streaming.batches(accumulating, stream, checkpoint=folder))
    place.arrive(3, 1)
    monkeypatch.delattr(sys.modules[__name__], "_Points")
    monkeypatch.setattr(_Gathered, "made", _Renamed)
    with pytest.raises(CheckpointError, match="objects of the class .*:_Points, .*, which is not found"):
        list(streaming.batches(accumulating, stream, checkpoint=folder))


@pytest.mark.parametrize("obstacle", ["segments", "manifest", "intent", "lock", "query"])
def test_an_error_of_the_file_system_is_named(tmp_path: Path, obstacle: str) -> None:
    """A file for a folder inside a checkpoint, or a folder for a file, is a ``CheckpointError`` that names it."""
    place = Place(tmp_path)
    place.arrive(0, 1)
    place.run()
    path = place.checkpoint / obstacle
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.write_text("") if obstacle == "segments" else path.mkdir()
    message = rf"the checkpoint {place.checkpoint} cannot be (written|read): .* \({path}\); "
    with pytest.raises(CheckpointError, match=message):
        place.run()


@pytest.mark.parametrize("lost", ["", "lock"])
def test_a_query_whose_checkpoint_was_taken_away_ends(place: Place, lost: str) -> None:
    """If its folder or its lock is removed while it runs, another query can begin there, and only that one goes on."""
    for number in range(3, 6):
        place.arrive(number, number + 1)
    inputs = {SCORES: place.stream()}
    first = streaming.batches(TOTALS, inputs, checkpoint=place.checkpoint)
    next(first)
    path = place.checkpoint / lost
    path.unlink() if lost else shutil.rmtree(path)
    second = streaming.batches(TOTALS, inputs, checkpoint=place.checkpoint)
    next(second)
    with pytest.raises(
        CheckpointError, match="'lock', was removed, moved or replaced since this query was started"
    ):
        next(first)
    assert [batch.number for batch in second][-1] == 5
    assert list(streaming.batches(TOTALS, inputs, checkpoint=place.checkpoint)) == []


def test_a_list_of_files_that_cannot_be_read_says_what_to_do(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of the files that were read is restored, not written, like any other file of a checkpoint."""
    monkeypatch.setattr(file_log, "_LATEST", 1)
    place.arrive(3, 4)
    place.run()
    shutil.rmtree(place.checkpoint / "files")
    with pytest.raises(
        CheckpointError, match="cannot be read: the files that .* has read: .*; restore a copy"
    ):
        place.run()


@pytest.mark.parametrize(
    "failure",
    [
        PanicException("a panic"),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        CancelledError(),
        StopIteration(),
    ],
    ids=lambda failure: type(failure).__name__,
)
@pytest.mark.parametrize("within", ["sink", "query"])
def test_a_query_that_does_not_end_by_itself_has_failed(
    place: Place, monkeypatch: pytest.MonkeyPatch, failure: BaseException, within: str
) -> None:
    """A panic, an exit and Ctrl-C end the query as failed: observers receive it, and the checkpoint is free again."""
    events: list[QueryEvent] = []

    def fail(*_: object) -> None:
        raise failure

    place.arrive(3, 40)
    sink = fail if within == "sink" else print
    with monkeypatch.context() as patched:
        if within == "query":
            patched.setattr("flowalg_polars.streaming.graph.Graph.drops", fail)
        generator = isinstance(failure, StopIteration) and within == "query"
        with pytest.raises(RuntimeError if generator else type(failure)):
            streaming.run(
                TOTALS,
                {SCORES: place.stream()},
                sink=sink,
                checkpoint=place.checkpoint,
                observers=[events.append],
            )
    started, ended = events
    assert isinstance(started, QueryStarted)
    assert isinstance(ended, QueryEnded)
    assert ended.error is not None
    assert ended.error.startswith(type(failure).__name__)
    assert place.run() == 1


def test_a_checkpoint_is_for_its_owner_alone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the group nor others can read a checkpoint or any file in it, whatever the umask of the process."""
    monkeypatch.setattr(checkpoints, "_SMALL", 0)
    monkeypatch.setattr(file_log, "_LATEST", 0)
    before = os.umask(0)
    try:
        list(streaming.batches(TOTALS, {SCORES: place.stream()}, checkpoint=place.folder / "open to all"))
        streaming.drain(place.folder / "drained")
    finally:
        os.umask(before)
    for name in ("open to all", "drained"):
        folder = place.folder / name
        for path in (folder, *folder.rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_position_in_a_folder_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A micro-batch stores the names of its own files, however many were read, and a restart reads none again."""
    monkeypatch.setattr(file_log, "_LATEST", 4)
    place = Place(tmp_path)
    sizes = []
    for number in range(12):
        place.arrive(number, number)
        assert place.run() == 1
        sizes.append((place.checkpoint / "intent").stat().st_size)
    assert max(sizes[1:]) - min(sizes[1:]) < 10
    assert place.run() == 0
    # A file that appears late, with an older time, is read nevertheless.
    place.arrive(20, 1)
    os.utime(place.folder / "in" / "00020.parquet", (1, 1))
    assert place.run() == 1


READ_FILES: Final[st.SearchStrategy[ReadFile]] = st.tuples(
    st.text(st.characters(codec=None)), st.none() | st.tuples(st.integers(0, 2**63), st.integers(0, 9))
)


def test_a_file_that_changes_while_its_micro_batch_is_repeated_is_an_error(place: Place) -> None:
    """A micro-batch that was begun and not committed is repeated with the content that it has begun to read, or not."""
    place.arrive(3, 40)
    query = streaming.batches(TOTALS, {SCORES: place.stream()}, checkpoint=place.checkpoint)
    next(query).write_to(place.sink())
    query.close()
    written = place.rows()
    place.arrive(3, 50)
    os.utime(place.folder / "in" / "00003.parquet", (1_000_000_007, 1_000_000_007))
    with pytest.raises(
        CheckpointError,
        match=r"the file .*00003\.parquet has changed since .* were \(1000000003\d+, \d+\), and are",
    ):
        place.run()
    assert place.rows() == written
    place.arrive(3, 40)
    assert place.run() == 1
    assert place.rows() == written


def test_a_file_that_is_taken_away_before_it_is_read_is_no_error(place: Place) -> None:
    """Files that a listing of the folder has, and that are gone when it is their turn, are not read."""
    for number in (3, 4):
        place.arrive(number, number)
    numbers = []
    for batch in streaming.batches(TOTALS, {SCORES: place.stream()}, checkpoint=place.checkpoint):
        (place.folder / "in" / "00004.parquet").unlink(missing_ok=True)
        numbers.append(batch.number)
    assert numbers == [3]


def test_a_file_that_is_renamed_while_its_folder_is_listed_is_no_error(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that has another name when its time is read is read under that name, after the next listing."""
    place.arrive(3, 4)
    path = place.folder / "in" / "00003.parquet"
    partial = path.rename(path.with_name("00003.parquet.part"))

    def list_and_rename(source: str, folder: str, read: Container[str]) -> Iterator[os.DirEntry[str]]:
        for entry in data_files(source, folder, read):
            if partial.exists():
                partial.rename(path)
            yield entry

    monkeypatch.setattr(readers, "data_files", list_and_rename)
    assert place.run() == 0
    assert place.run() == 1
    assert place.rows()[-1] == (3, 4)


@settings(max_examples=settings().max_examples)
@given(st.lists(st.lists(READ_FILES, max_size=4), max_size=8), st.integers(0, 6))
def test_a_log_of_files_has_all_files(added: list[list[ReadFile]], latest: int) -> None:
    """A log has each file as it was added last, also if a process was killed after it had written some of them."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_log, "_LATEST", latest)
        storage, stored, now = LocalFolder(Path(folder)), StoredFiles(), ProcessingTime(0)
        for files in added:
            # The first attempt is killed before the manifest is replaced.
            FileLog(storage, "source", stored).add(files, now)
            log = FileLog(storage, "source", stored)
            log.add(files, now)
            stored = log.stored
        assert dict(FileLog(storage, "source", stored).files()) == dict(itertools.chain(*added))
        assert len(stored.latest) <= latest
        sizes = [chunk.count for chunk in stored.chunks]
        assert all(older >= 4 * newer for older, newer in itertools.pairwise(sizes))
        for chunk in stored.chunks:
            file = Path(folder) / chunk.name
            file.write_bytes(file.read_bytes()[:-1])
            with pytest.raises(CheckpointError, match="is damaged: the files that source 'source'"):
                FileLog(storage, "source", stored).files()


INTENTS: Final = st.builds(
    Intent,
    st.sampled_from(["q", "r"]),
    st.integers(0, 2),
    st.integers(0, 2).map(ProcessingTime),
    st.dictionaries(st.sampled_from("ab"), st.lists(st.sampled_from([1, 2, "1"]), max_size=2).map(tuple)),
    st.booleans(),
    after=st.sampled_from([None, "x"]),
)


@given(INTENTS, INTENTS)
def test_a_fingerprint_identifies_a_micro_batch(one: Intent, other: Intent) -> None:
    """Two micro-batches have one fingerprint if and only if they are equal; the order of sources does not matter."""
    assert (one.fingerprint == other.fingerprint) == (one == other)
    turned = evolve(one, positions=dict(reversed(list(one.positions.items()))))
    assert turned.fingerprint == one.fingerprint


def test_endless_records_leak_nothing() -> None:
    """When a query over endless records is closed, or forgotten, its thread ends, and its buffer is freed."""
    before = threading.active_count()

    def endless() -> Iterator[Score]:
        for number in itertools.count():
            yield Score("a", number, NOON)

    for forget in (False, True):
        stream = StreamInput(Records(endless(), per_batch=10), WATERMARK)
        query = streaming.batches(TOTALS, {SCORES: stream}, follow=True)
        next(query)
        assert threading.active_count() == before + 1
        if not forget:
            query.close()
        del query, stream
        deadline = time.monotonic() + 10
        while threading.active_count() > before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert threading.active_count() == before


def test_importing_the_engine_starts_no_threads() -> None:
    """A process that has imported the engine, and forks, has a child that can run Polars."""
    program = (
        "import os\n"
        "import polars, pyarrow\n"
        "threads = lambda: len(os.listdir('/proc/self/task'))\n"
        "before = threads()\n"
        "import flowalg_polars.streaming, flowalg_polars.batch, flowalg_sinks, flowalg_kafka\n"
        "assert threads() == before, (before, threads())\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    frame = polars.DataFrame({'a': [1, 2] * 1000}).lazy()\n"
        "    os._exit(frame.group_by('a').len().collect().height)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2\n"
    )
    run_program([sys.executable, "-c", program], check=True)


def test_a_forked_process_neither_keeps_nor_frees_a_checkpoint(tmp_path: Path) -> None:
    """A child of a query that runs longer does not keep its checkpoint in use, and one that ends does not free it."""
    program = (
        "import os, signal, sys, time\n"
        "from flowalg.errors import CheckpointError\n"
        "from flowalg_polars.streaming.storage.checkpoint import Checkpoint\n"
        "with Checkpoint.open(sys.argv[1]):\n"
        "    longer = os.fork()\n"
        "    if longer == 0:\n"
        "        time.sleep(600)\n"
        "        os._exit(0)\n"
        "try:\n"
        "    with Checkpoint.open(sys.argv[1]):\n"
        "        shorter = os.fork()\n"
        "        if shorter == 0:\n"
        "            sys.exit(0)\n"
        "        os.waitpid(shorter, 0)\n"
        "        try:\n"
        "            with Checkpoint.open(sys.argv[1]):\n"
        "                raise AssertionError('two queries have one checkpoint')\n"
        "        except CheckpointError:\n"
        "            pass\n"
        "finally:\n"
        "    if longer:\n"
        "        os.kill(longer, signal.SIGKILL)\n"
    )
    run_program([sys.executable, "-c", program, str(tmp_path / "checkpoint")], check=True)
