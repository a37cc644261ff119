"""Pipes, sockets, devices and folders in place of files: named errors, and no waiting."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

import polars as pl
import pytest
from flowalg_polars import batch, streaming
from flowalg_polars.streaming import Files, StreamInput
from flowalg_polars.streaming.storage import checkpoint as checkpoints
from flowalg_polars.streaming.storage import file_log

from flowalg import BoundedOutOfOrderness, FixedWindows, FlowalgError, Sum
from flowalg.errors import CheckpointError, ElementError
from tests.support.scores import NOON, SCORES

MINUTE: Final = timedelta(minutes=1)
TOTALS: Final = (
    SCORES.key_by(lambda s: s.team)
    .map_values(lambda s: s.points)
    .window(FixedWindows(MINUTE), allowed_lateness=MINUTE)
    .combine_per_key(Sum())
)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


KINDS: Final[dict[str, Callable[[Path], None]]] = {
    "pipe": os.mkfifo,
    "socket": _socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
}


def arrive(folder: Path, number: int) -> None:
    """Writes a file with a score, each in a minute of its own."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{number:05}.parquet"
    row = {"team": "a", "points": number, "at": NOON + number * MINUTE}
    pl.DataFrame([row]).cast({"at": pl.Datetime("us", "UTC")}).write_parquet(path)
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def run(folder: Path, checkpoint: Path | None = None) -> None:
    """Runs a query over the files of a folder."""
    inputs = {SCORES: StreamInput(Files(folder), BoundedOutOfOrderness(timedelta(0)))}
    streaming.run(TOTALS, inputs, sink=lambda batch: None, checkpoint=checkpoint)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files and the checkpoint of a query over them, whose state is in files of all kinds."""
    monkeypatch.setattr(checkpoints, "_SMALL", 0)
    monkeypatch.setattr(file_log, "_LATEST", 0)
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    for number in range(2):
        arrive(tmp_path / "in", number)
    run(tmp_path / "in", tmp_path / "checkpoint")
    arrive(tmp_path / "in", 2)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_thing_passes_for_a_file_of_a_checkpoint(place: Path, kind: str) -> None:
    """Another thing in place of a file of a checkpoint, a temporary one too, is an error with its name."""
    checkpoint = place / "checkpoint"
    files = [path for path in checkpoint.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == {"checkpoint", "segments", "files"}
    for path in [*files, *(checkpoint / name for name in (".query", ".intent", ".manifest", "drain"))]:
        kept = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        KINDS[kind](Path(os.path.relpath(path)))
        with pytest.raises(CheckpointError, match=f"the checkpoint {checkpoint}"):
            run(place / "in", checkpoint)
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
        if kept is not None:
            path.write_bytes(kept)
    run(place / "in", checkpoint)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "folder"])
def test_no_other_thing_passes_for_a_file_of_a_source(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream over a folder, and a batch over a folder, a file or a pattern, name a path that is not a file."""
    monkeypatch.chdir(tmp_path)
    arrive(Path("in"), 0)
    KINDS[kind](Path("in/one.parquet"))
    with pytest.raises(
        ElementError, match=r"'scores': .*in/one.parquet must be a file; it is a pipe, a socket"
    ):
        run(Path("in"))
    for data in ("in", "in/one.parquet", "in/*.parquet"):
        with pytest.raises(
            FlowalgError, match="'scores': .*must be a file; it is a pipe, a socket or a device"
        ):
            batch.compile(TOTALS, {SCORES: data})
