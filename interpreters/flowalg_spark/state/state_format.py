"""The layout of a shard's state in Spark's state store: a head, and a log of segments.

Each micro-batch writes the head again. It is small: the clocks of the inputs, the list of segments, and the newest
segment if that is small. The other segments are in the log: each is written once, and removed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast
from uuid import uuid4

from attrs import frozen
from flowalg_columns.checks.streams import other_format
from flowalg_columns.evolution.stages import evolve_state
from flowalg_shard import Operator, OperatorState, Segment, StageDescription, WindowStore
from flowalg_shard.state.compatibility import change_of_stage
from flowalg_shard.tables.packing import seal, unseal

from flowalg.data.errors import CheckpointError
from flowalg.serialization.stored import read, store
from flowalg_spark.state.state_cache import WORKER_CACHE, StateCache
from flowalg_spark.state.variables import Variables

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState, ValueState

A = TypeVar("A")

FORMAT: Final = 10
"""The version of the layout; a state of another version is rejected."""

_SMALL: Final = 1 << 20
"""The most bytes of a newest segment that is stored in the head."""

_CHUNK: Final = 1 << 24
"""The bytes of one entry of the log."""


@frozen
class SegmentEntry:
    """A segment in the list of a head: its name, and the number of its chunks in the log; 0 if it is in the head."""

    name: str
    chunks: int


ReadChunk = Callable[[str, int], bytes | None]
"""Reads a chunk of a segment from the log; ``None`` if it is missing."""


@frozen
class Head:
    """The stored head of a shard's state. Its methods raise ``CheckpointError`` if it is damaged."""

    shard: int
    shards: int
    stage: StageDescription
    id: str
    token: str
    clocks: bytes
    side: bytes
    entries: tuple[SegmentEntry, ...]
    newest: bytes

    @classmethod
    def of(cls, shard: int, fields: Sequence[object]) -> Head:
        """Returns the head of a shard from its stored fields; raises ``CheckpointError`` for another version too."""
        version, shards, stage, identity, token, clocks, side, segments, newest = cast(
            "_Fields", tuple(fields)
        )
        if version != FORMAT:
            raise other_format("the checkpoint's state", version, FORMAT)
        return cls(
            shard,
            shards,
            _read(shard, "the description of its stage", lambda: read(unseal(stage), StageDescription)),
            identity,
            token,
            clocks,
            side,
            _read(shard, "its list of segments", lambda: _entries(unseal(segments))),
            newest,
        )

    def segment(self, entry: SegmentEntry, read_chunk: ReadChunk) -> Segment:
        """Returns a segment, from the head or from the log."""
        payload = self.newest
        if entry.chunks:
            chunks = [read_chunk(entry.name, number) for number in range(entry.chunks)]
            if None in chunks:
                raise _damaged(self.shard, f"a part of its segment {entry.name} is missing")
            payload = b"".join(chunk for chunk in chunks if chunk is not None)
        what = f"its segment {entry.name}"
        return _read(self.shard, what, lambda: Segment.restore(entry.name, unseal(payload)))

    def stored(self, segment: Callable[[SegmentEntry], Segment]) -> OperatorState:
        """Returns the state of the shard; ``segment`` reads its segments."""
        clocks = _read(self.shard, "the clocks of its inputs", lambda: read(unseal(self.clocks), tuple))
        side = _read(self.shard, "the state of its side input", lambda: unseal(self.side))
        entries = {entry.name: entry for entry in self.entries}
        windows = WindowStore.restore(list(entries), lambda name: segment(entries[name]))
        return OperatorState(clocks, windows, side)


def _entries(packed: bytes) -> tuple[SegmentEntry, ...]:
    return tuple(SegmentEntry(name, chunks) for name, chunks in read(packed, list))


_Fields = tuple[int, int, bytes, str, str, bytes, bytes, bytes, bytes]
"""The fields of the head."""


@frozen
class StoredState:
    """A shard's state that was read from the store: its id there, the state, and its list of segments."""

    id: str
    stored: OperatorState
    entries: tuple[SegmentEntry, ...]


