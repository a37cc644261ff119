"""A folder in memory, for files that need not outlive the machine: a test or a broker waits for no disk there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

_MEMORY: Final = Path("/dev/shm")
_LEAST: Final = 4 * 2**30


def scratch_folder() -> Path | None:
    """Returns a folder in memory that has 4 GiB free and can hold programs; ``None`` without one."""
    if not _MEMORY.is_dir() or os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:
        return None
    return _MEMORY if shutil.disk_usage(_MEMORY).free >= _LEAST else None
