"""The files that a source has read: a log, so that a micro-batch stores only its own files.

The latest files are in the manifest. When they are many, they become a *chunk*, an immutable file with their names.
Chunks are merged such that each is at least four times as large as the next one, so a manifest names few of them, and a
file's name is written few times. When all chunks become one, the names of files that are no longer in the folder are
marked, and those that were marked long ago are forgotten. So the log has at most four times as many names as there were
files in the folder at once, twice as many as were taken out of it in the time ``forget_after``, and a thousand.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Final, TypeAlias
from uuid import uuid4

from attrs import define, field, frozen

from flowalg.data.errors import CheckpointError
from flowalg.data.time import ProcessingTime
from flowalg_polars.streaming.reading.positions import ReadFile, SourceFolder, Stamp
from flowalg_polars.streaming.storage.files import read_sealed, sealed
from flowalg_polars.streaming.storage.storage import READS, Storage

CHUNKS: Final = "files"
"""The folder of the chunks in a checkpoint."""

_LATEST: Final = 256
"""The greatest number of files that the manifest has."""

_RATIO: Final = 4
"""How many times as many files as the next chunk a chunk has at least."""

_Known: TypeAlias = tuple[Stamp | None, ProcessingTime | None]
"""What is known of a file that was read: its stamp, and when it was found to be no longer in the folder."""


@frozen
class Chunk:
    """A file with the names of files: its name in the checkpoint, and how many it has."""

    name: str
    count: int


@frozen
class StoredFiles:
    """Files as a manifest stores them: chunks, and the files after those in them."""

    chunks: tuple[Chunk, ...] = ()
    latest: tuple[ReadFile, ...] = ()


@define
class FileLog:
    """The log of the files that a source has read, in a checkpoint."""

    storage: Storage
    source: str
    stored: StoredFiles
    forgotten: set[str] = field(factory=set)
    """The files that were forgotten since the log was opened."""

    def files(self) -> list[ReadFile]:
        """Returns all files, a changed one as it was stored last; raises ``CheckpointError`` for a damaged log."""
        known: dict[str, _Known] = {}
        for chunk in self.stored.chunks:
            known |= self._read(chunk)
        return list((_stamps(known) | dict(self.stored.latest)).items())

    def add(self, files: Sequence[ReadFile], now: ProcessingTime, folder: SourceFolder | None = None) -> None:
        """Adds files, which are stored once the manifest has ``stored``."""
        latest = (*self.stored.latest, *files)
        if len(latest) <= _LATEST:
            self.stored = StoredFiles(self.stored.chunks, latest)
            return
        chunks = list(self.stored.chunks)
        known: dict[str, _Known] = {name: (stamp, None) for name, stamp in latest}
        while chunks and chunks[-1].count < _RATIO * len(known):
            known = {**self._read(chunks.pop()), **known}
        if not chunks and folder is not None:
            known = self._forget(known, now, folder)
        chunk = Chunk(f"{CHUNKS}/{self._prefix}-{uuid4().hex}", len(known))
        self.storage.create([(chunk.name, sealed(chunk.name, _encoded(known)))])
        self.stored = StoredFiles((*chunks, chunk))

    def _forget(
        self, known: Mapping[str, _Known], now: ProcessingTime, folder: SourceFolder
    ) -> dict[str, _Known]:
        """Returns what is known without the files that were taken out of the folder long ago."""
        present = folder.names()
        if present is None or folder.forget_after is None:
            return dict(known)
        before = now - folder.forget_after // timedelta(microseconds=1)
        kept: dict[str, _Known] = {}
        for name, (stamp, gone) in known.items():
            missing = None if name in present else now if gone is None else gone
            if missing is not None and missing <= before:
                self.forgotten.add(name)
            else:
                kept[name] = (stamp, missing)
        return kept

    @property
    def _prefix(self) -> str:
        return sha256(self.source.encode()).hexdigest()[:16]

    def _read(self, chunk: Chunk) -> dict[str, _Known]:
        what = f"the files that source {self.source!r} has read"
        known = read_sealed(self.storage, chunk.name, what, _decoded)
        if known is None:
            raise CheckpointError(
                f"the checkpoint {self.storage.name} cannot be read: {what}: its file {chunk.name} is missing; {READS}"
            )
        return known


def chunks_of(logs: Iterable[StoredFiles]) -> frozenset[str]:
    """Returns the names of the files of some logs."""
    return frozenset(chunk.name for log in logs for chunk in log.chunks)


def _stamps(known: Mapping[str, _Known]) -> dict[str, Stamp | None]:
    return {name: stamp for name, (stamp, _) in known.items()}


def _encoded(known: Mapping[str, _Known]) -> bytes:
    names = sorted(known)
    columns = {
        "names": names,
        "stamps": [known[name][0] for name in names],
        "gone": [known[name][1] for name in names],
    }
    return zlib.compress(json.dumps(columns).encode(), level=1)


def _decoded(payload: bytes) -> dict[str, _Known]:
    columns = json.loads(zlib.decompress(payload))
    return {
        name: (
            None if stamp is None else (stamp[0], stamp[1]),
            None if gone is None else ProcessingTime(gone),
        )
        for name, stamp, gone in zip(columns["names"], columns["stamps"], columns["gone"], strict=True)
    }
