"""The checkpoint of a streaming query: a folder with a manifest, the intent of the next micro-batch, and segments.

A micro-batch is committed in this order: the intent (what it reads, and when), the segments of its state, the sink's
transaction, and the manifest. The manifest is replaced by an atomic rename, so a process that is killed at any point
goes on with the last manifest, and repeats the micro-batch of the intent: the same rows at the same processing time.

An intent has the fingerprint of the one before it, so files that were lost, exchanged or restored apart from each other
do not fit together, and a sink can compare what its table has with what the query has read.
"""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Final, TypeVar
from uuid import uuid4

from attrs import define, evolve, field, frozen
from flowalg_columns.checks.streams import other_format
from flowalg_shard import OperatorState, Segment, StageDescription, WindowStore
from flowalg_shard.clocks.exchange import InputClocks
from flowalg_shard.tables.packing import seal

from flowalg.data.errors import CheckpointError, local_folder
from flowalg.data.time import ProcessingTime
from flowalg.runs.placement import PLACEMENT
from flowalg_polars.streaming.reading.positions import FILES, Position, files_in
from flowalg_polars.streaming.storage.file_log import FileLog, StoredFiles
from flowalg_polars.streaming.storage.files import (
    READS,
    decoded,
    make_folder,
    naming_errors,
    open_file,
    read_sealed,
    replace_file,
    sync_folder,
    write_file,
)

A = TypeVar("A")

FORMAT: Final = 7
"""The version of the layout. A checkpoint of another version is rejected."""

_SMALL: Final = 1 << 20
"""The most bytes of a segment that is stored in the manifest."""

_IDENTITY: Final = "query"
_MANIFEST: Final = "manifest"
_INTENT: Final = "intent"
_SEGMENTS: Final = "segments"
_DRAIN: Final = "drain"
_LOCK: Final = "lock"


@frozen
class Identity:
    """The query of a checkpoint: its id, how often it was started, and whether it has begun a micro-batch."""

    query: str
    generation: int = 0
    begun: bool = False


