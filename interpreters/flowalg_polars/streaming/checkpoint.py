"""The checkpoint of a streaming query: a folder with a manifest, the intent of the next micro-batch, and segments.

A micro-batch is committed in this order: the intent (what it reads, and when), the segments of its state, the sink's
transaction, and the manifest. The manifest is replaced by an atomic rename, so a process that is killed at any point
goes on with the last manifest, and repeats the micro-batch of the intent: the same rows at the same processing time.
"""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4
from zlib import crc32

from attrs import define, evolve, field, frozen
from flowalg_shard import OperatorState, Segment, StageDescription, WindowStore
from flowalg_shard.clocks.exchange import InputClocks
from flowalg_shard.state.compatibility import upgrade_description

from flowalg.data.errors import CheckpointError
from flowalg.data.time import ProcessingTime
from flowalg_polars.streaming.placement import placement_fingerprint
from flowalg_polars.streaming.reading.positions import Position

A = TypeVar("A")

FORMAT: Final = 4
"""The version of the layout that is written."""

_WITHOUT_INPUTS: Final = 3
"""The version whose stages do not say what flows into them."""

_READABLE: Final = (_WITHOUT_INPUTS, FORMAT)
"""The versions that are read; a checkpoint of another version is rejected."""

_SMALL: Final = 1 << 20
"""The most bytes of a segment that is stored in the manifest."""

_MANIFEST: Final = "manifest"
_INTENT: Final = "intent"
_SEGMENTS: Final = "segments"
_DRAIN: Final = "drain"
_LOCK: Final = "lock"


@frozen
class Intent:
    """What a micro-batch reads: its number, its processing time, and the position of each source after it.

    ``query`` is the id of the query, which its checkpoint keeps. With ``ended`` the input of all sources ends.
    """

    query: str
    batch: int
    time: ProcessingTime
    positions: Mapping[str, Position]
    ended: bool = False


@frozen
class StoredShard:
    """The state of a shard as stored: clocks, side input, and segments, by name or with their bytes."""

    clocks: tuple[InputClocks, ...]
    side: bytes
    segments: tuple[str, ...]


@frozen
class StoredStage:
    """The state of a stage: its description, and its shards."""

    description: StageDescription
    shards: tuple[StoredShard, ...]


@frozen
class Manifest:
    """The state of a query after a micro-batch: what it has read, and the state of its stages.

    ``small`` has the bytes of small segments. ``placement`` is the fingerprint of the hash that places keys on shards.
    """

    intent: Intent
    stages: tuple[StoredStage, ...]
    small: Mapping[str, bytes]
    placement: int

    @property
    def shards(self) -> int:
        """The number of shards of each stage."""
        return len(self.stages[0].shards)


@define
class Checkpoint:
    """An open checkpoint; no other process can open it."""

    folder: Path
    manifest: Manifest | None
    _stored: set[str] = field(factory=set)

    @classmethod
    @contextmanager
    def open(cls, folder: str | PathLike[str]) -> Iterator[Checkpoint]:
        """Opens a checkpoint, which is created if it does not exist. Raises ``CheckpointError`` if it is in use."""
        path = Path(folder)
        (path / _SEGMENTS).mkdir(parents=True, exist_ok=True)
        with (path / _LOCK).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as held:
                raise CheckpointError(
                    f"the checkpoint {path} is in use by another process; stop that query, or use another checkpoint"
                ) from held
            checkpoint = cls(path, _load(path / _MANIFEST, Manifest))
            checkpoint._remove_obsolete()
            yield checkpoint

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Checkpoint:
        """Returns a checkpoint as it is now; a query may be using it. Raises ``CheckpointError`` if there is none."""
        path = Path(folder)
        manifest = _load(path / _MANIFEST, Manifest)
        if manifest is None:
            raise CheckpointError(
                f"{path} is no checkpoint of the local engine, or its query has not committed a micro-batch yet"
            )
        return cls(path, manifest)

    @property
    def intent(self) -> Intent | None:
        """The intent of a micro-batch that was begun and not committed."""
        found = _load(self.folder / _INTENT, Intent)
        done = -1 if self.manifest is None else self.manifest.intent.batch
        return found if found is not None and found.batch > done else None

    def begin(self, intent: Intent) -> None:
        """Stores what the next micro-batch reads."""
        _replace(self.folder / _INTENT, intent)

    def commit(
        self, intent: Intent, stages: Sequence[tuple[StageDescription, Sequence[OperatorState]]]
    ) -> None:
        """Stores the state after a micro-batch."""
        small: dict[str, bytes] = {}
        stored = tuple(
            StoredStage(description, tuple(self._store(state, small) for state in states))
            for description, states in stages
        )
        if self._stored:
            _sync_folder(self.folder / _SEGMENTS)
        manifest = Manifest(intent, stored, small, placement_fingerprint())
        _replace(self.folder / _MANIFEST, manifest)
        self.manifest = manifest
        self._remove_obsolete()

    def _store(self, state: OperatorState, small: dict[str, bytes]) -> StoredShard:
        """Stores the segments of a shard that are not stored yet: a small one in the manifest, others in files."""
        names = []
        for segment in state.windows.segments:
            names.append(segment.name)
            if segment.name in self._stored:
                continue
            packed = segment.packed
            if len(packed) <= _SMALL:
                small[segment.name] = packed
            else:
                _write(self._segment(segment.name), _seal(packed))
                self._stored.add(segment.name)
        return StoredShard(state.input_clocks, state.side_input, tuple(names))

    def _segment(self, name: str) -> Path:
        return self.folder / _SEGMENTS / name

    def _remove_obsolete(self) -> None:
        """Removes the files of segments that the manifest does not have."""
        manifest = self.manifest
        known = {
            name
            for stage in (() if manifest is None else manifest.stages)
            for shard in stage.shards
            for name in shard.segments
        }
        for path in (self.folder / _SEGMENTS).iterdir():
            if path.name not in known:
                path.unlink()
        self._stored &= known

    def restore(self, shard: StoredShard, *, evaluate_all: bool) -> OperatorState:
        """Returns the state of a shard. Raises ``CheckpointError`` if it is damaged."""
        assert self.manifest is not None, "there is a state"
        small = self.manifest.small

        def segment(name: str) -> Segment:
            if name in small:
                return Segment.restore(name, small[name])
            path = self._segment(name)
            if not path.exists():
                raise CheckpointError(
                    f"the checkpoint {self.folder} is damaged: its segment {name} is missing"
                )
            self._stored.add(name)
            return _read(path, f"its segment {name}", lambda payload: Segment.restore(name, payload))

        windows = WindowStore.restore(shard.segments, segment)
        return OperatorState(shard.clocks, WindowStore(windows.parts, evaluate_all=evaluate_all), shard.side)

    @property
    def drain_requested(self) -> bool:
        """Whether ``drain`` was called for this checkpoint."""
        return (self.folder / _DRAIN).exists()


