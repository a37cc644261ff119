"""``flowalg demo`` and ``flowalg figures``: what flowalg does on real delays, and on the papers' own data."""

from __future__ import annotations

from pathlib import Path

from flowalg_tools.cli.files import extra
from flowalg_tools.cli.terminal import show


def demonstrated(folder: Path) -> bool:
    """The flights through all three interpreters; tells whether these agree."""
    with extra("demo"):
        import flowalg_spark  # noqa: F401  # so that what is missing is said first

        from flowalg_tools.flights.demo import demonstrated as run
    return run(folder)


def compared(folder: Path) -> bool:
    """The papers' figures, compared and drawn; tells whether all are as published."""
    with extra("plot"):
        from flowalg_tools.figures import make_gallery
    wrong = make_gallery(folder, show)
    show(f"Pictures, and a page of them, are in {folder}.")
    return not wrong


__all__ = ["compared", "demonstrated"]
