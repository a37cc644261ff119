"""What the reference interpreter lacks: nothing, and as a batch what no batch has."""

from __future__ import annotations

from typing import Final

from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Feature

CAPABILITIES: Final = Capabilities("reference")
"""Everything runs."""

BATCH_CAPABILITIES: Final = Capabilities(
    "reference batch", {Feature.STREAMING: "a batch is one instant: every window has one pane, on time"}
)
"""Everything runs that a batch has a use for."""
