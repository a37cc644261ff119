"""Damage of a checkpoint on Spark: a restart must raise an error that names it, unless that part is not needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from tests.faults.progress import number_of


def _each_state_file(damage: Callable[[Path], None], checkpoint: Path) -> None:
    """Damages Spark's files of the state: changelogs and snapshots."""
    state = checkpoint / "state"
    for file in (*state.rglob("*.changelog"), *state.rglob("*.zip")):
        damage(file)


def _corrupt(file: Path) -> None:
    """Corrupts bytes in the middle of a file, and deletes its checksum: only its content shows the damage."""
    payload = bytearray(file.read_bytes())
    middle = len(payload) // 2
    payload[middle : middle + 64] = bytes(255 - byte for byte in payload[middle : middle + 64])
    file.write_bytes(bytes(payload))
    _delete_checksum(file)


def _truncate(place: str, checkpoint: Path) -> None:
    """Truncates the last file of a log to ten bytes, and deletes its checksum: only its content shows the damage."""
    log = checkpoint / place
    last = log if log.is_file() else max(log.glob("[0-9]*"), key=number_of)
    last.write_bytes(last.read_bytes()[:10])
    _delete_checksum(last)


def _delete_checksum(file: Path) -> None:
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


DAMAGES: Final[Mapping[str, Callable[[Path], None]]] = {
    "corrupt state": partial(_each_state_file, _corrupt),
    "missing state": partial(_each_state_file, Path.unlink),
    "truncated offset log": partial(_truncate, "offsets"),
    "truncated commit log": partial(_truncate, "commits"),
    "truncated file log of a source": partial(_truncate, "sources/0"),
    "truncated query id": partial(_truncate, "metadata"),
}
"""The kinds of damage, as functions of the checkpoint."""


def checkpoint_error(log: str) -> str | None:
    """The error message of flowalg or Spark that reports the damage of a checkpoint, if there is one."""
    words = ("is damaged", "CANNOT_LOAD_STATE_STORE")
    errors = [line.strip() for line in log.splitlines() if _ERROR.search(line)]
    return next((line[:300] for line in reversed(errors) if any(word in line for word in words)), None)


_ERROR: Final = re.compile(r"(Error|Exception|\[[A-Z_]+(\.[A-Z_]+)*\])")
