"""Checkpoints of the local engine in object stores: exactly once, one writer at a time, and every fault is named.

These tests catch two queries that both commit, a put that counts twice or not at all since its answer was lost, a file
that is deleted though the manifest needs it, and an error of a store that does not say what to do.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Final

import flowalg_sinks
import polars as pl
import pytest
from attrs import frozen
from flowalg_polars import streaming
from flowalg_polars.streaming import Frames, MicroBatch, StreamInput
from flowalg_polars.streaming.storage import checkpoint as checkpoints
from flowalg_polars.streaming.storage.location import CheckpointLocation
from flowalg_sinks import SinkError, SQLite
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import HTTPStore, LocalStore, MemoryStore

from flowalg import KV, BoundedOutOfOrderness, FixedWindows, Sum
from flowalg.errors import ArgumentError, CheckpointError
from tests.components.s3 import BUCKET, Proxy, environment, s3_server, s3_store
from tests.faults.stores import check
from tests.support.programs import run_program
from tests.support.scores import NOON, POINTS, SCORES

MINUTE: Final = timedelta(minutes=1)
TOTALS: Final = POINTS.window(FixedWindows(MINUTE), allowed_lateness=10 * MINUTE).combine_per_key(Sum())
FRAMES: Final = [
    pl.DataFrame([{"team": "a", "points": 10 * number, "at": NOON + number * MINUTE}]) for number in range(6)
]
ROWS: Final = [(number + 1, 10 * number) for number in range(5)]
"""The micro-batches and values of panes of all frames: a window closes with the next frame."""

NAMES: Final = map(str, count())


def start(
    checkpoint: CheckpointLocation, frames: list[pl.DataFrame] = FRAMES, *, shards: int = 1
) -> Generator[MicroBatch[KV[str, int]], None, None]:
    """Starts the query."""
    inputs = {SCORES: StreamInput(Frames(iter(frames)), BoundedOutOfOrderness(timedelta(0)))}
    return streaming.batches(TOTALS, inputs, checkpoint=checkpoint, shards=shards)


def values(batches: Iterable[MicroBatch[KV[str, int]]]) -> list[tuple[int, int]]:
    """Returns the micro-batch and the value of each pane."""
    return [(batch.number, pane.value) for batch in batches for pane in batch.panes]


@frozen
class Table:
    """A table that a query writes to."""

    folder: Path

    def write(self, batch: MicroBatch[KV[str, int]]) -> None:
        """Writes a micro-batch."""
        target = SQLite(self.folder / "panes.db")
        batch.write_to(flowalg_sinks.changelog(TOTALS, target, table="t"))

    def run(self, checkpoint: CheckpointLocation) -> None:
        """Runs the query to its end."""
        for batch in start(checkpoint):
            self.write(batch)

    def rows(self) -> list[tuple[int, int]]:
        """Returns the micro-batches and values of the rows without those of the end of the input."""
        with closing(sqlite3.connect(self.folder / "panes.db")) as connection:
            return connection.execute("SELECT batch, value FROM t WHERE batch < 6 ORDER BY batch").fetchall()


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The URL of an S3 server."""
    with s3_server() as url:
        yield url


