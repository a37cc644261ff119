"""The capabilities of the Spark interpreters, which ``flowalg_laws.check_interpreter`` verifies in both directions."""

from __future__ import annotations

from typing import Final

from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Feature

BATCH: Final = Capabilities(
    "Spark batch", {Feature.STREAMING: "a batch is one instant: every window has one pane, on time"}
)
"""The capabilities of ``flowalg_spark.batch``."""

STREAMING: Final = Capabilities(
    "Spark streaming",
    {
        Feature.UNSET_LATENESS: "it would keep the state of every window; pass FOREVER if that is intended",
        Feature.PERFECT: "a stream does not know its future elements, unless its source publishes a watermark",
    },
)
"""The capabilities of ``flowalg_spark.streaming``."""

REPLAYING: Final = Capabilities(
    STREAMING.interpreter,
    {feature: reason for feature, reason in STREAMING.missing.items() if feature is not Feature.PERFECT},
)
"""The capabilities of Spark streaming over a timeline, whose watermarks are known."""
