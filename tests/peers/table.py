"""The table of the page, from the claims."""

from __future__ import annotations

from collections.abc import Sequence

from tests.peers.claims.cells import Cell, Peer, Verdict
from tests.peers.claims.features import FEATURES


def table(peers: Sequence[Peer]) -> str:
    """Returns the table in Markdown: a row for each feature, a column for each peer."""
    lines = [_line(["", *(peer.title for peer in peers)]), "| --- " * (len(peers) + 1) + "|"]
    for feature in FEATURES:
        cells = (peer.cells.get(feature.name) for peer in peers)
        lines.append(_line([feature.title, *("" if cell is None else text(cell) for cell in cells)]))
    return "\n".join(lines)


def text(cell: Cell) -> str:
    """Returns a cell: its verdict, and its note."""
    verdict = f"**{cell.verdict.value}**" if cell.verdict is Verdict.YES else cell.verdict.value
    return f"{verdict}: {cell.note}" if cell.note else verdict


def claims() -> str:
    """Returns what every program is given, and what it must get, as a list in Markdown."""
    return "\n".join(f"- **{feature.title}**: {feature.claim}" for feature in FEATURES)


def versions(peers: Sequence[Peer]) -> str:
    """Returns the packages of the peers, the newest Python and the runs of each, as a table in Markdown."""
    lines = ["| peer | package | newest Python | results |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {peer.title} | `{peer.requirements[0]}` | 3.{peer.python[1]} | {_results(peer)} |"
        for peer in peers
        if peer.requirements
    ]
    return "\n".join(lines)


def _results(peer: Peer) -> str:
    return f"recorded on {peer.recorded}" if peer.recorded else "of each run"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
