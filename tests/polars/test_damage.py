"""Every file of a checkpoint in a folder, damaged in every way: a named error, or the panes of an undisturbed run.

These tests catch a file that is read without a check: its damage would be other numbers, or an error without a name.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from flowalg_polars import streaming
from flowalg_polars.streaming import Files, StreamInput
from flowalg_polars.streaming.storage import checkpoint as checkpoints
from flowalg_polars.streaming.storage import file_log

from flowalg import Accumulation, AtCount, Repeat
from flowalg.errors import CheckpointError
from flowalg.windows import FixedWindows
from tests.differential.evolution import BATCHES
from tests.polars.test_streams import WATERMARK, frame_of
from tests.support.scores import SCORES, Score
from tests.support.versions import MINUTE

LISTS: Final = (
    SCORES.key_by(lambda s: s.team)
    .window(
        FixedWindows(MINUTE),
        trigger=Repeat(AtCount(1)),
        accumulation=Accumulation.RETRACTING,
        allowed_lateness=60 * MINUTE,
    )
    .group_by_key()
)
STOP: Final = 3
"""The micro-batches before the damage."""

Damage = Callable[[bytes], bytes | None]
"""Returns the bytes of a file after its damage; ``None`` if it is removed."""


def _cut(sixteenths: int, stored: bytes) -> bytes:
    return stored[: len(stored) * sixteenths // 16]


def _by(other: Path) -> Damage:
    return lambda _: other.read_bytes()


def _flipped(stored: bytes, at: int) -> bytes:
    return stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :] if stored else b"\1"


DAMAGES: Final[dict[str, Damage]] = {
    "removed": lambda stored: None,
    "emptied": lambda stored: b"",
    "without its last byte": lambda stored: stored[:-1],
    "with a byte more": lambda stored: stored + b"\0",
    "with another first byte": lambda stored: _flipped(stored, 0),
    "with another byte inside": lambda stored: _flipped(stored, len(stored) // 2),
    "with another last byte": lambda stored: _flipped(stored, len(stored) - 1),
    **{f"cut at {part} sixteenths": partial(_cut, part) for part in range(1, 16)},
}


def write(folder: Path, batches: tuple[tuple[Score, ...], ...]) -> Path:
    """Writes the files of some micro-batches."""
    folder.mkdir()
    for number, batch in enumerate(batches):
        frame_of(batch).write_parquet(folder / f"{number}.parquet")
    return folder


def run(source: Path, checkpoint: Path, stop: int | None = None) -> list[list[Any]]:
    """Returns what a query emits in each micro-batch."""
    stream = StreamInput(Files(str(source)), WATERMARK)
    batches = streaming.batches(LISTS, {SCORES: stream}, checkpoint=checkpoint)
    emitted = []
    for batch in batches:
        emitted.append([(pane.element, pane.window, pane.change, pane.index) for pane in batch.panes])
        if len(emitted) == stop:
            break
    batches.close()
    return emitted


def files_in(checkpoint: Path) -> list[str]:
    """Returns the files of a checkpoint."""
    return sorted(str(path.relative_to(checkpoint)) for path in checkpoint.rglob("*") if path.is_file())


def outcome(source: Path, checkpoint: Path, wanted: list[list[Any]]) -> str:
    """Returns whether a start has named the checkpoint, has gone on ``as before``, or what it has done instead."""
    try:
        emitted = run(source, checkpoint)
    except CheckpointError as error:
        return "named" if str(checkpoint) in str(error) else str(error)
    return "as before" if emitted == wanted else str(emitted)


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder of a query that has stopped, of another one, and of copies of the first one's checkpoint."""
    monkeypatch.setattr(checkpoints, "_SMALL", 0)  # so that each segment is a file
    monkeypatch.setattr(file_log, "_LATEST", 1)  # and the names of files, too
    source = write(tmp_path / "in", BATCHES)
    other = write(tmp_path / "in of another", BATCHES[::-1])
    run(other, tmp_path / "another", STOP)
    for generation in range(1, STOP + 1):
        run(source, tmp_path / "checkpoint", 2)
        shutil.copytree(tmp_path / "checkpoint", tmp_path / f"generation {generation}")
    return tmp_path


def test_damage_of_any_file_is_named_or_changes_nothing(stopped: Path) -> None:
    """A start from a checkpoint with one damaged file raises ``CheckpointError``, or goes on as without the damage."""
    source, whole = stopped / "in", stopped / "checkpoint"
    wanted = run(source, Path(shutil.copytree(whole, stopped / "undamaged")))
    assert len(wanted) == len(BATCHES) - STOP
    files = files_in(whole)
    kinds = {name.split("/")[0] for name in files}
    assert {"manifest", "intent", "query", "segments", "files"} <= kinds
    outcomes: dict[tuple[str, str], str] = {}
    for name in files:
        damages = dict(DAMAGES)
        for place in ("another", *(f"generation {number}" for number in range(1, STOP)), "checkpoint"):
            kind = name.split("/")[0]
            for number, found in enumerate(
                each for each in files_in(stopped / place) if each.split("/")[0] == kind
            ):
                damages[f"replaced by file {number} of {place}"] = _by(stopped / place / found)
        for damage, apply in damages.items():
            damaged = Path(shutil.copytree(whole, stopped / "damaged"))
            stored = apply((damaged / name).read_bytes())
            if stored is None:
                (damaged / name).unlink()
            else:
                (damaged / name).write_bytes(stored)
            outcomes[name, damage] = outcome(source, damaged, wanted)
            assert outcomes[name, damage] in ("named", "as before"), f"{name} {damage}"
            shutil.rmtree(damaged)
    assert len(outcomes) > 100
    assert {outcome for (name, _), outcome in outcomes.items() if name == "manifest"} == {
        "named",
        "as before",
    }
