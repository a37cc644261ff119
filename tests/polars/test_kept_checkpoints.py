"""The checkpoints of earlier versions of the local engine: this version continues each.

These tests catch a change of a format, or of what it has, without a way from the earlier one.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from flowalg_polars.streaming.storage.checkpoint import FORMAT

from tests.support.kept_checkpoints import KEPT, STOP, run

FOLDERS = sorted(KEPT.glob("local-*"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_kept_checkpoint_continues(folder: Path, tmp_path: Path) -> None:
    """A query goes on from a checkpoint of an earlier version as one that this version has begun."""
    copy = Path(shutil.copytree(folder, tmp_path / "checkpoint"))
    fresh = list(run(None))
    continued = list(run(copy))
    assert continued == fresh[STOP:]
    assert any(any(emitted.values()) for emitted in continued)


def test_the_format_of_this_version_is_kept() -> None:
    """``python -m tests.support.kept_checkpoints`` adds it."""
    assert KEPT / f"local-{FORMAT}" in FOLDERS
