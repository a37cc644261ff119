"""Inputs, folders and checkpoints of a wrong type: an ``ArgumentError`` that names the argument."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import flowalg_reference as reference
import polars as pl
import pytest
from attrs import asdict, frozen
from flowalg_laws.kit.readings import Reading
from flowalg_polars import batch, streaming
from flowalg_polars.streaming import Files, Frames, Records, StreamInput
from flowalg_sinks import SQLite
from flowalg_snapshots import Snapshots

from flowalg import BoundedOutOfOrderness, Source
from flowalg.errors import ArgumentError, ElementError, SchemaMismatchError
from tests.support.scores import NOON

READINGS = Source("readings", Reading, event_time=lambda reading: reading.seen)
POLICY = BoundedOutOfOrderness(timedelta(seconds=1))


def run(inputs: Any, checkpoint: Any = None) -> None:  # noqa: ANN401  # of a wrong type
    """Runs the source itself."""
    list(streaming.batches(READINGS, inputs, checkpoint=checkpoint))


def run_frames(frames: Any) -> None:  # noqa: ANN401  # of a wrong type
    """Runs the source over frames."""
    run({READINGS: StreamInput(Frames(frames), POLICY)})


@frozen
class Other(os.PathLike[Any]):
    """A path-like of something else than a text."""

    path: object

    def __fspath__(self) -> Any:  # noqa: ANN401  # of a wrong type
        """Returns the path."""
        return self.path


NOT_PATHS: tuple[Any, ...] = (
    b"folder",
    5,
    ["folder"],
    "",
    "  ",
    "a\0b",
    "a\udc80b",
    Other(b"folder"),
    Other(5),
)
CALLS: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("Files.folder", Files),
    ("checkpoint", streaming.drain),
    ("checkpoint", lambda path: streaming.plan(READINGS, path)),
    ("checkpoint", streaming.open_state),
    ("checkpoint", lambda path: streaming.reshard(path, 2)),
    ("checkpoint", lambda path: run({READINGS: StreamInput(Frames([]), POLICY)}, path)),
    ("Snapshots.folder", lambda path: Snapshots(READINGS, path, list, time="seen", every=timedelta(1))),
    ("SQLite.path", SQLite),
)


@pytest.mark.parametrize("value", NOT_PATHS, ids=repr)
@pytest.mark.parametrize(("argument", "call"), CALLS)
def test_a_path_is_a_text(argument: str, call: Callable[[Any], object], value: object) -> None:
    """Bytes, numbers, blanks, and what no file can be named are no paths, in a ``PathLike`` too."""
    with pytest.raises(ArgumentError, match=f"^{argument} must be a path"):
        call(value)


@pytest.mark.parametrize(("argument", "call"), CALLS)
def test_no_folder_is_made_in_the_wrong_place(
    argument: str, call: Callable[[Any], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home of a shell and a URL are no names of folders here; a password in a URL is not shown.

    A checkpoint may have a URL, with credentials from the environment.
    """
    monkeypatch.chdir(tmp_path)
    for value in ("~/folder", Path("~/folder"), "~", "~someone/folder"):
        with pytest.raises(ArgumentError, match=rf"^{argument} must be a path that begins with no ~"):
            call(value)
    urls: list[str | Path] = ["s3://user:secret@bucket/folder", Path("s3://user:secret@bucket/folder")]
    if argument != "checkpoint":
        urls.append("file:///tmp/folder")
    for value in urls:
        no_url = "a path such as .* or a store; .*: credentials come from the environment"
        valid = (
            no_url
            if argument == "checkpoint" and isinstance(value, str)
            else "a path of this machine, and no URL"
        )
        with pytest.raises(ArgumentError, match=rf"^{argument} must be {valid}") as bad:
            call(value)
        assert "secret" not in str(bad.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("argument", "call"), [case for case in CALLS if case[0] in ("checkpoint", "Snapshots.folder")]
)
def test_a_file_is_no_folder(argument: str, call: Callable[[Any], object], tmp_path: Path) -> None:
    """A file, and a folder in a file, are an error that says which is the file."""
    (tmp_path / "file").write_text("")
    for value in (tmp_path / "file", f"{tmp_path}/file/", f"{tmp_path}/file/folder"):
        with pytest.raises(
            ArgumentError, match=rf"^{argument} must be the path of a folder; .*: .*file is a file$"
        ):
            call(value)


def test_a_checkpoint_may_end_with_a_slash(tmp_path: Path) -> None:
    """With the slash and without it is one checkpoint."""
    folder = tmp_path / "checkpoint"
    inputs = {READINGS: StreamInput(Frames([pl.DataFrame([asdict(Reading("a", 1, NOON, NOON))])]), POLICY)}
    assert list(streaming.batches(READINGS, inputs, checkpoint=f"{folder}/"))
    assert not list(streaming.batches(READINGS, inputs, checkpoint=folder))


@pytest.mark.parametrize("path", [Other(b"folder"), "", "~/folder", "a\0b", "a\udc80b"], ids=repr)
def test_the_path_of_a_batch_is_a_text(path: Any) -> None:  # noqa: ANN401  # of a wrong type
    """The error names the source; an empty path is not the working directory."""
    with pytest.raises(ArgumentError, match="^the input of source 'readings' must be a path"):
        batch.run(READINGS, {READINGS: path})


@pytest.mark.parametrize("path", ["x" * 300, "nothing", "file:///nothing"])
def test_a_batch_over_files_that_cannot_be_read_names_its_source(path: str) -> None:
    """A name that is too long is an ``ElementError`` as others are, and a URL is Polars' to read."""
    with pytest.raises(ElementError, match="^source 'readings': .*cannot be read as Parquet"):
        batch.run(READINGS, {READINGS: path})
    if "/" not in path:
        with pytest.raises(ElementError, match="^source 'readings': .*must be a folder of files"):
            run({READINGS: StreamInput(Files(path), POLICY)})


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


def test_the_columns_that_a_message_lists_are_those_of_the_frame() -> None:
    """The error for a missing column lists the columns of the frame, and not those that the engine adds."""
    frame = pl.DataFrame({"shop": ["a"], "seen": [NOON]})
    with pytest.raises(SchemaMismatchError, match=r"no such column \(the columns are shop, seen\)"):
        run_frames([frame])
    with pytest.raises(SchemaMismatchError, match=r"no such column \(the columns are shop, seen\)"):
        batch.run(READINGS, {READINGS: frame})