@pytest.fixture(params=["memory://", "MemoryStore", "s3://", "S3Store", "file://", "LocalStore"])
def location(
    request: pytest.FixtureRequest, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CheckpointLocation:
    """The location of a new checkpoint, of each kind."""
    for name, value in environment(s3).items():
        monkeypatch.setenv(name, value)
    locations: dict[str, CheckpointLocation] = {
        "memory://": f"memory://{tmp_path}",
        "MemoryStore": MemoryStore(),
        "s3://": f"s3://{BUCKET}/location{tmp_path}",
        "S3Store": s3_store(s3, f"store{tmp_path}"),
        "file://": f"file://{tmp_path}/a%20file",
        "LocalStore": LocalStore(tmp_path, mkdir=True),
    }
    return locations[request.param]


def test_a_query_goes_on_from_any_store(
    location: CheckpointLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each micro-batch; ``open_state``, ``plan``, ``reshard`` and ``drain`` take its location, too."""
    monkeypatch.setattr(checkpoints, "_SMALL", 0)
    seen: dict[int, int] = {}
    for frames in range(2, 7):
        query = start(location, FRAMES[:frames])
        for batch in query:
            if batch.number == frames - 1:
                break  # the last one is not committed
            seen |= dict(values([batch]))
        query.close()
        state = streaming.open_state(location)
        assert state.height == frames - 1
    assert str(streaming.plan(TOTALS, location)).startswith("The pipeline can continue")
    streaming.reshard(location, 3)
    streaming.drain(location)
    seen |= dict(values(start(location, shards=3)))
    assert sorted(seen.items())[:5] == ROWS
    assert values(start(location, shards=3)) == []


@pytest.mark.parametrize("committed", [0, 1, 3])
def test_a_start_takes_over(location: CheckpointLocation, committed: int) -> None:
    """In a store, the query that ran ends with an error, and only the new one goes on; a folder is locked."""
    first = start(location)
    for _ in range(committed + 1):
        next(first)
    second = start(location)
    if isinstance(location, LocalStore) or str(location).startswith("file:"):
        with pytest.raises(CheckpointError, match="is in use by another process"):
            next(second)
        return
    assert next(second).number == committed
    with pytest.raises(
        CheckpointError, match="another query has taken over .*: its start 2 has replaced"
    ) as ended:
        next(first)
    assert "its start 1, which ends without a commit" in str(ended.value)
    assert [batch.number for batch in second][-1] == 6
    assert list(start(location)) == []


@settings(max_examples=settings().max_examples // 2 + 1, deadline=None)
@given(st.lists(st.integers(-1, 4), max_size=30))
def test_of_many_starts_one_commits_each_micro_batch(steps: list[int]) -> None:
    """However starts of a query take turns, each row is written once, and a start that was replaced writes none."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        table, store = Table(Path(folder)), MemoryStore()
        queries: list[Generator[MicroBatch[KV[str, int]], None, None]] = []
        newest, ended = -1, dict[int, str]()
        for step in steps:
            if step < 0 or not queries:
                queries.append(start(store))
                step = len(queries) - 1
            number = step % len(queries)
            try:
                batch = next(queries[number])
                table.write(batch)
            except StopIteration:
                newest = max(newest, number)
            except (CheckpointError, SinkError) as error:
                ended[number] = str(error)
            else:
                newest = max(newest, number)
        assert all(number < newest for number in ended)
        assert all("taken over" in text or "written by start" in text for text in ended.values())
        table.run(store)
        assert table.rows() == ROWS


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_faults_of_requests_to_s3_change_no_row(s3: str, tmp_path: Path, seed: int) -> None:
    """Requests that fail, whose answers are lost, or that arrive after the client has given up: rows are written once.

    The client tries a request again that may have succeeded; the query ends if that fails too, and is started again.
    """
    chance = random.Random(seed)
    ways = ["pass"] * 12 + ["drop", "lose", "late", "busy"]
    proxy = Proxy(s3, lambda method, path: chance.choice(ways), late=0.25)
    table, failures = Table(tmp_path), list[str]()
    with proxy.serve() as url:
        store = s3_store(url, f"faults{seed}{tmp_path}", timeout=0.2, retries=1)
        for _ in range(60):
            try:
                table.run(store)
                break
            except CheckpointError as error:
                failures.append(str(error))
    table.run(s3_store(s3, f"faults{seed}{tmp_path}"))
    assert table.rows() == ROWS
    assert all("the store does not answer, or with an error" in text for text in failures)
    assert len(proxy.requests) > 20


def test_a_slow_store_delays_a_query(s3: str, tmp_path: Path) -> None:
    """A store that answers slowly, within the timeout of the client, makes a query slow and nothing else."""
    proxy = Proxy(s3)

    def delay(method: str, path: str) -> str:
        import time

        time.sleep(0.02)
        return "pass"

    proxy.fault = delay
    with proxy.serve() as url:
        Table(tmp_path).run(s3_store(url, f"slow{tmp_path}"))
    assert Table(tmp_path).rows() == ROWS


@pytest.mark.parametrize("moment", ["start", "run"])
@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("drop", "the store does not answer, or with an error: .*; when it answers, start the query again"),
        ("busy", "the store does not answer, or with an error: .*503"),
        (
            "deny",
            "the store denies the access: .*; set credentials that may read, write, list and delete there",
        ),
    ],
)
def test_a_store_that_fails_is_named(s3: str, tmp_path: Path, moment: str, way: str, message: str) -> None:
    """A store that is away, busy, or denies the access is an error with its name, and the query goes on."""
    table = Table(tmp_path)
    failing = moment == "start"
    proxy = Proxy(s3, lambda method, path: way if failing else "pass")
    with proxy.serve() as url:
        store = s3_store(url, f"fails{tmp_path}")
        query = start(store)
        if moment == "run":
            table.write(next(query))
            failing = True
        with pytest.raises(CheckpointError, match=message) as raised:
            next(query)
        assert repr(store) in str(raised.value)
        assert "\n" not in str(raised.value)
        failing = False
        table.run(store)
    assert table.rows() == ROWS


