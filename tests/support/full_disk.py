"""A small file system, and how to fill it up."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Yields a file system of some size, such as ``1m``; skips the test without the right to mount one."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if which(mount[0]) is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system needs the right to mount it")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Fills a file system up, and makes room again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    try:
        yield
    finally:
        filler.unlink()
