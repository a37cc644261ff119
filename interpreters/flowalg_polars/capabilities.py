"""The capabilities of the interpreters on Polars, as the conformance suite verifies them."""

from __future__ import annotations

from typing import Final

from flowalg.analysis.capabilities import Capabilities, Mode
from flowalg.analysis.features import Feature

BATCH: Final = Capabilities(
    "Polars batch",
    {Feature.STREAMING: "a batch is one instant: every window has one pane, on time"},
)
"""The capabilities of ``flowalg_polars.batch``."""

STREAMING: Final = Capabilities(
    "Polars streaming",
    {
        Feature.UNSET_LATENESS: "it would keep the state of every window; pass FOREVER if that is intended",
        Feature.PERFECT: "a stream does not know its future elements, unless its source publishes a watermark",
    },
)
"""The capabilities of ``flowalg_polars.streaming``."""


def timeline_capabilities(mode: Mode, *, observed: bool) -> Capabilities:
    """Returns the capabilities over timelines, which are finite; if clocks are ``observed``, none is perfect."""
    missing = {Feature.PERFECT: STREAMING.missing[Feature.PERFECT]} if observed else {}
    return Capabilities(STREAMING.interpreter, missing, mode)
