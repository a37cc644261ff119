"""The capabilities of the interpreters on Polars, as the conformance suite verifies them."""

from __future__ import annotations

from typing import Final

from flowalg_columns.checks.plans import Requirements
from flowalg_columns.checks.streams import batch_capabilities, stream_capabilities

from flowalg.analysis.capabilities import Capabilities, Mode
from flowalg.analysis.features import AnyFeature
from flowalg.watermarks import Perfect

BATCH: Final = batch_capabilities("Polars")
"""The capabilities of ``flowalg_polars.batch``."""

REQUIREMENTS: Final = Requirements("Polars")
"""What ``flowalg_polars.batch`` requires of a plan."""

STREAM_REQUIREMENTS: Final = Requirements("Polars", streams=True, lateness=True)
"""What ``flowalg_polars.streaming`` requires of a plan, besides the watermark policies of its sources."""

STREAMING: Final = stream_capabilities("Polars")
"""The capabilities of ``flowalg_polars.streaming``."""


def timeline_capabilities(mode: Mode, *, observed: bool) -> Capabilities:
    """Returns the capabilities over timelines, which are finite; if clocks are ``observed``, none is perfect."""
    missing: dict[AnyFeature, str] = {Perfect: STREAMING.missing[Perfect]} if observed else {}
    return Capabilities(STREAMING.interpreter, missing, mode)
