"""The claims about the peers agree with each other; ``make peers`` compares them with the programs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from flowalg_development.peers import __main__ as peers_command
from flowalg_development.peers.claims.cells import Peer, Verdict, no, yes
from flowalg_development.peers.claims.features import FEATURES
from flowalg_development.peers.claims.peers import PEERS
from flowalg_development.peers.table import table

NAMES = [feature.name for feature in FEATURES]


def programs_of(peer: Peer) -> list[str]:
    """Returns the features whose programs the scripts of a peer run: the arguments of ``print_cells``."""
    found: list[str] = []
    for script in peer.scripts:
        tree = ast.parse(Path(peers_command.PROGRAMS, peer.name, f"{script}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print_cells":
                found += [ast.unparse(argument) for argument in node.args]
    return found


@pytest.mark.parametrize("peer", PEERS, ids=[peer.name for peer in PEERS])
def test_every_cell_has_a_program(peer: Peer) -> None:
    """A peer has one cell for each feature, and one program for each cell."""
    assert sorted(peer.cells) == sorted(NAMES)
    assert sorted(programs_of(peer)) == sorted(NAMES)


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
