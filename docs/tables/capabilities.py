"""``docs/capabilities.md``: what each interpreter can run, from what the interpreters publish."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import flowalg_reference
from flowalg_spark import batch, streaming

from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Area, Feature

PATH: Final = Path(__file__).parents[1] / "capabilities.md"
INTERPRETERS: Final = (flowalg_reference.CAPABILITIES, batch.CAPABILITIES, streaming.CAPABILITIES)

HEAD: Final = """\
# What runs where

Made by `make docs` from what the interpreters publish as data (`flowalg_reference.CAPABILITIES`,
`flowalg_spark.batch.CAPABILITIES`, `flowalg_spark.streaming.CAPABILITIES`). `flowalg_laws.check_interpreter` holds each
of them to it: what is missing must be refused when a pipeline is compiled, and everything else must give what the
reference gives. A dash stands for what a batch has no use for: each of its windows has one pane, on time.
"""


def cell(able: Capabilities, feature: Feature, notes: dict[str, int]) -> str:
    """Yes, no with the number of the reason, or a dash."""
    if not able.streams and not feature.in_batch and feature is not Feature.STREAMING:
        return "–"
    reason = able.missing.get(feature)
    return "yes" if reason is None else f"no [{notes.setdefault(reason, len(notes) + 1)}]"


def page() -> str:
    """The page."""
    notes: dict[str, int] = {}
    lines = [HEAD]
    for area in Area:
        lines += [
            f"| {' | '.join((area.title, *(one.interpreter for one in INTERPRETERS)))} |",
            "| --- " * (len(INTERPRETERS) + 1) + "|",
        ]
        for feature in Feature:
            if feature.area is area:
                cells = (cell(one, feature, notes) for one in INTERPRETERS)
                lines.append(f"| {' | '.join((feature.description, *cells))} |")
        lines.append("")
    lines += ["Reasons:", "", *(f"{number}. {reason}" for reason, number in notes.items())]
    return "\n".join(lines) + "\n"


__all__ = ["PATH", "page"]
