"""Positions in the data of a source, which checkpoints store."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from datetime import timedelta
from typing import Final, TypeAlias, cast

from attrs import frozen

Position: TypeAlias = tuple[object, ...]
"""How far a source has been read. Of files, their number and the last ones (``ReadFile``); of messages, offsets; else a
number of micro-batches or records, and whether they have ended."""

Stamp: TypeAlias = tuple[int, int]
"""The time of modification of a file, in nanoseconds, and its size."""

ReadFile: TypeAlias = tuple[str, Stamp | None]
"""The name of a file that was read, with its stamp then; ``None`` once a change of it was reported."""

START: Final[Position] = ()

FILES: Final = "files"
FRAMES: Final = "frames"
RECORDS: Final = "records"
MESSAGES: Final = "messages of Kafka"


@frozen
class Available:
    """What a reader can read next: the position after it, and whether the input has ended with it."""

    position: Position
    ended: bool = False


def files_in(position: Position) -> Sequence[ReadFile]:
    """Returns the files in a position of files: those of the last micro-batch."""
    return cast("Sequence[ReadFile]", position[1:])


@frozen
class SourceFolder:
    """The folder of a source: the names that are in it now, and when a file that was taken out of it is forgotten.

    ``names`` returns ``None`` if the folder cannot be listed.
    """

    names: Callable[[], Set[str] | None]
    forget_after: timedelta | None
