"""Files that change after they were read: their new content is not read, which is reported once."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Set
from os import stat_result
from pathlib import Path
from typing import Final

from attrs import define, field
from flowalg_columns.text.listing import describe_changed

from flowalg_polars.streaming.reading.positions import ReadFile, Stamp

_LOG: Final = logging.getLogger("flowalg.files")
_AT_ONCE: Final = 1_000
"""How many files are looked at together, so that a folder of many files is as fast as one of few."""


@define
class ChangedFiles:
    """Finds the files of a source that have changed since they were read, also by an earlier start of the query."""

    source: str
    folder: Path
    _read: deque[ReadFile] = field(factory=deque)
    _found: list[str] = field(factory=list)

    def remember(self, files: Iterable[ReadFile]) -> None:
        """Takes note of files that were read."""
        self._read.extend(files)

    def forget(self, names: Set[str]) -> None:
        """Forgets files: one with such a name is a new one."""
        if names:
            self._read = deque(file for file in self._read if file[0] not in names)

    def look(self) -> None:
        """Looks at some files, in turn; warns in the log of those that have changed."""
        changed = []
        for _ in range(min(len(self._read), _AT_ONCE)):
            name, stamp = self._read.popleft()
            try:
                now = stamp_of((self.folder / name).stat())
            except FileNotFoundError:  # it may be moved away once it has been read
                continue
            if now == stamp:
                self._read.append((name, stamp))
                continue
            changed.append(name)
        if changed:
            self._found += changed
            paths = [str(self.folder / name) for name in changed]
            _LOG.warning("source %r: %s", self.source, describe_changed(paths))

    def take(self) -> tuple[str, ...]:
        """Returns the names of the changed files that were found since this was called last."""
        names, self._found = tuple(self._found), []
        return names


def stamp_of(file: stat_result) -> Stamp:
    """Returns the stamp of a file."""
    return file.st_mtime_ns, file.st_size
