"""Runs every figure, says whether it is as published, and draws it: ``flowalg figures``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from flowalg_tools.figures.drawing import draw
from flowalg_tools.figures.facts import read_facts
from flowalg_tools.figures.layout import layout_of
from flowalg_tools.figures.listings import LISTINGS
from flowalg_tools.figures.page import page
from flowalg_tools.figures.performance import differences, perform

FOLDER: Final = Path("build", "figures")


def make_gallery(folder: Path, say: Callable[[str], None]) -> int:
    """Says a line of each figure and a count; gives how many of the figures are not as published.

    The pictures go to the folder, with a page of them all, ``index.md``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = read_facts()
    right = 0
    for name, facts in figures.items():
        listing = LISTINGS[name]
        performance = perform(facts, listing)
        found = differences(facts, performance)
        right += not found
        say(f"{name:25} {'; '.join(map(str, found)) or 'ok'}")
        draw(facts, listing, layout_of(facts, performance), folder / f"{name}.svg")
    (folder / "index.md").write_text(page(LISTINGS.values()), encoding="utf-8")
    say(f"figures: {right} of {len(figures)}")
    return len(figures) - right


__all__ = ["FOLDER", "make_gallery"]