@frozen
class Intent:
    """What a micro-batch reads: its number, its processing time, and the position of each source after it.

    ``query`` is the id of the query, which its checkpoint keeps. With ``ended`` the input of all sources ends.
    ``kinds`` says what the positions of each source count, and ``after`` is the fingerprint of the intent before.
    """

    query: str
    batch: int
    time: ProcessingTime
    positions: Mapping[str, Position]
    ended: bool = False
    kinds: Mapping[str, str] = field(factory=dict)
    after: str | None = None

    @property
    def fingerprint(self) -> str:
        """A text that differs for any other micro-batch, and for any other history of the query."""
        read = sorted((name, self.kinds.get(name), position) for name, position in self.positions.items())
        text = repr((self.query, self.batch, int(self.time), read, self.ended, self.after))
        return sha256(text.encode()).hexdigest()[:32]


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

    ``small`` has the bytes of small segments. ``placement`` is the name of the hash that places keys on shards, and
    ``files`` the logs of the files that sources have read.
    """

    intent: Intent
    stages: tuple[StoredStage, ...]
    small: Mapping[str, bytes]
    placement: str
    files: Mapping[str, StoredFiles] = field(factory=dict)

    @property
    def shards(self) -> int:
        """The number of shards of each stage."""
        return len(self.stages[0].shards)


@define
class Checkpoint:
    """An open checkpoint; no other process can open it."""

    folder: Path
    identity: Identity
    manifest: Manifest | None
    _lock: int | None = None
    _stored: set[str] = field(factory=set)

    @classmethod
    @contextmanager
    def open(cls, folder: str | PathLike[str]) -> Iterator[Checkpoint]:
        """Opens a checkpoint for a start of its query; it is created if it does not exist.

        Raises ``CheckpointError`` if it is in use, damaged, or has files that do not belong together.
        """
        path = Path(local_folder("checkpoint", folder))
        with naming_errors(path):
            make_folder(path)
            make_folder(path / _SEGMENTS)
            lock = open_file(path / _LOCK, os.O_RDWR | os.O_CREAT)
        process = os.getpid()
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as held:
                raise CheckpointError(
                    f"the checkpoint {path} is in use by another process; stop that query, or use another checkpoint"
                ) from held
            identity = _load(path / _IDENTITY, Identity)
            manifest = _load(path / _MANIFEST, Manifest)
            checkpoint = cls(path, identity or Identity(uuid4().hex), manifest, lock)
            checkpoint._require_together(identity)
            current = checkpoint.identity
            checkpoint._identify(
                evolve(
                    current,
                    generation=current.generation + 1,
                    begun=current.begun or checkpoint._begun is not None,
                )
            )
            checkpoint._remove_obsolete()
            yield checkpoint
        finally:
            # A process that was forked has the lock, too, and may end earlier or later.
            if os.getpid() == process:
                fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Checkpoint:
        """Returns a checkpoint as it is now; a query may be using it. Raises ``CheckpointError`` if there is none."""
        path = Path(local_folder("checkpoint", folder))
        manifest = _load(path / _MANIFEST, Manifest)
        if manifest is None:
            raise CheckpointError(
                f"{path} is no checkpoint of the local engine, or its query has not committed a micro-batch yet"
            )
        return cls(path, Identity(manifest.intent.query), manifest)

    def _require_together(self, identity: Identity | None) -> None:
        """Raises ``CheckpointError`` unless the files are those of one query at one time."""
        manifest, begun = self.manifest, self._begun
        done = None if manifest is None else manifest.intent
        intents = [intent for intent in (done, begun) if intent is not None]
        if identity is None and intents:
            raise self._torn(f"its file {_IDENTITY!r} is missing, and it has micro-batch {intents[0].batch}")
        if begun is None and (done is not None or (identity is not None and identity.begun)):
            last = (
                "it has begun a micro-batch" if done is None else f"it has committed micro-batch {done.batch}"
            )
            raise self._torn(f"its intent is missing, and {last}")
        for name, intent in ((_MANIFEST, done), (_INTENT, begun)):
            if intent is not None and intent.query != self.identity.query:
                raise self._torn(
                    f"its {name} is of the query {intent.query}, and its file {_IDENTITY!r} of {self.identity.query}"
                )
        if begun is None:
            return
        if done is None:
            if begun.batch != 0:
                raise self._torn(f"its manifest is missing, and its intent is of micro-batch {begun.batch}")
        elif begun.batch == done.batch + 1:
            if begun.after != done.fingerprint:
                raise self._torn(
                    f"its intent of micro-batch {begun.batch} follows {begun.after}, and its manifest is of "
                    f"{done.fingerprint}, which has read other data under the number {done.batch}"
                )
        elif begun != done:
            raise self._torn(
                f"its intent is of micro-batch {begun.batch} ({begun.fingerprint}), and its manifest of "
                f"{done.batch} ({done.fingerprint})"
            )

    def _torn(self, problem: str) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint {self.folder} has files of different times: {problem}; restore all files of one copy, or "
            "start the query with a new checkpoint"
        )

    def _require_locked(self) -> None:
        """Raises ``CheckpointError`` if the folder is another one than was opened, which another query may use."""
        assert self._lock is not None, "the checkpoint is open"
        try:
            held = os.path.samestat(os.fstat(self._lock), os.stat(self.folder / _LOCK))
        except OSError:
            held = False
        if not held:
            raise CheckpointError(
                f"the checkpoint {self.folder}, or its file {_LOCK!r}, was removed, moved or replaced since this query "
                "was started, so another query may use it; start the query again"
            )

    def _identify(self, identity: Identity) -> None:
        _replace(self.folder / _IDENTITY, identity)
        self.identity = identity

    @property
    def _begun(self) -> Intent | None:
        return _load(self.folder / _INTENT, Intent)

    @property
    def intent(self) -> Intent | None:
        """The intent of a micro-batch that was begun and not committed."""
        begun = self._begun
        done = -1 if self.manifest is None else self.manifest.intent.batch
        return begun if begun is not None and begun.batch > done else None

    def begin(self, intent: Intent) -> None:
        """Stores what the next micro-batch reads."""
        self._require_locked()
        _replace(self.folder / _INTENT, intent)
        if not self.identity.begun:
            self._identify(evolve(self.identity, begun=True))

    def commit(
        self,
        intent: Intent,
        stages: Sequence[tuple[StageDescription, Sequence[OperatorState]]],
        changed: Mapping[str, Sequence[str]],
    ) -> None:
        """Stores the state after a micro-batch, and the ``changed`` files of sources, which were reported."""
        self._require_locked()
        small: dict[str, bytes] = {}
        stored = tuple(
            StoredStage(description, tuple(self._store(state, small) for state in states))
            for description, states in stages
        )
        if self._stored:
            with naming_errors(self.folder):
                sync_folder(self.folder / _SEGMENTS)
        manifest = Manifest(intent, stored, small, PLACEMENT, self._add_files(intent, changed))
        _replace(self.folder / _MANIFEST, manifest)
        self.manifest = manifest
        self._remove_obsolete()

    def files(self, source: str) -> FileLog:
        """Returns the log of the files that a source has read."""
        files = {} if self.manifest is None else self.manifest.files
        return FileLog(self.folder, source, files.get(source, StoredFiles()))

    def _add_files(self, intent: Intent, changed: Mapping[str, Sequence[str]]) -> Mapping[str, StoredFiles]:
        """Returns the logs of files after a micro-batch."""
        before = {} if self.manifest is None else self.manifest.intent.positions
        logs = {source: self.files(source) for source, kind in intent.kinds.items() if kind == FILES}
        for source, log in logs.items():
            position = intent.positions[source]
            read = files_in(position) if position != before.get(source) else ()
            log.add([*read, *((name, None) for name in changed.get(source, ()))])
        return {source: log.stored for source, log in logs.items()}

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
                with naming_errors(self.folder):
                    write_file(self._segment(segment.name), seal(packed, segment.name))
                self._stored.add(segment.name)
        return StoredShard(state.input_clocks, state.side_input, tuple(names))

    def _segment(self, name: str) -> Path:
        return self.folder / _SEGMENTS / name

    def _remove_obsolete(self) -> None:
        """Removes the files of segments that the manifest does not have."""
        manifest = self.manifest
        segments = {
            name
            for stage in (() if manifest is None else manifest.stages)
            for shard in stage.shards
            for name in shard.segments
        }
        with naming_errors(self.folder):
            for name in os.listdir(self.folder / _SEGMENTS):
                if name not in segments:
                    os.unlink(self._segment(name))
        self._stored &= segments

    def restore(self, shard: StoredShard, *, evaluate_all: bool) -> OperatorState:
        """Returns the state of a shard. Raises ``CheckpointError`` if it is damaged."""
        assert self.manifest is not None, "there is a state"
        small = self.manifest.small

        def segment(name: str) -> Segment:
            def decode(payload: bytes) -> Segment:
                return Segment.restore(name, payload)

            what = f"its segment {name}"
            if name in small:
                return decoded(self.folder, what, small[name], decode)
            restored = read_sealed(self.folder, self._segment(name), what, decode)
            if restored is None:
                raise CheckpointError(
                    f"the checkpoint {self.folder} is damaged: its segment {name} is missing; {READS}"
                )
            self._stored.add(name)
            return restored

        windows = WindowStore.restore(shard.segments, segment)
        return OperatorState(shard.clocks, WindowStore(windows.parts, evaluate_all=evaluate_all), shard.side)

    @property
    def drain_requested(self) -> bool:
        """Whether ``drain`` was called for this checkpoint."""
        with naming_errors(self.folder, "cannot be read"):
            try:
                os.close(open_file(self.folder / _DRAIN, os.O_RDONLY))
            except FileNotFoundError:
                return False
        return True


def new_query_id() -> str:
    """Returns the id of a query without a checkpoint."""
    return uuid4().hex


def drain(checkpoint: str | PathLike[str]) -> None:
    """Ends all inputs of the query with this checkpoint.

    The query reads what is available, and then advances the watermark to the end of time: all windows close and emit
    their last panes. A query that runs does so at its next micro-batch, and ends.
    """
    path = Path(local_folder("checkpoint", checkpoint))
    with naming_errors(path):
        make_folder(path)
        write_file(path / _DRAIN, b"")


def _load(path: Path, kind: type[A]) -> A | None:
    """Returns a stored value; ``None`` if there is none. Raises ``CheckpointError`` if it is damaged."""
    folder = path.parent

    def unpickle(payload: bytes) -> A:
        version, value = pickle.loads(payload)  # trusted: written by ``_replace``, and its checksum is right
        if version != FORMAT:
            raise other_format(f"the checkpoint {folder}", version, FORMAT)
        if not isinstance(value, kind):
            raise CheckpointError(
                f"the checkpoint {folder} is damaged: its {path.name} has {type(value).__name__} instead of "
                f"{kind.__name__}; restore a copy, or start the query with a new checkpoint"
            )
        return value

    return read_sealed(folder, path, f"its {path.name}", unpickle)


def _replace(path: Path, value: object) -> None:
    """Replaces a file of a checkpoint by an atomic rename."""
    with naming_errors(path.parent):
        replace_file(path, pickle.dumps((FORMAT, value)))
