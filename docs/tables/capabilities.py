"""``docs/capabilities.md``: the features of each interpreter, from the capabilities that the interpreters export."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import flowalg_polars
import flowalg_reference
import flowalg_spark

from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import AREA_OF, AnyFeature, Area, Feature, describe_feature

PATH: Final = Path(__file__).parents[1] / "capabilities.md"
INTERPRETERS: Final = (
    flowalg_reference.CAPABILITIES,
    flowalg_polars.batch.CAPABILITIES,
    flowalg_polars.streaming.CAPABILITIES,
    flowalg_spark.batch.CAPABILITIES,
    flowalg_spark.streaming.CAPABILITIES,
)

HEAD: Final = """\
# What runs where

`make docs` generates this page from the capabilities that the interpreters export as data
(`flowalg_reference.CAPABILITIES`, and `CAPABILITIES` in `flowalg_polars.batch`, `flowalg_polars.streaming`,
`flowalg_spark.batch` and `flowalg_spark.streaming`).
`flowalg_laws.check_interpreter` tests both directions: an interpreter rejects a pipeline with a missing feature at
compilation, and runs any other pipeline with the results of the reference. A dash marks a feature that does not apply
to a batch, in which each window has one on-time pane.
"""


def cell(capabilities: Capabilities, feature: AnyFeature, notes: dict[str, int]) -> str:
    """Returns yes, no with the number of the reason, or a dash."""
    if not capabilities.applies(feature) and feature is not Feature.STREAMING:
        return "–"
    reason = capabilities.missing.get(feature)
    return "yes" if reason is None else f"no [{notes.setdefault(reason, len(notes) + 1)}]"


def page() -> str:
    """Returns the whole page."""
    notes: dict[str, int] = {}
    lines = [HEAD]
    for area in Area:
        lines += [
            f"| {' | '.join((area.title, *(capabilities.interpreter for capabilities in INTERPRETERS)))} |",
            "| --- " * (len(INTERPRETERS) + 1) + "|",
        ]
        for feature, subject in AREA_OF.items():
            if subject is area:
                cells = (cell(capabilities, feature, notes) for capabilities in INTERPRETERS)
                lines.append(f"| {' | '.join((describe_feature(feature), *cells))} |")
        lines.append("")
    lines += ["Reasons:", "", *(f"{number}. {reason}" for reason, number in notes.items())]
    return "\n".join(lines) + "\n"
