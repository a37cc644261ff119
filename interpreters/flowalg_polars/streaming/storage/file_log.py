"""The files that a source has read: a log, so that a micro-batch stores only its own files.

The latest files are in the manifest. When they are many, they are appended to a file, whose length the manifest has: a
process that is killed meanwhile leaves bytes after that length, which the next one overwrites.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final
from zlib import crc32

from attrs import define, frozen

from flowalg.data.errors import CheckpointError
from flowalg_polars.streaming.reading.positions import ReadFile
from flowalg_polars.streaming.storage.files import (
    READS,
    make_folder,
    naming_errors,
    read_file,
    sync_folder,
    write_file,
)

_LATEST: Final = 256
"""The greatest number of files that the manifest has."""

_FOLDER: Final = "files"


@frozen
class StoredFiles:
    """Files as a manifest stores them: the length and checksum of the log's file, and the files after those in it."""

    size: int = 0
    checksum: int = 0
    latest: tuple[ReadFile, ...] = ()


@define
class FileLog:
    """The log of the files that a source has read, in a checkpoint."""

    checkpoint: Path
    source: str
    stored: StoredFiles

    @property
    def _path(self) -> Path:
        return self.checkpoint / _FOLDER / sha256(self.source.encode()).hexdigest()[:32]

    def files(self) -> list[ReadFile]:
        """Returns all files in the order in which they were added; raises ``CheckpointError`` for a damaged log."""
        if not self.stored.size:
            return list(self.stored.latest)
        what = f"the files that source {self.source!r} has read"
        with naming_errors(self.checkpoint, f"cannot be read: {what}", READS):
            data = read_file(self._path)[: self.stored.size]
        if len(data) < self.stored.size or crc32(data) != self.stored.checksum:
            raise CheckpointError(
                f"the checkpoint {self.checkpoint} is damaged: {what} have the wrong checksum; {READS}"
            )
        return [*_decoded(data), *self.stored.latest]

    def add(self, files: Sequence[ReadFile]) -> None:
        """Adds files, which are stored once the manifest has ``stored``."""
        latest = (*self.stored.latest, *files)
        if len(latest) <= _LATEST:
            self.stored = StoredFiles(self.stored.size, self.stored.checksum, latest)
            return
        data = "".join(f"{json.dumps(file)}\n" for file in latest).encode()
        with naming_errors(self.checkpoint):
            make_folder(self._path.parent)
            write_file(self._path, data, self.stored.size)
            sync_folder(self._path.parent)
        self.stored = StoredFiles(self.stored.size + len(data), crc32(data, self.stored.checksum))


def _decoded(lines: bytes) -> Iterator[ReadFile]:
    for line in lines.splitlines():
        name, stamp = json.loads(line)
        yield name, None if stamp is None else tuple(stamp)
