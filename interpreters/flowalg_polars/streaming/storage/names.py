"""The names of the files that a source has read: a log, so that a micro-batch stores only its own names.

The latest names are in the manifest. When they are many, they are appended to a file, whose length the manifest has: a
process that is killed meanwhile leaves bytes after that length, which the next one overwrites.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final
from zlib import crc32

from attrs import define, frozen

from flowalg.data.errors import CheckpointError
from flowalg_polars.streaming.storage.files import make_folder, naming_errors, sync_folder, write_file

_LATEST: Final = 256
"""The greatest number of names that the manifest has."""

_FOLDER: Final = "names"


@frozen
class StoredNames:
    """Names as a manifest stores them: the length and checksum of the log's file, and the names after those in it."""

    size: int = 0
    checksum: int = 0
    latest: tuple[str, ...] = ()


@define
class NameLog:
    """The log of the names that a source has read, in a checkpoint."""

    checkpoint: Path
    source: str
    stored: StoredNames

    @property
    def _path(self) -> Path:
        return self.checkpoint / _FOLDER / sha256(self.source.encode()).hexdigest()[:32]

    def names(self) -> list[str]:
        """Returns all names; raises ``CheckpointError`` if the file is damaged."""
        if not self.stored.size:
            return list(self.stored.latest)
        with naming_errors(
            self.checkpoint, f"cannot be read: the names of the files that source {self.source!r} has read"
        ):
            data = self._path.read_bytes()[: self.stored.size]
        if len(data) < self.stored.size or crc32(data) != self.stored.checksum:
            raise CheckpointError(
                f"the checkpoint {self.checkpoint} is damaged: the names of the files that source {self.source!r} has "
                "read have the wrong checksum; restore a copy, or start the query with a new checkpoint"
            )
        return [*map(json.loads, data.splitlines()), *self.stored.latest]

    def add(self, names: Sequence[str]) -> None:
        """Adds names, which are stored once the manifest has ``stored``."""
        latest = (*self.stored.latest, *names)
        if len(latest) <= _LATEST:
            self.stored = StoredNames(self.stored.size, self.stored.checksum, latest)
            return
        data = "".join(f"{json.dumps(name)}\n" for name in latest).encode()
        with naming_errors(self.checkpoint):
            make_folder(self._path.parent)
            write_file(self._path, data, self.stored.size)
            sync_folder(self._path.parent)
        self.stored = StoredNames(self.stored.size + len(data), crc32(data, self.stored.checksum))
