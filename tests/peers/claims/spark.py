"""The cells of Spark Structured Streaming, by hand."""

from __future__ import annotations

from typing import Final

from tests.peers.claims.cells import Peer, no, partly, yes

SPARK: Final = Peer(
    "spark",
    "Structured Streaming",
    ("pyspark==4.3.0", "pandas>=2.2,<3", "pyarrow>=18", "protobuf>=6", "grpcio>=1.76", "grpcio-status>=1.76"),
    (3, 13),
    ("panes", "clocks", "programs"),
    {
        "composite": partly("update mode emits in each micro-batch", [5, 8, 10, 14]),
        "late": partly(
            "either once and late data is lost, or at each change", {"append": [5], "update": [2, 5, 9]}
        ),
        "modes": partly("update mode replaces values", {"accumulating": ["+2", "+5", "+9"]}),
        "chain": no(
            "either no correction, or no result before it",
            {"delay 0": [{"5": 2}, {"5": 2}], "delay 120": [{}, {"5": 1, "9": 1}]},
        ),
        "sessions": no(
            "either no merge, or no session before it",
            {"delay 0": [["+", 0, 80, 2], ["+", 130, 190, 1]], "delay 120": [["+", 0, 190, 4]]},
        ),
        "joins": no(
            "either no match, or no row before it",
            {"delay 0": [["+", 7, None]], "delay 120": [["+", 7, 300]]},
        ),
        "drops": no("counted only", {"panes": [5], "counted": 2}),
        "percentile": no("a delay is an interval", "AnalysisException: [CANNOT_PARSE_INTERVAL"),
        "idle": partly("either waits for it, or for no slow source", {"min": [], "max": [6]}),
        "timers": partly(
            "one domain in a query",
            {"EventTime": ["event 8"], "ProcessingTime": ["processing 5"], "both": True},
        ),
        "replay": no("sums without their times of arrival", [12]),
        "explanations": partly("its progress has the watermark", ["watermark"]),
        "one_value": yes(),
        "types": partly("misspelt fields, when built", {"mypy": [], "when built": ["misspelt field"]}),
        "laws": no("accepted", [5.25, 3.25]),
        "restart": yes("with a sink that is idempotent itself"),
        "sql": yes(),
        "connectors": yes(),
        "processes": yes(),
        "status": yes(),
    },
    java=True,
)
