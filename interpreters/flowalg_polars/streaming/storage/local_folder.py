"""A checkpoint in a folder of this machine: files for their owner alone, atomic renames, and a lock of the process."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import define, field

from flowalg.data.errors import CheckpointError
from flowalg_polars.streaming.storage.storage import READS, WRITES

_OWNER_FOLDER: Final = 0o700
_OWNER_FILE: Final = 0o600
_LOCK: Final = "lock"


@define
class LocalFolder:
    """A folder, which is created if it is written to. A process that owns it holds a lock on a file in it."""

    path: Path
    _lock: int | None = None
    _folders: set[Path] = field(factory=set)

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @contextmanager
    def own(self) -> Iterator[None]:
        """Holds the lock; raises ``CheckpointError`` if another process has it."""
        with self._naming_errors():
            make_folder(self.path)
            lock = open_file(self.path / _LOCK, os.O_RDWR | os.O_CREAT)
        process = os.getpid()
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as held:
                raise CheckpointError(
                    f"the checkpoint {self.path} is in use by another process; stop that query, or use another "
                    "checkpoint"
                ) from held
            self._lock = lock
            yield
        finally:
            # A process that was forked has the lock, too, and may end earlier or later.
            if os.getpid() == process:
                fcntl.flock(lock, fcntl.LOCK_UN)
            os.close(lock)
            self._lock = None

    def require_owned(self) -> None:
        """Raises ``CheckpointError`` if the folder is another one than was opened, which another query may use."""
        assert self._lock is not None, "the folder is owned"
        try:
            held = os.path.samestat(os.fstat(self._lock), os.stat(self.path / _LOCK))
        except OSError:
            held = False
        if not held:
            raise CheckpointError(
                f"the checkpoint {self.path}, or its file {_LOCK!r}, was removed, moved or replaced since this query "
                "was started, so another query may use it; start the query again"
            )

    def read(self, name: str, what: str) -> bytes | None:
        """Returns the bytes of a file."""
        with self._naming_errors(f"cannot be read: {what}", READS):
            try:
                return read_file(self.path / name)
            except FileNotFoundError:
                return None

    def create(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Stores new files, and then their names."""
        folders: dict[Path, None] = {}
        for name, payload in files:
            path = self.path / name
            with self._naming_errors():
                if path.parent not in self._folders:
                    make_folder(path.parent)
                    self._folders.add(path.parent)
                write_file(path, payload)
            folders[path.parent] = None
        with self._naming_errors():
            for folder in folders:
                sync_folder(folder)

    def replace(self, head: str, payload: bytes) -> None:
        """Replaces a file by an atomic rename."""
        with self._naming_errors():
            replace_file(self.path / head, payload)

    def names(self, folder: str) -> list[str]:
        """Returns the names of the files in a folder."""
        with self._naming_errors():
            try:
                return [f"{folder}/{name}" for name in os.listdir(self.path / folder)]
            except FileNotFoundError:
                return []

    def delete(self, names: Iterable[str]) -> None:
        """Deletes files."""
        with self._naming_errors():
            for name in names:
                try:
                    os.unlink(self.path / name)
                except FileNotFoundError:
                    continue

    @contextmanager
    def _naming_errors(self, fails: str = "cannot be written", remedy: str = WRITES) -> Iterator[None]:
        """Raises ``CheckpointError`` with the folder and the file instead of an error of the operating system."""
        try:
            yield
        except OSError as error:
            file = (
                f" ({os.fsdecode(error.filename)})"
                if isinstance(error.filename, str | bytes | os.PathLike)
                else ""
            )
            raise CheckpointError(
                f"the checkpoint {self.path} {fails}: {error.strerror or error}{file}; {remedy}"
            ) from error


def make_folder(path: Path) -> None:
    """Creates a folder for its owner alone, if it does not exist, and the folders that contain it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=_OWNER_FOLDER, exist_ok=True)


def open_file(path: Path, flags: int) -> int:
    """Opens a file, which is created for its owner alone; returns its descriptor.

    Raises ``OSError`` unless it is a regular file: opening a named pipe or reading a device may wait for ever.
    """
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK, _OWNER_FILE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return descriptor


def read_file(path: Path) -> bytes:
    """Returns what a file has."""
    with open(path, "rb", opener=lambda name, flags: open_file(Path(name), flags)) as file:
        return file.read()


def write_file(path: Path, payload: bytes) -> None:
    """Writes the bytes of a file durably."""
    descriptor = open_file(path, os.O_WRONLY | os.O_CREAT)
    try:
        os.ftruncate(descriptor, 0)
        rest = memoryview(payload)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Makes the names of a folder's files durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, payload: bytes) -> None:
    """Replaces a file by an atomic rename."""
    temporary = path.with_name(f".{path.name}")
    write_file(temporary, payload)
    os.replace(temporary, path)
    sync_folder(path.parent)