def test_a_bucket_that_does_not_exist_is_named(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the URL, and says what to do."""
    for name, value in environment(s3).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(
        CheckpointError, match="checkpoint s3://nowhere/x cannot be read: its bucket .* does not exist"
    ):
        list(start("s3://nowhere/x"))


def objects(store: MemoryStore) -> dict[str, bytes]:
    """Returns the objects of a store by their paths."""
    return {found["path"]: bytes(store.get(found["path"]).bytes()) for page in store.list() for found in page}


def restored(content: dict[str, bytes]) -> MemoryStore:
    """Returns a store with objects."""
    store = MemoryStore()
    for path, data in content.items():
        store.put(path, data)
    return store


def stored(frames: int, table: Table, *, begun: bool = False) -> dict[str, bytes]:
    """Returns the objects of a query that has read some frames, perhaps with a micro-batch that was begun."""
    store = MemoryStore()
    query = start(store, FRAMES[: frames + begun])
    for batch in query:
        if batch.number == frames + begun:
            break
        table.write(batch)
    query.close()
    return objects(store)


def test_damage_of_any_object_is_named_or_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each object damaged, cut, lost, or exchanged with that of another time or query: an error, or the same rows."""
    monkeypatch.setattr(checkpoints, "_SMALL", 0)
    folders = [tmp_path / name for name in ("own", "other", "older", "trial")]
    for folder in folders:
        folder.mkdir()
    own = stored(3, Table(folders[0]))
    others = stored(3, Table(folders[1]))
    older = stored(2, Table(folders[2]))
    errors: list[str] = []
    for path, data in own.items():
        alternatives = [
            data[: len(data) // 2],
            data[:-1],
            b"",
            b"\0" + data[1:],
            data[:-1] + bytes([data[-1] ^ 1]),
        ]
        for source in (others, older):
            alternatives += [
                value for name, value in source.items() if name.partition("/")[0] == path.partition("/")[0]
            ]
        for content in [None, *alternatives]:
            changed = {name: value for name, value in own.items() if name != path}
            if content is not None:
                changed[path] = content
            trial = folders[3]
            (trial / "panes.db").write_bytes((folders[0] / "panes.db").read_bytes())
            try:
                Table(trial).run(restored(changed))
            except CheckpointError as error:
                errors.append(str(error))
            except SinkError:  # it is that of another query, as a whole
                continue
            else:
                assert Table(trial).rows() == ROWS, (path, content)
    assert len(errors) > len(own)
    assert all("the checkpoint MemoryStore" in error for error in errors)


def test_a_head_of_a_later_version_is_named_and_not_taken_over(tmp_path: Path) -> None:
    """A manifest with another layout or format is an error with both numbers, and the query that wrote it goes on."""
    store = MemoryStore()
    first = start(store)
    for _ in range(3):
        next(first)
    line, _, payload = objects(store)["manifest"].partition(b"\n")
    later = json.dumps(json.loads(line) | {"layout": 2}).encode() + b"\n" + payload
    before = objects(store)
    with pytest.raises(
        CheckpointError, match="its manifest has the layout 2 .* this version reads the layout 1"
    ):
        list(start(restored(before | {"manifest": later})))
    written = checkpoints.FORMAT
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "FORMAT", 99)
        with pytest.raises(CheckpointError, match=f"has format {written}, and .* reads the format 99"):
            list(start(store))
    assert objects(store) == before
    assert next(first).number == 3


@pytest.mark.parametrize("stride", [pytest.param(1, marks=pytest.mark.thorough), 53])
def test_a_fault_at_any_request_changes_no_table(stride: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A request that fails in any of nine ways changes none of four tables after a restart, and leaves no file."""
    assert check(stride) == 0
    *failed, last = capsys.readouterr().out.splitlines()
    assert failed == []
    _, _, points = last.removeprefix("object store: ").partition(" of ")
    assert int(points) * stride > 300


@pytest.mark.parametrize(
    "location",
    [
        "s3:/bucket/folder",
        "http://host/folder",
        "ftp://host/folder",
        "s3://key:secret@bucket/folder",
        "s3://bucket/folder?secret=1",
        Path("s3://bucket/folder"),
        3,
        HTTPStore("http://localhost:1"),
        LocalStore(),
    ],
    ids=repr,
)
def test_what_is_no_location_is_an_error(location: CheckpointLocation) -> None:
    """Other URLs, URLs with credentials, and stores that cannot be written to, which are not shown."""
    with pytest.raises(ArgumentError, match="^checkpoint must be a") as raised:
        next(start(location))
    assert "secret" not in str(raised.value)


def test_a_store_without_its_package_is_an_error() -> None:
    """The error has the command that installs it; a folder does not need it."""
    program = (
        "import sys\n"
        "sys.modules['obstore'] = None\n"
        "import flowalg.errors\n"
        "from flowalg_polars import streaming\n"
        "try:\n"
        "    streaming.drain('memory://name')\n"
        "except flowalg.errors.MissingExtraError as error: print(error)"
    )
    done = run_program([sys.executable, "-c", program], check=True)
    assert done.stdout == (
        "a checkpoint in an object store needs the package obstore: pip install 'flowalg[store]'\n"
    )
