"""How a shard's state lies in Spark's state store: a head, and a log of segments.

The head is rewritten in every batch and is small: what is known of the clocks, which segments there are, and the
newest of them if that is small too. The others are in the log, each written once and removed once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast
from uuid import uuid4
from zlib import crc32

from attrs import evolve, frozen
from flowalg_shard import Description, Memory, Segment, Stored
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from flowalg.data.errors import CheckpointError
from flowalg_spark.state.state_cache import KEPT, Kept

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState, ValueState

A = TypeVar("A")

FORMAT: Final = 4
"""The version of the state's layout; another one is refused, not guessed at."""

_HEAD_SCHEMA: Final = T.StructType(
    [
        T.StructField("format", T.IntegerType()),
        T.StructField("shards", T.IntegerType()),
        T.StructField("stage", T.BinaryType()),
        T.StructField("id", T.StringType()),
        T.StructField("token", T.StringType()),
        T.StructField("heard", T.BinaryType()),
        T.StructField("beside", T.BinaryType()),
        T.StructField("segments", T.BinaryType()),
        T.StructField("newest", T.BinaryType()),
    ]
)
_LOG_KEY: Final = T.StructType(
    [T.StructField("segment", T.StringType()), T.StructField("chunk", T.IntegerType())]
)
_LOG_VALUE: Final = T.StructType([T.StructField("bytes", T.BinaryType())])

_SMALL: Final = 1 << 20
"""A newest segment of up to so many bytes is in the head."""

_CHUNK: Final = 1 << 24
"""The bytes of one entry of the log."""


@frozen
class Lying:
    """A segment as it lies in the log: its name, and in how many chunks; none if it is in the head."""

    name: str
    chunks: int


Logged = Callable[[str, int], bytes | None]
"""A chunk of a segment in the log, if it is there."""


@frozen
class Written:
    """The head of a state as it was written; what is asked of it raises ``CheckpointError`` if it is damaged."""

    number: int
    shards: int
    stage: Description
    id: str
    token: str
    heard: bytes
    beside: bytes
    lying: tuple[Lying, ...]
    newest: bytes

    @classmethod
    def of(cls, number: int, head: Sequence[object]) -> Written:
        """The head of the shard of that number, from its fields; raises ``CheckpointError`` for another format too."""
        version, shards, stage, shard, token, heard, beside, segments, newest = cast("_Fields", tuple(head))
        if version != FORMAT:
            raise CheckpointError(f"the checkpoint's state has format {version}; this version reads {FORMAT}")
        return cls(
            number,
            shards,
            _sound(number, "what its stage was", lambda: pickle.loads(opened(stage))),
            shard,
            token,
            heard,
            beside,
            _sound(number, "its list of segments", lambda: tuple(pickle.loads(opened(segments)))),
            newest,
        )

    def segment(self, one: Lying, logged: Logged) -> Segment:
        """A segment, from the head or from the log."""
        payload = self.newest
        if one.chunks:
            found = [logged(one.name, chunk) for chunk in range(one.chunks)]
            if None in found:
                raise _damaged(self.number, f"its segment {one.name} is not whole")
            payload = b"".join(chunk for chunk in found if chunk is not None)
        what = f"its segment {one.name}"
        return _sound(self.number, what, lambda: Segment.unpacked(one.name, opened(payload)))

    def stored(self, segment: Callable[[Lying], Segment]) -> Stored:
        """What the shard remembers."""
        heard = _sound(self.number, "what it has heard", lambda: pickle.loads(opened(self.heard)))
        beside = _sound(self.number, "what it keeps beside windows", lambda: opened(self.beside))
        lying = {one.name: one for one in self.lying}
        memory = Memory.restored(list(lying), lambda name: segment(lying[name]))
        return Stored(heard, memory, beside)


_Fields = tuple[int, int, bytes, str, str, bytes, bytes, bytes, bytes]
"""Those of ``_HEAD_SCHEMA``."""


@frozen
class Found:
    """A state as it was read: what it is, whose it is, and how its segments lie."""

    shard: str
    stored: Stored
    lying: tuple[Lying, ...]


