"""The files that a source has read: each is read once, and a checkpoint does not grow with all files ever read.

These tests catch a name that is forgotten while its file is in the folder, or soon after, so that it is read twice, and
a log of names that grows without bound.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from flowalg_polars import streaming
from flowalg_polars.streaming import Files, StreamInput
from flowalg_polars.streaming.reading.positions import SourceFolder
from flowalg_polars.streaming.storage import file_log
from flowalg_polars.streaming.storage.file_log import FileLog, StoredFiles
from flowalg_polars.streaming.storage.local_folder import LocalFolder
from hypothesis import given
from hypothesis import strategies as st

from flowalg import BoundedOutOfOrderness
from flowalg.data.time import ProcessingTime
from flowalg.errors import ArgumentError
from tests.support.scores import POINTS, SCORES

LATEST: Final = 4
STEPS: Final = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 8)), max_size=60)
"""The numbers of files that arrive, and of the oldest that are taken out, and the microseconds that pass."""


@given(STEPS, st.none() | st.integers(0, 20))
def test_only_files_that_were_taken_out_long_ago_are_forgotten(
    steps: list[tuple[int, int, int]], forget_after: int | None
) -> None:
    """Files in the folder, or taken out less than ``forget_after`` ago, are in the log, and few others."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_log, "_LATEST", LATEST)
        storage, stored = LocalFolder(Path(folder)), StoredFiles()
        present: list[str] = []
        taken_out: dict[str, int] = {}
        duration = None if forget_after is None else timedelta(microseconds=forget_after)
        source = SourceFolder(lambda: set(present), duration)
        now = number = most = recent = 0
        for arriving, leaving, passing in steps:
            names = [str(number + added) for added in range(arriving)]
            number += arriving
            present += names
            now += passing
            for name in present[:leaving]:
                taken_out[name] = now
            del present[:leaving]
            log = FileLog(storage, "source", stored)
            log.add([(name, (now, 1)) for name in names], ProcessingTime(now), source)
            stored = log.stored
            known = {name for name, _ in log.files()}
            assert not known & log.forgotten
            lately = {
                name for name, time in taken_out.items() if forget_after is None or time > now - forget_after
            }
            assert known >= {*present, *lately}
            most, recent = max(most, len(present) + leaving), max(recent, len(lately))
            assert len(known) <= 4 * most + 2 * recent + 4 * (LATEST + 6)
            assert len(stored.chunks) <= 1 + max(1, len(known)).bit_length() / 2


def arrive(folder: Path, name: str, time: int) -> None:
    """Writes a file with a score."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text('{"team": "a", "points": 1, "at": "2024-01-01T12:00:00Z"}\n')
    os.utime(path, (time, time))


def read(folder: Path, forget_after: timedelta | None) -> int:
    """Returns the number of files that a query reads."""
    files = Files(folder / "in", "jsonl", forget_after=forget_after)
    inputs = {SCORES: StreamInput(files, BoundedOutOfOrderness(timedelta(0)))}
    return len(list(streaming.batches(POINTS, inputs, checkpoint=folder / "checkpoint")))


@pytest.mark.parametrize("forget_after", [timedelta(0), timedelta(days=7), None])
def test_a_folder_of_files_that_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget_after: timedelta | None
) -> None:
    """A file is read once, also one with an old time, and one with its name only once the name is forgotten."""
    monkeypatch.setattr(file_log, "_LATEST", LATEST)
    source = tmp_path / "in"
    arrive(source, "kept", 1)
    sizes = []
    for number in range(40):
        arrive(source, f"{number}", 1_000 - number)
        assert read(tmp_path, forget_after) == (2 if number == 0 else 1)
        (source / str(number)).unlink()
        files = [path for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()]
        sizes.append(len(files))
    assert max(sizes) <= 8
    arrive(source, "0", 5)
    assert read(tmp_path, forget_after) == (1 if forget_after == timedelta(0) else 0)
    arrive(source, "kept", 7)
    assert read(tmp_path, forget_after) == 0


def test_one_process_reads_a_forgotten_name_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that a running query has forgotten is that of a new file, also without a restart."""
    monkeypatch.setattr(file_log, "_LATEST", 0)
    source = tmp_path / "in"
    arrive(source, "0", 1)
    files = Files(source, "jsonl", forget_after=timedelta(0))
    inputs = {SCORES: StreamInput(files, BoundedOutOfOrderness(timedelta(0)))}
    query = streaming.batches(POINTS, inputs, checkpoint=tmp_path / "checkpoint", metrics=True)
    next(query)
    (source / "0").unlink()
    arrive(source, "1", 2)
    next(query)
    arrive(source, "0", 3)
    batch = next(query)
    assert len(batch.elements) == 1
    assert [metrics.changed_files for metrics in batch.sources] == [0]
    assert list(query) == []


@pytest.mark.parametrize("forget_after", [timedelta(seconds=-1), 3, "a week"])
def test_a_time_to_forget_is_a_duration(forget_after: object) -> None:
    """Anything else is an error that names the argument."""
    with pytest.raises(ArgumentError, match="Files.forget_after must be a timedelta of zero or more"):
        Files("folder", forget_after=forget_after)  # type: ignore[arg-type]
