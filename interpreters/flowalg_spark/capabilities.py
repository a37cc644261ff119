"""What the Spark interpreters lack, as data. ``flowalg_laws.check_interpreter`` holds them to it, both ways."""

from __future__ import annotations

from typing import Final

from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Feature

BATCH: Final = Capabilities(
    "Spark batch",
    {Feature.STREAMING: "a batch is one instant: every window has one pane, on time"},
)
"""What ``flowalg_spark.batch`` lacks."""

STREAMING: Final = Capabilities(
    "Spark streaming",
    {
        Feature.UNSET_LATENESS: "it would keep the state of every window; pass FOREVER if that is intended",
        Feature.PERFECT: "a stream does not say what is still to come",
    },
)
"""What ``flowalg_spark.streaming`` lacks."""

REPLAYING: Final = Capabilities(
    STREAMING.interpreter, {one: why for one, why in STREAMING.missing.items() if one is not Feature.PERFECT}
)
"""What Spark streaming lacks over a timeline whose watermarks are known."""

__all__ = ["BATCH", "REPLAYING", "STREAMING"]
