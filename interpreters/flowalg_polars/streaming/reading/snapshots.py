"""Snapshots of a table as the input of a stream."""

from __future__ import annotations

from typing import TypeVar

from flowalg_snapshots import TICK, WATERMARK, Snapshots

from flowalg.watermarks import Perfect
from flowalg_polars.streaming.reading.inputs import Files, StreamInput

R = TypeVar("R")


def snapshot_input(snapshots: Snapshots[R]) -> StreamInput:
    """Returns the input of a source from the files of its snapshots, with the watermark that they have."""
    return StreamInput(Files(snapshots.folder), Perfect(), tick=TICK, source_watermark=WATERMARK)
