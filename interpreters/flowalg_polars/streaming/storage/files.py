"""Files of a checkpoint. They are for their owner alone, have a checksum, and every error names the checkpoint."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from flowalg_shard.tables.packing import seal, unseal
from polars.exceptions import PanicException

from flowalg.data.errors import CheckpointError
from flowalg.serialization.stored import StoredValueError

A = TypeVar("A")

_OWNER_FOLDER: Final = 0o700
_OWNER_FILE: Final = 0o600

_WRITES: Final = "when it can be written, start the query again: it continues from its last micro-batch"
READS: Final = "restore a copy, or start the query with a new checkpoint"
"""What to do about a file that cannot be read."""


@contextmanager
def naming_errors(folder: Path, fails: str = "cannot be written", remedy: str = _WRITES) -> Iterator[None]:
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
            f"the checkpoint {folder} {fails}: {error.strerror or error}{file}; {remedy}"
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


def write_file(path: Path, payload: bytes, at: int = 0) -> None:
    """Writes bytes from a position on, durably; the file ends after them."""
    descriptor = open_file(path, os.O_WRONLY | os.O_CREAT)
    try:
        os.ftruncate(descriptor, at)
        os.lseek(descriptor, at, os.SEEK_SET)
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
    """Replaces a sealed file by an atomic rename."""
    temporary = path.with_name(f".{path.name}")
    write_file(temporary, seal(payload, path.name))
    os.replace(temporary, path)
    sync_folder(path.parent)


def read_sealed(folder: Path, path: Path, what: str, decode: Callable[[bytes], A]) -> A | None:
    """Returns what a sealed file has; ``None`` if there is none. Raises ``CheckpointError`` if it is damaged."""
    with naming_errors(folder, f"cannot be read: {what}", READS):
        try:
            sealed = read_file(path)
        except FileNotFoundError:
            return None
    try:
        payload = unseal(sealed, path.name)
    except ValueError:
        damage = f"{what} has the wrong checksum; {READS}"
        raise CheckpointError(f"the checkpoint {folder} is damaged: {damage}") from None
    return decoded(folder, what, payload, decode)


def decoded(folder: Path, what: str, payload: bytes, decode: Callable[[bytes], A]) -> A:
    """Returns decoded bytes; raises ``CheckpointError`` if they cannot be decoded."""
    try:
        return decode(payload)
    except StoredValueError as error:
        raise CheckpointError(f"the checkpoint {folder} cannot be read: {what}: {error}") from error
    except CheckpointError:
        raise
    except (Exception, PanicException) as error:
        raise CheckpointError(
            f"the checkpoint {folder} cannot be read: {what}: {type(error).__name__}: {error}; {READS}"
        ) from error
