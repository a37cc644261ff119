"""Files of a checkpoint as values: each has a checksum, and every error names the checkpoint and the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TypeVar

from flowalg_shard.tables.packing import seal, unseal
from polars.exceptions import PanicException

from flowalg.data.errors import CheckpointError
from flowalg.serialization.stored import StoredValueError
from flowalg_polars.streaming.storage.storage import READS, Storage

A = TypeVar("A")


def sealed(name: str, payload: bytes) -> bytes:
    """Returns the bytes of a file after their checksum, which includes the name of the file."""
    return seal(payload, PurePosixPath(name).name)


def read_sealed(storage: Storage, name: str, what: str, decode: Callable[[bytes], A]) -> A | None:
    """Returns what a sealed file has; ``None`` if there is none. Raises ``CheckpointError`` if it is damaged."""
    stored = storage.read(name, what)
    if stored is None:
        return None
    try:
        payload = unseal(stored, PurePosixPath(name).name)
    except ValueError:
        damage = f"{what} has the wrong checksum; {READS}"
        raise CheckpointError(f"the checkpoint {storage.name} is damaged: {damage}") from None
    return decoded(storage, what, payload, decode)


def decoded(storage: Storage, what: str, payload: bytes, decode: Callable[[bytes], A]) -> A:
    """Returns decoded bytes; raises ``CheckpointError`` if they cannot be decoded."""
    checkpoint = f"the checkpoint {storage.name}"
    try:
        return decode(payload)
    except StoredValueError as error:
        raise CheckpointError(f"{checkpoint} cannot be read: {what}: {error}") from error
    except CheckpointError:
        raise
    except (Exception, PanicException) as error:
        raise CheckpointError(
            f"{checkpoint} cannot be read: {what}: {type(error).__name__}: {error}; {READS}"
        ) from error
