"""The cells of Quix Streams, with a broker of Kafka; recorded results."""

from __future__ import annotations

from typing import Final

from tests.peers.claims.cells import Peer, no, partly, yes

QUIX: Final = Peer(
    "quix",
    "Quix Streams",
    ("quixstreams==3.28.1",),
    (3, 13),
    (),
    {
        "composite": partly(
            "current results at each element, or early ones that end the window",
            {"current": [5, 8, 10, 14], "early": [8, 6]},
        ),
        "late": partly(
            "either once and late data is lost, or at each element", {"final": [5], "current": [2, 5, 9]}
        ),
        "modes": partly("current results replace each other", {"accumulating": ["+2", "+5", "+9"]}),
        "chain": no(
            "either no correction, or no result before it",
            {"grace 0": [{"5": 2}, {"5": 2}], "grace 120": [{}, {"5": 1, "9": 1}]},
        ),
        "sessions": no(
            "either no merge, or no session before it",
            {"grace 0": [["+", 0, 20, 2], ["+", 130, 130, 1]], "grace 120": [["+", 0, 130, 4]]},
        ),
        "joins": partly("emitted again, not retracted", [["+", 7, None], ["+", 7, 300]]),
        "drops": yes("to a callback"),
        "percentile": no("a window has no such argument", "TypeError"),
        "idle": yes("a watermark for each key"),
        "timers": partly("state, no timers", {"state": [5, 8], "timers": []}),
        "replay": no("without times of arrival", {"final": [8], "current": [5, 8, 12]}),
        "explanations": no("no such name", []),
        "one_value": yes("a batch is a finite source"),
        "types": no("neither", {"mypy": [], "when built": []}),
        "laws": no("accepted", [5.25, 3.25]),
        "restart": yes("from Kafka to Kafka"),
        "sql": no("", []),
        "connectors": yes(),
        "processes": no("one process, and one for each source; more are started by hand", 1),
        "status": yes(),
    },
    recorded="2026-11-26",
)
