"""Positions in the data of a source, which checkpoints store."""

from __future__ import annotations

from typing import Final, TypeAlias

from attrs import frozen

Position: TypeAlias = tuple[object, ...]
"""How far a source has been read: names of files, offsets, or a number of micro-batches or
records; and whether it has ended."""

START: Final[Position] = ()


@frozen
class Available:
    """What a reader can read next: the position after it, and whether the input has ended with it."""

    position: Position
    ended: bool = False


__all__ = ["START", "Available", "Position"]
