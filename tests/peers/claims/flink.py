"""The cells of Apache Flink: its Python package, with data streams and SQL in one process."""

from __future__ import annotations

from typing import Final

from tests.peers.claims.cells import Peer, no, partly, yes

FLINK: Final = Peer(
    "flink",
    "Flink",
    ("apache-flink==2.3.0",),
    (3, 12),
    ("panes", "clocks", "programs"),
    {
        "composite": yes("a data stream with a trigger of one's own; the timing from state"),
        "late": yes("a data stream"),
        "modes": yes("a data stream; retracting by SQL, with an experimental option"),
        "chain": yes("SQL, with an experimental option"),
        "sessions": partly(
            "a data stream: merged, not retracted; SQL has no late sessions",
            [["+", 0, 80, 2], ["+", 130, 190, 1], ["+", 0, 190, 4]],
        ),
        "joins": yes("SQL, with an experimental option"),
        "drops": yes("the side output of a data stream"),
        "percentile": no("a strategy has no such argument", "TypeError"),
        "idle": yes(),
        "timers": yes("a data stream"),
        "replay": partly("both sums, without their times of arrival", [8, 12]),
        "explanations": partly("the metrics of a job have the watermarks", ["watermark", "held by"]),
        "one_value": yes(),
        "types": partly(
            "when built, in tables", {"mypy": [], "when built": ["misspelt field", "sum of text"]}
        ),
        "laws": no("accepted", [5.25, 3.25]),
        "restart": yes("from a checkpoint whose path one passes on"),
        "sql": yes(),
        "connectors": yes("jars of most of them are separate"),
        "processes": yes(),
        "status": yes(),
    },
    java=True,
)
