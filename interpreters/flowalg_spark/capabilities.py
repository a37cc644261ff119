"""The capabilities of the Spark interpreters, which ``flowalg_laws.check_interpreter`` verifies in both directions."""

from __future__ import annotations

from typing import Final

from flowalg_columns.checks.plans import Requirements
from flowalg_columns.checks.streams import batch_capabilities, stream_capabilities

from flowalg.analysis.capabilities import Capabilities
from flowalg.watermarks import Perfect

BATCH: Final = batch_capabilities("Spark")
"""The capabilities of ``flowalg_spark.batch``."""

REQUIREMENTS: Final = Requirements("Spark")
"""What ``flowalg_spark.batch`` requires of a plan."""

STREAM_REQUIREMENTS: Final = Requirements("Spark", streams=True, lateness=True)
"""What ``flowalg_spark.streaming`` requires of a plan, besides the watermark policies of its sources."""

STREAMING: Final = stream_capabilities("Spark")
"""The capabilities of ``flowalg_spark.streaming``."""

REPLAYING: Final = Capabilities(
    STREAMING.interpreter,
    {feature: reason for feature, reason in STREAMING.missing.items() if feature is not Perfect},
)
"""The capabilities of Spark streaming over a timeline, whose watermarks are known."""
