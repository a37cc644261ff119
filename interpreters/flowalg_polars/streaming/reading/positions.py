"""Positions in the data of a source, which checkpoints store."""

from __future__ import annotations

from typing import Final, TypeAlias

from attrs import frozen

Position: TypeAlias = tuple[object, ...]
"""How far a source has been read. Of files, their number and the names of the last ones; of messages, offsets; else a
number of micro-batches or records, and whether they have ended."""

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
