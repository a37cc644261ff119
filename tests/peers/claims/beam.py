"""The cells of Apache Beam: its Python SDK, on the DirectRunner."""

from __future__ import annotations

from typing import Final

from tests.peers.claims.cells import Json, Peer, no, partly, yes

PERCENTILE: Final[Json] = (
    "TypeError: AfterWatermark.__init__() got an unexpected keyword argument 'percentile'"
)

BEAM: Final = Peer(
    "beam",
    "Beam",
    ("apache-beam==2.77.0",),
    (3, 13),
    ("panes", "clocks", "programs"),
    {
        "composite": yes(),
        "late": yes(),
        "modes": partly("no retractions", {"accumulating": ["+5", "+9"], "discarding": ["+5", "+4"]}),
        "chain": no("the correction is counted in addition", [{"5": 2}, {"5": 2, "9": 1}]),
        "sessions": partly("merged, not retracted", [["+", 0, 80, 2], ["+", 130, 190, 1], ["+", 0, 190, 4]]),
        "joins": partly("emitted again, not retracted", [["+", 7, None], ["+", 7, 300]]),
        "drops": no("they are gone", {"panes": [5], "dropped": []}),
        "percentile": no("no such trigger", PERCENTILE),
        "idle": partly("only if the source itself advances its watermark", ["an hour passes", 6]),
        "timers": yes(),
        "replay": partly("a TestStream, with watermarks by hand, and no times", [8, 12, 7]),
        "explanations": no("no such name of a result", []),
        "one_value": yes(),
        "types": partly("when built, if a step has type hints", {"mypy": [], "when built": ["sum of text"]}),
        "laws": no("accepted", [5.25, 3.25]),
        "restart": no("this runner has no checkpoint; others have", [5, 8, 5, 8, 15, 17]),
        "sql": no("by a service in Java", "a service in Java"),
        "connectors": yes(),
        "processes": yes(),
        "status": yes(),
    },
)
