"""Compares engines on generated cases: ``python -m tests.differential CHECK``; ``make`` has a target for each check.

``chains``, ``step``, ``local`` and ``evolution`` run a number of cases, and ``agree`` runs them for some minutes, in
one process per core. ``streaming`` runs the jobs of the suite as real streaming queries on Spark, ``replay`` replays
streaming runs, and ``readers`` reads files. Each run
generates new cases unless ``--seed`` is given. If any differ, it prints some of the smallest and exits with 1.
"""

from __future__ import annotations

import sys
from typing import Final

from tests.support.commands import run_check

CHECKS: Final = {
    **{
        name: f"tests.differential.checks:{name}"
        for name in ("chains", "step", "local", "evolution", "agree")
    },
    "streaming": "tests.differential.streaming:check",
    "replay": "tests.differential.replays:check",
    "readers": "tests.differential.readers:check",
}

if __name__ == "__main__":
    sys.exit(run_check("tests.differential", CHECKS, sys.argv[1:]))
