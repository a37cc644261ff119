"""What the reference interpreter lacks: nothing."""

from __future__ import annotations

from typing import Final

from flowalg.analysis.capabilities import Capabilities

CAPABILITIES: Final = Capabilities("reference")
"""Everything runs."""

__all__ = ["CAPABILITIES"]