def new_query_id() -> str:
    """Returns the id of a new query, which its checkpoint keeps."""
    return uuid4().hex


def drain(checkpoint: str | PathLike[str]) -> None:
    """Ends all inputs of the query with this checkpoint.

    The query reads what is available, and then advances the watermark to the end of time: all windows close and emit
    their last panes. A query that runs does so at its next micro-batch, and ends.
    """
    path = Path(checkpoint)
    path.mkdir(parents=True, exist_ok=True)
    _write(path / _DRAIN, b"")


def _load(path: Path, kind: type[A]) -> A | None:
    """Returns a stored value; ``None`` if there is none. Raises ``CheckpointError`` if it is damaged."""
    if not path.exists():
        return None

    def unpickle(payload: bytes) -> A:
        version, value = pickle.loads(payload)  # trusted: written by ``_replace``, and its checksum is right
        if version not in _READABLE:
            raise CheckpointError(
                f"the checkpoint {path.parent} has format {version}, and this version of flowalg reads the formats "
                f"{' and '.join(map(str, _READABLE))}; continue with the version that wrote it, or start the query "
                "with a new checkpoint"
            )
        upgraded = _upgrade(value) if version == _WITHOUT_INPUTS else value
        assert isinstance(upgraded, kind)
        return upgraded

    return _read(path, f"its {path.name}", unpickle)


def _upgrade(value: object) -> object:
    """Returns a value of the version ``_WITHOUT_INPUTS`` as one of this version."""
    if not isinstance(value, Manifest):
        return value
    stages = (evolve(stage, description=upgrade_description(stage.description)) for stage in value.stages)
    return evolve(value, stages=tuple(stages))


def _read(path: Path, what: str, decode: Callable[[bytes], A]) -> A:
    sealed = path.read_bytes()
    payload = sealed[4:]
    if len(sealed) < 4 or int.from_bytes(sealed[:4], "big") != crc32(payload):
        raise CheckpointError(
            f"the checkpoint {_folder_of(path)} is damaged: {what} has the wrong checksum; restore a copy, or start "
            "the query with a new checkpoint"
        )
    return decode(payload)


def _folder_of(path: Path) -> Path:
    """Returns the checkpoint of a file."""
    return path.parent.parent if path.parent.name == _SEGMENTS else path.parent


def _seal(payload: bytes) -> bytes:
    return crc32(payload).to_bytes(4, "big") + payload


def _replace(path: Path, value: object) -> None:
    """Replaces a file by an atomic rename."""
    temporary = path.with_name(f".{path.name}")
    _write(temporary, _seal(pickle.dumps((FORMAT, value))))
    temporary.replace(path)
    _sync_folder(path.parent)


def _write(path: Path, payload: bytes) -> None:
    try:
        with path.open("wb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint {_folder_of(path)} cannot be written: {error.strerror}; when it can be written, start "
            "the query again: it continues from its last micro-batch"
        ) from error


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


__all__ = ["Checkpoint", "Intent", "Manifest", "StoredStage", "drain", "new_query_id"]
