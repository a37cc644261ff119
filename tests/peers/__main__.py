"""Runs the programs of all peers, and compares what they get with the table: ``make peers``.

It makes an environment for each peer, runs its scripts, and prints the table. A peer that cannot be installed is
skipped, with the reason. The last line is ``peers: N cells, all as the table says``, or ``peers: N of M cells differ``
with exit code 1. ``python -m tests.peers [PEER ...]`` runs only these.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.components.processes import kill_tree
from tests.peers.claims.cells import Json, Peer
from tests.peers.claims.features import FEATURES
from tests.peers.claims.peers import PEERS
from tests.peers.environments import ROOT, MissingPeer, python_of
from tests.peers.table import table

PROGRAMS: Final = Path(__file__).parent / "programs"
SECONDS: Final = 900
"""The longest time of a script."""


def main(names: Sequence[str] = ()) -> int:
    """Runs all programs and prints a summary."""
    runnable = [peer for peer in PEERS if not peer.recorded]
    unknown = [name for name in names if name not in {peer.name for peer in runnable}]
    if unknown:
        print(f"peers: {unknown[0]!r} is not one of {', '.join(peer.name for peer in runnable)}")
        return 1
    shown, problems, count = [], [], 0
    for peer in runnable:
        if names and peer.name not in names:
            continue
        try:
            python = python_of(peer)
        except MissingPeer as error:
            print(f"skipped: {peer.title}: {error}", flush=True)
            continue
        by_feature = dict(results(peer, python))
        print(f"{peer.title}: {len(by_feature)} results", flush=True)
        shown.append(peer)
        for feature in FEATURES:
            cell = peer.cells.get(feature.name)
            if cell is not None:
                count += 1
                difference = cell.difference(feature, by_feature.get(feature.name, "nothing"))
                problems += [] if difference is None else [f"{peer.title}, {feature.title}: {difference}"]
    print(table(shown))
    for problem in problems:
        print(f"  {problem}")
    if problems:
        print(f"peers: {len(problems)} of {count} cells differ")
        return 1
    print(f"peers: {count} cells, all as the table says")
    return 0


def results(peer: Peer, python: Path) -> Iterator[tuple[str, Json]]:
    """Runs the scripts of a peer, and yields the features with what their programs got."""
    # With the variables of the project, a peer would start another Spark, or workers with another Python.
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))
    }
    paths = [PROGRAMS / "shared", *([] if peer.requirements else [ROOT / room for room in ROOMS])]
    variables["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    for script in peer.scripts:
        yield from results_of(PROGRAMS / peer.name / f"{script}.py", python, variables)


def results_of(script: Path, python: Path, variables: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    """Runs a script, and yields the features with what its programs got."""
    process = subprocess.Popen(
        [str(python), str(script)],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        kill_tree(process)
        text = process.communicate()[0]
    for line in text.decode().splitlines():
        row = json.loads(line)
        yield row["feature"], row["got"]


ROOMS: Final = (".", "laws", "interpreters")
"""The folders of the project's packages."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