@frozen
class Store:
    """The state of one shard of a stage in Spark's store. ``limit`` is how much this process may keep of all shards."""

    head: ValueState
    log: MapState
    stage: Description
    shards: int
    limit: int
    kept: Kept = KEPT

    @classmethod
    def of(cls, handle: StatefulProcessorHandle, stage: Description, shards: int, limit: int) -> Store:
        """The state variables; runs on the driver too."""
        return cls(
            handle.getValueState("shard", _HEAD_SCHEMA),
            handle.getMapState("segments", _LOG_KEY, _LOG_VALUE),
            stage,
            shards,
            limit,
        )

    def read(self, number: int) -> Found | None:
        """The state of the shard of that number; ``None`` before the first batch.

        Raises ``CheckpointError`` for one that was written by another version, for another number of shards, or by a
        stage that is not followed by this one, and for one that is damaged.
        """
        found = self.head.get()
        if found is None:
            return None
        written = Written.of(number, found)
        if written.shards != self.shards:
            raise CheckpointError(
                f"the checkpoint was written with {written.shards} shards, and the query now has {self.shards}; "
                f"compile with shards={written.shards}"
            )
        same = written.stage.followed_by(self.stage)
        stored = self.kept.state(written.id, written.token)
        if stored is None:

            def segment(one: Lying) -> Segment:
                known = self.kept.segment(one.name)
                return written.segment(one, self._logged) if known is None else known

            stored = written.stored(segment)
            self.kept.keep(written.id, written.token, stored, self.limit)
        if not same:
            stored = evolve(stored, memory=evolve(stored.memory, alarmed=True))
        return Found(written.id, stored, written.lying)

    def _logged(self, name: str, chunk: int) -> bytes | None:
        found = self.log.getValue((name, chunk))
        return None if found is None else bytes(found[0])

    def write(self, before: Found | None, after: Stored) -> None:
        """Write the state that follows another one: what is new of it."""
        shard, lay = (uuid4().hex, ()) if before is None else (before.shard, before.lying)
        chunks = {one.name: one.chunks for one in lay if one.chunks}
        newest = b""
        lies = []
        for one in after.memory.segments:
            last = one is after.memory.segments[-1]
            if one.name not in chunks and last and len(one.packed) <= _SMALL:
                newest = sealed(one.packed)
            elif one.name not in chunks:
                chunks[one.name] = self._log(one)
            lies.append(Lying(one.name, chunks.get(one.name, 0)))
        for name in chunks.keys() - {one.name for one in lies}:
            for number in range(chunks[name]):
                self.log.removeKey((name, number))
        token = uuid4().hex
        heard, beside, segments = map(sealed, (pickle.dumps(after.heard), after.beside, pickle.dumps(lies)))
        stage = sealed(pickle.dumps(self.stage))
        self.head.update((FORMAT, self.shards, stage, shard, token, heard, beside, segments, newest))
        self.kept.keep(shard, token, after, self.limit)

    def _log(self, segment: Segment) -> int:
        """In how many chunks a segment now is in the log."""
        packed = sealed(segment.packed)
        starts = range(0, len(packed), _CHUNK)
        for number, start in enumerate(starts):
            self.log.updateValue((segment.name, number), (packed[start : start + _CHUNK],))
        return len(starts)


def sealed(payload: bytes) -> bytes:
    """Bytes with a checksum."""
    return crc32(payload).to_bytes(4) + payload


def opened(payload: bytes | bytearray) -> bytes:
    """The bytes, if they are what was sealed; raises ``ValueError`` otherwise."""
    found = bytes(payload)
    if len(found) < 4 or crc32(found[4:]) != int.from_bytes(found[:4]):
        raise ValueError("its checksum does not fit")
    return found[4:]


def _sound(shard: int, what: str, read: Callable[[], A]) -> A:
    """What is read; raises ``CheckpointError`` for bytes that are not what was written."""
    try:
        return read()
    except Exception as cause:
        raise _damaged(shard, f"{what} cannot be read: {cause}") from cause


def _damaged(shard: int, how: str) -> CheckpointError:
    return CheckpointError(
        f"the state of shard {shard} in the checkpoint is damaged: {how}; restore the checkpoint, or start "
        "anew with another one"
    )


__all__ = ["FORMAT", "Found", "Store", "Written", "opened", "sealed"]
