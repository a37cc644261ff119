"""Files that change after they were read: their new content is not read, which is reported once."""

from __future__ import annotations

import logging
from collections import deque
from pathlib import Path
from typing import Final, TypeAlias

from attrs import define, field

Stamp: TypeAlias = tuple[int, int]
"""The time of modification of a file, in nanoseconds, and its size."""

_LOG: Final = logging.getLogger("flowalg.files")
_AT_ONCE: Final = 1_000
"""How many files are looked at together, so that a folder of many files is as fast as one of few."""


@define
class ChangedFiles:
    """Finds files that have changed since this process read them."""

    _read: deque[tuple[Path, Stamp]] = field(factory=deque)
    _found: int = 0

    def remember(self, path: Path) -> None:
        """Takes note of a file that is read now."""
        self._read.append((path, _stamp_of(path)))

    def look(self, source: str) -> None:
        """Looks at some files, in turn; warns in the log of each that has changed."""
        for _ in range(min(len(self._read), _AT_ONCE)):
            path, stamp = self._read.popleft()
            try:
                now = _stamp_of(path)
            except FileNotFoundError:  # it may be moved away once it has been read
                continue
            if now == stamp:
                self._read.append((path, stamp))
                continue
            self._found += 1
            _LOG.warning(
                "source %r: the file %s has changed after it was read; its new content is not read: write files "
                "elsewhere, and move them into the folder",
                source,
                path,
            )

    def take(self) -> int:
        """Returns how many changed files were found since this was called last."""
        found, self._found = self._found, 0
        return found


def _stamp_of(path: Path) -> Stamp:
    found = path.stat()
    return found.st_mtime_ns, found.st_size
