"""The cells of flowalg: its local engine, and its reference where it has more."""

from __future__ import annotations

from typing import Final

from tests.peers.claims.cells import Peer, no, partly, yes

PROJECT: Final = Peer(
    "project",
    "flowalg",
    (),
    (3, 13),
    ("panes", "clocks", "programs", "restart"),
    {
        "composite": yes(),
        "late": yes(),
        "modes": yes(),
        "chain": yes(),
        "sessions": yes(),
        "joins": yes(),
        "drops": partly(
            "engines combine those of a key, window and micro-batch",
            {"panes": [5], "dropped": ["2 expired of ann"]},
        ),
        "percentile": yes(),
        "idle": yes(),
        "timers": yes(),
        "replay": yes(),
        "explanations": yes("of runs of the reference, recorded ones included"),
        "one_value": yes(),
        "types": yes(),
        "laws": yes(),
        "restart": yes(),
        "sql": no("", []),
        "connectors": no(
            "five, and files; those of Spark on Spark", ["SQLite", "PostgreSQL", "Kafka", "Delta", "Iceberg"]
        ),
        "processes": no("the local engine is one process; Spark's on Spark", 1),
        "status": no("0.1.0", "0.1.0"),
    },
)
