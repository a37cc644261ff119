"""Histories: the instants of one source, over which laws of watermark policies are stated."""

from __future__ import annotations

from typing import TypeAlias

from flowalg.watermarks.history import SourceInstant

History: TypeAlias = tuple[SourceInstant, ...]
"""The instants of a source, in order of processing time."""
