"""A fault at every request to an object store: each fails once in each way, and the query goes on afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeVar
from unittest.mock import patch

import flowalg_polars.streaming.storage.checkpoint as checkpoints
from attrs import define, field
from flowalg_polars import streaming
from flowalg_polars.streaming import Files, StreamInput
from flowalg_polars.streaming.storage import file_log
from flowalg_polars.streaming.storage.object_store import Content, ObjectStore, Version
from flowalg_sinks import SinkError
from obstore.exceptions import BaseError, GenericError, PermissionDeniedError
from obstore.store import MemoryStore

from flowalg import BoundedOutOfOrderness
from flowalg.errors import CheckpointError
from tests.faults.crashes import MINUTE, TABLES, TOTALS, Totals, try_points
from tests.support.scores import SCORES

A = TypeVar("A")

WAYS: Final = (
    "die before",
    "die after",
    "away",
    "answer lost",
    "tried twice",
    "late",
    "denied",
    "other start before",
    "other start after",
)


class Died(BaseException):
    """The process of the query has ended."""


@define
class FaultyStore:
    """A store that counts the requests, and lets the one with a number fail in a way; without a way it only counts.

    A request that is ``late`` is an error for the query, and reaches the store with a later request of another start.
    """

    store: ObjectStore
    way: str | None = None
    number: int = -1
    other_start: Callable[[], None] = field(default=lambda: None)
    count: int = 0
    late: Callable[[], object] | None = None

    def get(self, path: str, /) -> Content:
        """Returns an object."""
        return self._call(lambda: self.store.get(path))

    def put(
        self, path: str, file: bytes, /, *, mode: Literal["create", "overwrite"] | Version | None = None
    ) -> Mapping[str, object]:
        """Stores an object."""
        return self._call(lambda: self.store.put(path, file, mode=mode))

    def list(self, prefix: str | None = None, /) -> Iterable[Sequence[Mapping[str, object]]]:
        """Yields lists of objects."""
        return self._call(lambda: list(self.store.list(prefix)))

    def delete(self, paths: Sequence[str], /) -> None:
        """Deletes objects."""
        self._call(lambda: self.store.delete(paths))

    def _call(self, run: Callable[[], A]) -> A:
        own, self.count = self.count == self.number, self.count + 1
        if not own:
            return run()
        match self.way:
            case "die before":
                raise Died
            case "die after":
                run()
                raise Died
            case "away":
                raise GenericError("connection refused")
            case "denied":
                raise PermissionDeniedError("the key is wrong")
            case "answer lost":
                with suppress(FileNotFoundError):
                    run()
                raise GenericError("connection reset")
            case "tried twice":
                run()
                return run()
            case "late":
                self.late = run
                raise GenericError("timeout")
            case "other start before":
                self.other_start()
                return run()
            case "other start after":
                answer = run()
                self.other_start()
                return answer
            case _:
                return run()


@define
class Delayed(FaultyStore):
    """A store that a late request of another process reaches before the request with a number."""

    def _call(self, run: Callable[[], A]) -> A:
        if self.count == self.number and self.late is not None:
            with suppress(BaseError, FileNotFoundError):
                self.late()
        self.count += 1
        return run()


def run(trial: Totals, store: ObjectStore) -> None:
    """Runs the query over all files to the end of its input, with its checkpoint in a store."""
    streaming.run(
        TOTALS,
        {SCORES: StreamInput(Files(trial.folder / "in", "jsonl"), BoundedOutOfOrderness(0 * MINUTE))},
        sink=trial.sinks,
        checkpoint=store,
        drain=True,
    )


def strike(root: Path, way: str, number: int, expected: Sequence[str]) -> str | None:
    """Returns what is wrong after a request has failed in a way; ``None`` if nothing is."""
    trial, store = Totals.create(root / f"{way}-{number}"), MemoryStore()
    faulty = FaultyStore(store, way, number, lambda: run(trial, store))
    problem = None
    ended: BaseException | None = None
    try:
        run(trial, faulty)
    except (Died, CheckpointError, SinkError) as error:
        ended = error
    expects = {"away": CheckpointError, "answer lost": CheckpointError, "denied": CheckpointError}.get(way)
    if expects is not None and not isinstance(ended, expects):
        problem = f"the query ended with {ended!r}"
    elif way == "tried twice" and ended is not None:
        problem = f"a request that the client tries twice ended the query: {ended}"
    elif isinstance(ended, SinkError) and not way.startswith("other start"):
        problem = f"the sink failed: {ended}"
    else:
        for _ in range(2):
            run(trial, Delayed(store, number=number % 11, late=faulty.late))
            if trial.content() != expected:
                problem = f"the tables differ: {sorted(set(trial.content()) ^ set(expected))}"
        problem = problem or _unneeded(store)
    shutil.rmtree(trial.folder)
    return problem


def _unneeded(store: ObjectStore) -> str | None:
    """Returns which objects in a store the manifest does not need, ``None`` if it needs all: a start removes others."""
    opened = checkpoints.Checkpoint.read(store)
    manifest = opened.manifest
    assert manifest is not None
    segments = {f"segments/{n}" for s in manifest.stages for shard in s.shards for n in shard.segments}
    chunks = {chunk.name for log in manifest.files.values() for chunk in log.chunks}
    needed = {"query", "intent", "manifest", *(segments - {f"segments/{n}" for n in manifest.small}), *chunks}
    there = {str(found["path"]) for page in store.list() for found in page}
    return None if there == needed else f"the store has other files than it needs: {sorted(there ^ needed)}"


def check(stride: int = 1) -> int:
    """Runs a query of the local engine with its checkpoint in an object store, and lets each request fail in each way.

    The process dies before or after the request; the store is away, denies the access, or its answer is lost or late;
    the client tries the request twice; or another start of the query takes over and runs to its end. The query is then
    started again: its four tables must be those of an undisturbed one, and the store must have no file that is not
    needed. Every ``stride``-th point is tried, and those that failed are printed. The last line is
    ``object store: K of N``.
    """
    with (
        tempfile.TemporaryDirectory(prefix="flowalg-") as folder,
        patch.object(checkpoints, "_SMALL", 0),
        patch.object(file_log, "_LATEST", 1),
    ):
        calm, counter = Totals.create(Path(folder) / "calm"), FaultyStore(MemoryStore())
        run(calm, counter)
        expected = calm.content()
        assert {row.split()[1] for row in expected} == set(TABLES), expected
        points = [(way, number) for number in range(counter.count) for way in WAYS][::stride]
        return try_points(
            "object store", "request", points, lambda way, number: strike(Path(folder), way, number, expected)
        )
