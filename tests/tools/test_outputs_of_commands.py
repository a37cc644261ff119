"""Outputs that a command cannot write as it would: an encoding without a character, and one that is closed or full."""

from __future__ import annotations

import io
import os
import sys

import pytest
from flowalg_tools.cli.app import main
from flowalg_tools.cli.terminal import show


def test_a_character_that_the_output_lacks_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an output whose encoding lacks a character, such as the ellipsis of a command, it is an escape."""
    written = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", written)
    assert main(["explain", "games:STANDINGS"]) == 0
    written.seek(0)
    assert "combine_per_key(into=\\u2026)(games.Standing)" in written.read()


def test_a_closed_output_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a closed standard output, which Python makes ``None``, nothing is written, as with ``print``."""
    monkeypatch.setattr(sys, "stdout", None)
    show("a line")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["explain", "games:STANDINGS"], 141), (["explain", "games:NOTHING"], 2), (["--help"], 141)],
    ids=["output", "error", "help"],
)
@pytest.mark.parametrize("size", [1, 1 << 20], ids=["while it is written", "at the end"])
def test_an_output_whose_reader_has_closed_it_ends_a_command(
    arguments: list[str],
    code: int,
    size: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is no error, and the exit code is that of other programs before ``head``; an error keeps its own."""
    reader, writer = os.pipe()
    os.close(reader)
    with io.TextIOWrapper(io.BufferedWriter(io.FileIO(writer, "w"), size), encoding="utf-8") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert main(arguments) == code
    assert capsys.readouterr().err.count("error: ") == (code == 2)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")
def test_an_output_on_a_full_disk_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An output that cannot be written is an error with its reason."""
    with open("/dev/full", "w", encoding="utf-8") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert main(["explain", "games:STANDINGS"]) == 2
    assert "error: [Errno 28] No space left" in capsys.readouterr().err
