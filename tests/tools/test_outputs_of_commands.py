"""Outputs that a command cannot write as it would: an encoding without a character, and a closed one."""

from __future__ import annotations

import io
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
