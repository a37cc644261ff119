"""The command line with folders, outputs and names that do not fit: one line says what, and nothing is passed over.

These tests catch a file of a folder that is not read and not reported, a traceback, and a password in an error.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from flowalg_tools.cli.app import main

from flowalg.data.errors import without_passwords
from flowalg.errors import ArgumentError

MODULE = """
from datetime import datetime, timedelta
from attrs import frozen
from flowalg import FixedWindows, Source, ToList

@frozen
class Reading:
    key: str
    at: datetime

READINGS = Source("readings", Reading, event_time=lambda reading: reading.at)
LISTS = READINGS.key_by(lambda reading: reading.key).window(FixedWindows(timedelta(days=1))).combine_per_key(ToList())
"""
STREAM = ("--on", "streaming", "--watermark", "Perfect()")
LINE = '{"key": "a", "at": "2024-01-01T00:00:00Z"}\n'


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "dirty_readings:LISTS", "--input", "in", "--output", "x.jsonl"], "b.jsonl.gz"),
        (["run", "dirty_readings:LISTS", "--input", "in/a.jsonl", "--output", "x.csv"], ".parquet or .jsonl"),
        (
            ["run", "dirty_readings:LISTS", "--on", "batch", "--input", "in/_c.jsonl", "--output", "x.jsonl"],
            "Spark passes over files that begin with _",
        ),
        (
            ["run", "dirty_readings:LISTS", *STREAM, "--input", "in/_c.jsonl", "--output", "x.jsonl"],
            "Spark passes over files that begin with _",
        ),
        (
            [
                "run",
                "dirty_readings:LISTS",
                *("--input", "in/a.jsonl", "--input", "in/_c.jsonl"),
                "--output",
                "x.csv",
            ],
            "the input of readings must be given once, and is in/a.jsonl too",
        ),
        (["explain", "dirty_readings:LISTS.node.nothing"], "dirty_readings has no nothing"),
        (["explain", "dirty_readings:READINGS.name.nothing"], "dirty_readings has no nothing"),
        (["explain", "dirty_exit:LISTS"], "no such day"),
        (
            ["run", "dirty_readings:LISTS", "--input", "s3://u:hunter2@h/d", "--output", "x.csv"],
            "s3:/***@h/d",
        ),
        (
            ["run", "dirty_readings:LISTS", "--input", "other=s3://u:hunter2@h", "--output", "x.csv"],
            "other=s3://***@h",
        ),
    ],
)
def test_what_does_not_fit_is_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An error of one line names the file, the output or the name, and has no password of a URL."""
    (tmp_path / "dirty_readings.py").write_text(MODULE)
    (tmp_path / "dirty_exit.py").write_text("raise SystemExit('no such day')")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(LINE)
    (tmp_path / "in" / "b.jsonl.gz").write_text(LINE)
    (tmp_path / "in" / "_SUCCESS").touch()
    (tmp_path / "in" / "_c.jsonl").write_text(LINE)
    monkeypatch.chdir(tmp_path)
    assert main(arguments) in (1, 2)
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert "hunter2" not in error


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:hunter2@h:1/d", "postgresql://***@h:1/d"),
        ("Path('postgresql:/u:x/hunter2@h/d')", "Path('postgresql:/***@h/d')"),
        ("a https://u:p@hunter2@h and s3://u:hunter2@b/c", "a https://***@h and s3://***@b/c"),
        ("https://h:80/a", "https://h:80/a"),
        ("s3://b/a@b", "s3://b/a@b"),
    ],
)
def test_a_url_is_shown_without_its_user_and_password(text: str, shown: str) -> None:
    """The value in an error of an argument has no password of a URL, also if that has special characters."""
    assert without_passwords(text) == shown
    assert str(ArgumentError("x", text, "y")).startswith(f"x must be y; got {shown!r}")
