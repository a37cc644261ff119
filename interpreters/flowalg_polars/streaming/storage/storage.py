"""Where a checkpoint has its files: in a folder of this machine, or in an object store.

Most files are written once, under a name that is never used again, and are deleted when the manifest does not have them
any more. The three *heads* are replaced: together they say which query it is, what it has begun, and what it has
committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Final, Protocol

IDENTITY: Final = "query"
INTENT: Final = "intent"
MANIFEST: Final = "manifest"
HEADS: Final = (IDENTITY, INTENT, MANIFEST)
"""The files that are replaced, in the order in which a start takes them."""

WRITES: Final = "when it can be written, start the query again: it continues from its last micro-batch"
READS: Final = "restore a copy, or start the query with a new checkpoint"
"""What to do about a file that cannot be read."""


class Storage(Protocol):
    """The files of one checkpoint. Names are relative paths with ``/``; all errors are ``CheckpointError``."""

    @property
    def name(self) -> str:
        """The path or URL of the checkpoint, for messages."""
        ...

    def own(self) -> AbstractContextManager[None]:
        """Makes this process the only one that can replace heads, until the end or until another one takes over.

        Raises ``CheckpointError`` if that is not possible.
        """
        ...

    def require_owned(self) -> None:
        """Raises ``CheckpointError`` if another process may own the files, as far as it is known without a request."""
        ...

    def read(self, name: str, what: str) -> bytes | None:
        """Returns the bytes of a file; ``None`` if it does not exist. Errors say ``what`` it is."""
        ...

    def create(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Stores new files durably."""
        ...

    def replace(self, head: str, payload: bytes) -> None:
        """Replaces a head at once and durably; raises ``CheckpointError`` if another process owns the files."""
        ...

    def names(self, folder: str) -> list[str]:
        """Returns the names of the files in a folder, with the folder; an empty list if the folder does not exist."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Deletes files; those that do not exist are ignored."""
        ...
