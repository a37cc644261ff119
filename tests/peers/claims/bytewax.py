"""The cells of Bytewax; recorded results."""

from __future__ import annotations

from typing import Final

from tests.peers.claims.cells import Peer, no, partly, yes

BYTEWAX: Final = Peer(
    "bytewax",
    "Bytewax",
    ("bytewax==0.21.1",),
    (3, 12),
    (),
    {
        "composite": no("one result for each window", [10]),
        "late": no("one result for each window", {"results": [5], "late": [4, 9]}),
        "modes": no("one result for each window", ["+5"]),
        "chain": no("no correction", [{"5": 2}, {"5": 2}]),
        "sessions": no("no merge with a complete session", [["+", 0, 20, 2], ["+", 130, 190, 1]]),
        "joins": no("no match after the window", [["+", 7, None]]),
        "drops": yes(),
        "percentile": no("a clock has no such argument", "TypeError"),
        "idle": yes("a watermark for each key"),
        "timers": partly("processing time only", ["processing 5"]),
        "replay": no("one result, without its time of arrival", [8]),
        "explanations": no("no such name", []),
        "one_value": yes("a batch is a finite stream"),
        "types": yes(),
        "laws": no("accepted", [5.25, 3.25]),
        "restart": yes("with an epoch for each value, and input that is read again"),
        "sql": no("", []),
        "connectors": no("three", 3),
        "processes": yes(),
        "status": no("0.21.1", "0.21.1"),
    },
    recorded="2026-11-26",
)
