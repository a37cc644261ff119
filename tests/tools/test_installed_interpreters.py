"""Interpreters that other distributions install, by their entry points."""

from __future__ import annotations

from pathlib import Path

import pytest
from flowalg_laws import check_interpreter
from flowalg_laws.conformance import JOBS
from flowalg_polars import PolarsStreaming
from flowalg_reference import Reference
from flowalg_tools.cli import main

from flowalg import Interpreter, load_interpreter
from flowalg.errors import ArgumentError, MissingExtraError
from flowalg.interpreters.installed import interpreter_names


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the path with a distribution that has interpreters."""
    folder = tmp_path / "others"
    (folder / "others-1.0.dist-info").mkdir(parents=True)
    (folder / "others-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: others\nVersion: 1.0\n"
    )
    (folder / "others-1.0.dist-info" / "entry_points.txt").write_text(
        "[flowalg.interpreters]\n"
        "mine = others_engine:Mine\n"
        "strict = others_engine:Strict\n"
        "damaged = others_engine:dict\n"
        "incomplete = others_engine_without:Mine\n"
        "raising = others_engine_raising:Mine\n"
    )
    (folder / "others_engine.py").write_text(
        "from flowalg_reference import ReferenceBatch\n"
        "class Mine(ReferenceBatch):\n"
        "    pass\n"
        "class Strict:\n"
        "    capabilities = ReferenceBatch().capabilities\n"
        "    def run(self, outputs, inputs):\n"
        "        return ReferenceBatch().run(outputs, inputs)\n"
        "dict = dict\n"
    )
    (folder / "others_engine_raising.py").write_text("1 / 0\n")
    (folder / "others_engine_without.py").write_text("import a_module_that_is_nowhere\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.mark.usefixtures("installed")
def test_an_interpreter_of_another_distribution_is_checked_by_its_name() -> None:
    """``check_interpreter`` takes the name of any installed interpreter."""
    report = check_interpreter("mine", jobs=JOBS[:3])
    assert report.passed
    assert "mine" in interpreter_names()


def test_the_interpreters_of_flowalg_are_installed() -> None:
    """The reference, the local engine and Spark have names of their own."""
    assert {"reference", "local", "local-batch", "batch", "streaming"} <= set(interpreter_names())
    engines: list[tuple[str, type[Interpreter]]] = [("reference", Reference), ("local", PolarsStreaming)]
    for name, kind in engines:
        assert isinstance(load_interpreter(name), kind)


@pytest.mark.usefixtures("installed")
def test_a_name_without_an_interpreter_is_an_error() -> None:
    """The error has the names that are installed, the object that is none, what it raised, or the missing module."""
    with pytest.raises(ArgumentError, match=r"one of .*local.*mine.*; got 'yours'"):
        load_interpreter("yours")
    with pytest.raises(
        ArgumentError, match="the interpreter damaged, others_engine:dict must be an entry point"
    ):
        load_interpreter("damaged")
    with pytest.raises(
        ArgumentError, match=r"raising must be .* 'others_engine_raising:Mine'.*: ZeroDivisionError"
    ):
        load_interpreter("raising")
    with pytest.raises(MissingExtraError, match="incomplete needs a_module_that_is_nowhere"):
        load_interpreter("incomplete")


@pytest.mark.usefixtures("installed")
def test_run_takes_the_name_of_an_installed_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``flowalg run --on`` runs it over the records of files, and keeps bad records apart only if it can."""
    (tmp_path / "installed_games.py").write_text(
        "from attrs import frozen\n"
        "from datetime import datetime\n"
        "from flowalg import Source, Sum\n"
        "@frozen\n"
        "class Score:\n"
        "    team: str\n"
        "    points: int\n"
        "    at: datetime\n"
        "SCORES = Source('scores', Score, event_time=lambda score: score.at)\n"
        "TOTALS = SCORES.key_by(lambda score: score.team).map_values(lambda score: score.points)\n"
        "TOTALS = TOTALS.combine_per_key(Sum())\n"
    )
    (tmp_path / "scores.jsonl").write_text(
        '{"team": "red", "points": 3, "at": "2015-01-01T12:00:00Z"}\n'
        '{"team": "red", "points": 4, "at": "2015-01-01T12:01:00Z"}\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    arguments = ["run", "installed_games:TOTALS", "--input", "scores.jsonl", "--output", "panes.jsonl"]
    assert main([*arguments, "--on", "mine"]) == 0
    assert capsys.readouterr().out == "1 panes (1 on time) to panes.jsonl\n"
    assert '"value": 7' in (tmp_path / "panes.jsonl").read_text()
    assert main([*arguments, "--on", "mine", "--dead-letters"]) == 0
    assert "0 bad records" in capsys.readouterr().out
    assert main([*arguments, "--on", "strict"]) == 0
    assert main([*arguments, "--on", "strict", "--dead-letters"]) == 2
    assert "omitted with --on strict" in capsys.readouterr().err
    assert main([*arguments, "--on", "yours"]) == 2
    assert "--on must be the name of an installed interpreter" in capsys.readouterr().err