@frozen
class Store:
    """The state of one shard of a stage in Spark's store. ``limit`` is the size of the cache in bytes."""

    head: ValueState
    log: MapState
    stage: StageDescription
    shards: int
    limit: int
    operator: Operator | None = None
    cache: StateCache = WORKER_CACHE

    @classmethod
    def of(
        cls,
        variables: Variables,
        stage: StageDescription,
        shards: int,
        limit: int,
        operator: Operator | None = None,
    ) -> Store:
        """Returns the state of a shard in its variables; one that is read has an operator."""
        return cls(*variables, stage, shards, limit, operator)

    def read(self, shard: int) -> StoredState | None:
        """Returns the state of a shard; ``None`` before the first micro-batch.

        Raises ``CheckpointError`` for a state of another version or of another number of shards, for one from which
        this stage cannot continue, and for a damaged one.
        """
        fields = self.head.get()
        if fields is None:
            return None
        head = Head.of(shard, fields)
        if head.shards != self.shards:
            raise CheckpointError(
                f"the checkpoint was written with {head.shards} shards, and the query now has {self.shards}; "
                f"compile with shards={head.shards}, or reshard the checkpoint first"
            )
        change = change_of_stage(head.stage, self.stage)
        change.require_possible()
        stored = self.cache.state(head.id, head.token)
        if stored is None:

            def segment(entry: SegmentEntry) -> Segment:
                cached = self.cache.segment(entry.name)
                return head.segment(entry, self._read_chunk) if cached is None else cached

            stored = head.stored(segment)
            self.cache.put(head.id, head.token, stored, self.limit)
        if self.operator is not None:
            stored = evolve_state(self.operator, change, stored)
        return StoredState(head.id, stored, head.entries)

    def _read_chunk(self, name: str, number: int) -> bytes | None:
        row = self.log.getValue((name, number))
        return None if row is None else bytes(row[0])

    def write(self, before: StoredState | None, after: OperatorState) -> None:
        """Writes the state that follows ``before``: the head, and the segments that are new."""
        identity, previous = (uuid4().hex, ()) if before is None else (before.id, before.entries)
        chunks = {entry.name: entry.chunks for entry in previous if entry.chunks}
        newest = b""
        entries: list[SegmentEntry] = []
        for segment in after.windows.segments:
            is_newest = segment is after.windows.segments[-1]
            if segment.name not in chunks and is_newest and len(segment.packed) <= _SMALL:
                newest = seal(segment.packed)
            elif segment.name not in chunks:
                chunks[segment.name] = self._append(segment)
            entries.append(SegmentEntry(segment.name, chunks.get(segment.name, 0)))
        for name in chunks.keys() - {entry.name for entry in entries}:
            for number in range(chunks[name]):
                self.log.removeKey((name, number))
        token = uuid4().hex
        described = self.stage.stored(after.windows.classes)
        listed = [(entry.name, entry.chunks) for entry in entries]
        stage, clocks, segments = (seal(store(part)) for part in (described, after.input_clocks, listed))
        side = seal(after.side_input)
        self.head.update((FORMAT, self.shards, stage, identity, token, clocks, side, segments, newest))
        self.cache.put(identity, token, after, self.limit)

    def _append(self, segment: Segment) -> int:
        """Appends a segment to the log, and returns the number of its chunks."""
        packed = seal(segment.packed)
        starts = range(0, len(packed), _CHUNK)
        for number, start in enumerate(starts):
            self.log.updateValue((segment.name, number), (packed[start : start + _CHUNK],))
        return len(starts)


def _read(shard: int, what: str, read: Callable[[], A]) -> A:
    """Returns the result of ``read``; raises ``CheckpointError`` if it fails."""
    try:
        return read()
    except Exception as cause:
        raise _damaged(shard, f"{what} cannot be read: {cause}") from cause


def _damaged(shard: int, how: str) -> CheckpointError:
    return CheckpointError(
        f"the state of shard {shard} in the checkpoint is damaged: {how}; restore the checkpoint, or start the query "
        "with a new one"
    )
