"""Inputs, folders and checkpoints of a wrong type: an ``ArgumentError`` that names the argument."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import flowalg_reference as reference
import polars as pl
import pytest
from flowalg_laws.kit.readings import Reading
from flowalg_polars import streaming
from flowalg_polars.streaming import Files, Frames, Records, StreamInput

from flowalg import ArgumentError, BoundedOutOfOrderness, Source

READINGS = Source("readings", Reading, event_time=lambda reading: reading.seen)
POLICY = BoundedOutOfOrderness(timedelta(seconds=1))


def run(inputs: Any, checkpoint: Any = None) -> None:  # noqa: ANN401  # of a wrong type
    """Runs the source itself."""
    list(streaming.batches(READINGS, inputs, checkpoint=checkpoint))


def run_frames(frames: Any) -> None:  # noqa: ANN401  # of a wrong type
    """Runs the source over frames."""
    run({READINGS: StreamInput(Frames(frames), POLICY)})


NOT_PATHS: tuple[Any, ...] = (b"folder", 5, ["folder"], "")


@pytest.mark.parametrize("value", NOT_PATHS)
@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("Files.folder", Files),
        ("checkpoint", streaming.drain),
        ("checkpoint", lambda path: streaming.plan(READINGS, path)),
        ("checkpoint", lambda path: run({READINGS: StreamInput(Frames([]), POLICY)}, path)),
    ],
)
def test_a_path_is_a_text(argument: str, call: Callable[[Any], object], value: object) -> None:
    """Bytes, numbers and the empty text are no paths."""
    with pytest.raises(ArgumentError, match=f"^{argument} must be a path"):
        call(value)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("Frames.frames", lambda: Frames(5)),  # type: ignore[arg-type]  # the claim
        ("Records.records", lambda: Records(None)),  # type: ignore[arg-type]  # the claim
        ("a frame of Frames.frames", lambda: run_frames([pl.DataFrame().lazy()])),
        ("inputs", lambda: run([])),
        ("inputs", lambda: reference.run_batch(READINGS, None)),  # type: ignore[arg-type]  # the claim
    ],
)
def test_an_input_has_a_type(argument: str, call: Callable[[], object]) -> None:
    """The error names the argument."""
    with pytest.raises(ArgumentError, match=f"^{argument} must be "):
        call()
