"""The claims about the peers agree with each other; ``make peers`` compares them with the programs."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.peers import __main__ as peers_command
from tests.peers import environments
from tests.peers.claims.cells import Peer, Verdict, no, yes
from tests.peers.claims.features import FEATURES
from tests.peers.claims.peers import PEERS
from tests.peers.table import table

NAMES = [feature.name for feature in FEATURES]


def programs_of(peer: Peer) -> list[str]:
    """Returns the features whose programs the scripts of a peer run: the arguments of ``print_cells``."""
    features: list[str] = []
    for script in peer.scripts:
        tree = ast.parse(Path(peers_command.PROGRAMS, peer.name, f"{script}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print_cells":
                features += [ast.unparse(argument) for argument in node.args]
    return features


@pytest.mark.parametrize("peer", PEERS, ids=[peer.name for peer in PEERS])
def test_every_cell_has_a_program(peer: Peer) -> None:
    """A peer has one cell for each feature, and one program for each cell, unless its results are recorded."""
    assert sorted(peer.cells) == sorted(NAMES)
    assert sorted(programs_of(peer)) == ([] if peer.recorded else sorted(NAMES))


@pytest.mark.parametrize("peer", PEERS, ids=[peer.name for peer in PEERS])
def test_only_a_yes_gets_what_the_feature_wants(peer: Peer) -> None:
    """The recorded result of a cell that is not a yes differs from what the feature wants."""
    for feature in FEATURES:
        cell = peer.cells[feature.name]
        assert cell.verdict is Verdict.YES or cell.got != feature.wanted, feature.name


def test_a_program_that_gets_something_else_is_a_difference() -> None:
    """A cell accepts only its own result: a yes what the feature wants, and a no what is recorded."""
    feature = FEATURES[0]
    assert yes().difference(feature, feature.wanted) is None
    assert no("", [1]).difference(feature, [1]) is None
    assert no("", [1]).difference(feature, feature.wanted) is not None
    assert (
        yes().difference(feature, "nothing") == f"the page says {feature.wanted!r}, the program got 'nothing'"
    )


def test_the_table_has_a_row_for_each_feature() -> None:
    """The table has a column for each peer, and shows the verdict and the note of each cell."""
    head, _, *rows = table(PEERS).splitlines()
    assert head.count("|") == len(PEERS) + 2
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [feature.title for feature in FEATURES]
    assert "no: counted only" in next(row for row in rows if "dropped late data" in row)


def test_an_unknown_peer_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the names that are valid."""
    assert peers_command.main(["storm"]) == 1
    assert capsys.readouterr().out.startswith("peers: 'storm' is not one of project, ")


def skipped(peer: Peer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the command with this peer only, whose environment would be in the folder."""
    monkeypatch.setattr(environments, "FOLDER", folder)
    monkeypatch.setattr(peers_command, "PEERS", (peer,))
    assert peers_command.main() == 0


def test_a_peer_without_its_python_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of a peer whose Python this machine lacks has the versions that it needs."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    older = (3, sys.version_info[1] - 1)
    skipped(Peer("storm", "Storm", ("storm==1",), older, (), {}), tmp_path, monkeypatch)
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == f"skipped: Storm: it needs Python 3.11 to 3.{older[1]}"
    assert last == "peers: 0 cells, all as the table says"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_a_peer_that_cannot_be_installed_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line of a peer that pip does not install has the command and pip's reason; it is tried again next time."""
    peer = Peer("storm", "Storm", ("storm is none",), sys.version_info[:2], (), {})
    skipped(peer, tmp_path, monkeypatch)
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("skipped: Storm: pip install storm is none: ERROR: Invalid requirement")
    assert not (tmp_path / "storm" / "ready").exists()
