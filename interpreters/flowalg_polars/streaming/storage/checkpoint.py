"""The checkpoint of a streaming query: a manifest, the intent of the next micro-batch, and segments, in a storage.

A micro-batch is committed in this order: the intent (what it reads, and when), the sink's transaction, the segments of
its state, and the manifest. The manifest is replaced at once, so a process that is killed at any point goes on with the
last manifest, and repeats the micro-batch of the intent: the same rows at the same processing time.

An intent has the fingerprint of the one before it, so files that were lost, exchanged or restored apart from each other
do not fit together, and a sink can compare what its table has with what the query has read.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from hashlib import sha256
from typing import Final, TypeVar
from uuid import uuid4

from attrs import define, evolve, field, frozen
from flowalg_columns.checks.streams import other_format
from flowalg_shard import OperatorState, Segment, StageDescription, WindowStore
from flowalg_shard.clocks.exchange import InputClocks

from flowalg.data.errors import CheckpointError
from flowalg.data.time import ProcessingTime
from flowalg.runs.placement import PLACEMENT
from flowalg.serialization.stored import read, store
from flowalg_polars.streaming.reading.positions import FILES, Position, SourceFolder, files_in
from flowalg_polars.streaming.storage.file_log import CHUNKS, FileLog, StoredFiles, chunks_of
from flowalg_polars.streaming.storage.files import decoded, read_sealed, sealed
from flowalg_polars.streaming.storage.location import CheckpointLocation, storage_at
from flowalg_polars.streaming.storage.storage import IDENTITY, INTENT, MANIFEST, READS, Storage

A = TypeVar("A")

FORMAT: Final = 9
"""The version of the layout. A checkpoint of another version is rejected."""

_SMALL: Final = 1 << 20
"""The most bytes of a segment that is stored in the manifest."""

_SEGMENTS: Final = "segments"
_DRAIN: Final = "drain"


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
    ``kinds`` says what the positions of each source count, and ``after`` is the fingerprint of the intent before. A
    micro-batch that another engine has run has a ``known`` fingerprint.
    """

    query: str
    batch: int
    time: ProcessingTime
    positions: Mapping[str, Position]
    ended: bool = False
    kinds: Mapping[str, str] = field(factory=dict)
    after: str | None = None
    known: str | None = None

    @property
    def fingerprint(self) -> str:
        """A text that differs for any other micro-batch, and for any other history of the query."""
        if self.known is not None:
            return self.known
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
    """An open checkpoint; no other process can commit a micro-batch to it."""

    storage: Storage
    identity: Identity
    manifest: Manifest | None
    _stored: set[str] = field(factory=set)

    @classmethod
    @contextmanager
    def open(cls, location: CheckpointLocation | Storage) -> Iterator[Checkpoint]:
        """Opens a checkpoint for a start of its query; it is created if it does not exist.

        Raises ``CheckpointError`` if it is in use in a folder, damaged, or has files that do not belong together. In an
        object store it is taken over from the process that uses it.
        """
        storage = storage_at(location)
        # What cannot be read is not taken over from a query that runs.
        for head, kind in ((IDENTITY, Identity), (INTENT, Intent), (MANIFEST, Manifest)):
            _load(storage, head, kind)
        # Names are unique: what is there before this start, and not in the manifest then, is never needed again.
        before = [*storage.names(_SEGMENTS), *storage.names(CHUNKS)]
        with storage.own():
            identity = _load(storage, IDENTITY, Identity)
            manifest = _load(storage, MANIFEST, Manifest)
            checkpoint = cls(storage, identity or Identity(new_query_id()), manifest)
            checkpoint._require_together(identity)
            current = checkpoint.identity
            checkpoint._identify(
                evolve(
                    current,
                    generation=current.generation + 1,
                    begun=current.begun or checkpoint._begun is not None,
                )
            )
            storage.delete(name for name in before if name not in _files_of(manifest))
            yield checkpoint

    @classmethod
    def read(cls, location: CheckpointLocation | Storage) -> Checkpoint:
        """Returns a checkpoint as it is now; a query may be using it. Raises ``CheckpointError`` if there is none."""
        storage = storage_at(location)
        manifest = _load(storage, MANIFEST, Manifest)
        if manifest is None:
            raise CheckpointError(
                f"{storage.name} is no checkpoint of the local engine, or its query has not committed a micro-batch yet"
            )
        return cls(storage, _load(storage, IDENTITY, Identity) or Identity(manifest.intent.query), manifest)

    @property
    def folder(self) -> str:
        """The path or URL of the checkpoint, for messages."""
        return self.storage.name

    def _require_together(self, identity: Identity | None) -> None:
        """Raises ``CheckpointError`` unless the files are those of one query at one time."""
        manifest, begun = self.manifest, self._begun
        done = None if manifest is None else manifest.intent
        intents = [intent for intent in (done, begun) if intent is not None]
        if identity is None and intents:
            raise self._torn(f"its file {IDENTITY!r} is missing, and it has micro-batch {intents[0].batch}")
        if begun is None and (done is not None or (identity is not None and identity.begun)):
            last = (
                "it has begun a micro-batch" if done is None else f"it has committed micro-batch {done.batch}"
            )
            raise self._torn(f"its intent is missing, and {last}")
        for name, intent in ((MANIFEST, done), (INTENT, begun)):
            if intent is not None and intent.query != self.identity.query:
                raise self._torn(
                    f"its {name} is of the query {intent.query}, and its file {IDENTITY!r} of {self.identity.query}"
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

    def _identify(self, identity: Identity) -> None:
        self._replace(IDENTITY, identity)
        self.identity = identity

    def _replace(self, head: str, value: object) -> None:
        self.storage.replace(head, sealed(head, store((FORMAT, value))))

    @property
    def _begun(self) -> Intent | None:
        return _load(self.storage, INTENT, Intent)

    @property
    def intent(self) -> Intent | None:
        """The intent of a micro-batch that was begun and not committed."""
        begun = self._begun
        done = -1 if self.manifest is None else self.manifest.intent.batch
        return begun if begun is not None and begun.batch > done else None

    def continue_from(
        self,
        generation: int,
        intent: Intent,
        stages: Sequence[tuple[StageDescription, Sequence[OperatorState]]],
    ) -> None:
        """Stores the state of a query after a micro-batch that another engine has run, in a new checkpoint."""
        self._identify(Identity(intent.query, generation, begun=True))
        self.begin(intent)
        self.commit(intent, stages, {})

    def begin(self, intent: Intent) -> None:
        """Stores what the next micro-batch reads."""
        self.storage.require_owned()
        self._replace(INTENT, intent)
        if not self.identity.begun:
            self._identify(evolve(self.identity, begun=True))

    def commit(
        self,
        intent: Intent,
        stages: Sequence[tuple[StageDescription, Sequence[OperatorState]]],
        changed: Mapping[str, Sequence[str]],
        folders: Mapping[str, SourceFolder] | None = None,
    ) -> Mapping[str, Set[str]]:
        """Stores the state after a micro-batch, and the ``changed`` files of sources, which were reported.

        ``folders`` are those of the sources that read files. Returns the files of each source that are forgotten.
        """
        self.storage.require_owned()
        small = self._store(
            segment for _, states in stages for state in states for segment in state.windows.segments
        )
        stored = tuple(
            StoredStage(
                description.stored(ChainMap(*(state.windows.classes for state in states))),
                tuple(_stored_shard(state) for state in states),
            )
            for description, states in stages
        )
        logs = self._add_files(intent, changed, folders or {})
        files = {source: log.stored for source, log in logs.items()}
        before = _files_of(self.manifest)
        manifest = Manifest(intent, stored, small, PLACEMENT, files)
        self._replace(MANIFEST, manifest)
        self.manifest = manifest
        # Not whatever the manifest lacks: a start that has taken over may have stored more since.
        obsolete = before - _files_of(manifest)
        self.storage.delete(obsolete)
        self._stored -= obsolete
        return {source: log.forgotten for source, log in logs.items()}

    def _store(self, segments: Iterable[Segment]) -> dict[str, bytes]:
        """Stores the segments that are not stored yet: large ones in files; returns the small ones."""
        small: dict[str, bytes] = {}
        large: dict[str, Segment] = {}
        for segment in segments:
            path = _path(segment.name)
            if path in self._stored:
                continue
            if len(segment.packed) <= _SMALL:
                small[segment.name] = segment.packed
            else:
                large[path] = segment
        self.storage.create((path, sealed(path, segment.packed)) for path, segment in large.items())
        self._stored |= set(large)
        return small

    def files(self, source: str) -> FileLog:
        """Returns the log of the files that a source has read."""
        files = {} if self.manifest is None else self.manifest.files
        return FileLog(self.storage, source, files.get(source, StoredFiles()))

    def _add_files(
        self, intent: Intent, changed: Mapping[str, Sequence[str]], folders: Mapping[str, SourceFolder]
    ) -> Mapping[str, FileLog]:
        """Returns the logs of files after a micro-batch."""
        before = {} if self.manifest is None else self.manifest.intent.positions
        logs = {source: self.files(source) for source, kind in intent.kinds.items() if kind == FILES}
        for source, log in logs.items():
            position = intent.positions[source]
            read = files_in(position) if position != before.get(source) else ()
            entries = [*read, *((name, None) for name in changed.get(source, ()))]
            log.add(entries, intent.time, folders.get(source))
        return logs

    def restore(self, shard: StoredShard) -> OperatorState:
        """Returns the state of a shard. Raises ``CheckpointError`` if it is damaged."""
        assert self.manifest is not None, "there is a state"
        small = self.manifest.small

        def segment(name: str) -> Segment:
            def decode(payload: bytes) -> Segment:
                return Segment.restore(name, payload)

            what = f"its segment {name}"
            if name in small:
                return decoded(self.storage, what, small[name], decode)
            restored = read_sealed(self.storage, _path(name), what, decode)
            if restored is None:
                raise CheckpointError(
                    f"the checkpoint {self.folder} is damaged: its segment {name} is missing; {READS}"
                )
            self._stored.add(_path(name))
            return restored

        return OperatorState(shard.clocks, WindowStore.restore(shard.segments, segment), shard.side)

    @property
    def drain_requested(self) -> bool:
        """Whether ``drain`` was called for this checkpoint."""
        return self.storage.read(_DRAIN, "its request to drain") is not None


def new_query_id() -> str:
    """Returns an id for a new query."""
    return str(uuid4())


def drain(checkpoint: CheckpointLocation) -> None:
    """Ends all inputs of the query with this checkpoint.

    The query reads what is available, and then advances the watermark to the end of time: all windows close and emit
    their last panes. A query that runs does so at its next micro-batch, and ends.
    """
    storage_at(checkpoint).create([(_DRAIN, b"")])


def _path(segment: str) -> str:
    """Returns the file of a segment."""
    return f"{_SEGMENTS}/{segment}"


def _stored_shard(state: OperatorState) -> StoredShard:
    """Returns the state of a shard as a manifest has it."""
    return StoredShard(
        state.input_clocks, state.side_input, tuple(segment.name for segment in state.windows.segments)
    )


def _files_of(manifest: Manifest | None) -> Set[str]:
    """Returns the files that a manifest needs."""
    if manifest is None:
        return frozenset()
    segments = {
        _path(name)
        for stage in manifest.stages
        for shard in stage.shards
        for name in shard.segments
        if name not in manifest.small
    }
    return segments | chunks_of(manifest.files.values())


def _load(storage: Storage, head: str, kind: type[A]) -> A | None:
    """Returns a stored value; ``None`` if there is none. Raises ``CheckpointError`` if it is damaged."""

    def decode(payload: bytes) -> A:
        version, value = read(payload, tuple)
        if version != FORMAT:
            raise other_format(f"the checkpoint {storage.name}", version, FORMAT)
        if not isinstance(value, kind):
            raise CheckpointError(
                f"the checkpoint {storage.name} is damaged: its {head} has {type(value).__name__} instead of "
                f"{kind.__name__}; restore a copy, or start the query with a new checkpoint"
            )
        return value

    return read_sealed(storage, head, f"its {head}", decode)
