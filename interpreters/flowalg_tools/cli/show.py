"""``flowalg demo`` and ``flowalg figures``: real delays, and the papers' own data."""

from __future__ import annotations

from pathlib import Path

from flowalg_tools.cli.files import require_extra
from flowalg_tools.cli.terminal import show


def run_demo(folder: Path) -> bool:
    """Runs the flights in all interpreters; returns whether they agree."""
    with require_extra("demo"):
        from flowalg_tools.flights.demo import run_demo as run
    return run(folder)


def run_figures(folder: Path) -> bool:
    """Compares and draws the papers' figures; returns whether all are as published."""
    with require_extra("plot"):
        from flowalg_tools.figures import make_gallery
    wrong = make_gallery(folder, show)
    show(f"Pictures, and a page of them, are in {folder}.")
    return not wrong
