"""The cells of Pathway; recorded results."""

from __future__ import annotations

from typing import Final

from tests.peers.claims.cells import Json, Peer, no, partly, yes

SESSIONS: Final[Json] = [
    ["+", 0, 0, 1],
    ["-", 0, 0, 1],
    ["+", 0, 20, 2],
    ["+", 130, 130, 1],
    ["-", 130, 130, 1],
    ["-", 0, 20, 2],
    ["+", 0, 130, 4],
]
"""Changes from the first to the last element of a session, without the gap."""

PATHWAY: Final = Peer(
    "pathway",
    "Pathway",
    ("pathway[sql]==0.33.0",),
    (3, 13),
    (),
    {
        "composite": partly("a delay, or each change", {"delay": [10, 14], "no delay": [5, 8, 10, 14]}),
        "late": yes("with a delay and a cutoff"),
        "modes": partly("retracting only", {"retracting": ["+5", "-5", "+9"]}),
        "chain": yes(),
        "sessions": partly("retracted, but emitted at each change, not when complete", SESSIONS),
        "joins": yes("at once, not when the minute is complete"),
        "drops": no("they are gone", {"panes": [5], "dropped": []}),
        "percentile": no("no such behavior", "TypeError"),
        "idle": yes("the greatest event time of all counts"),
        "timers": no("no such name", []),
        "replay": yes("of tables for debugging"),
        "explanations": no("no such name", []),
        "one_value": yes(),
        "types": partly("both, when built", {"mypy": [], "when built": ["misspelt field", "sum of text"]}),
        "laws": no("accepted", [5.25, 3.25]),
        "restart": yes(),
        "sql": yes("without windows, which are columns"),
        "connectors": yes(),
        "processes": yes(),
        "status": no("0.33.0", "0.33.0"),
    },
    recorded="2026-11-26",
)
