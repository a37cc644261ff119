"""What laws of watermarks speak of: the moments of one source."""

from __future__ import annotations

from typing import TypeAlias

from flowalg.watermarks import SourceInstant

History: TypeAlias = tuple[SourceInstant, ...]
"""The instants of a source, in order of processing time."""

__all__ = ["History"]
