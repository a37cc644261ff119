"""Paths for Spark's readers, which take every path for a pattern."""

from __future__ import annotations

import re
from typing import Final

_GLOB: Final = re.compile(r"[\\*?\[\]{}]")


def pattern_of(path: str) -> str:
    """Returns the pattern that matches a path, and nothing else."""
    return _GLOB.sub(lambda match: f"\\{match.group()}", path)
