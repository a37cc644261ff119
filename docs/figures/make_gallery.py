"""Runs every figure, says whether it is as published, and draws it: ``make figures``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from docs.figures.drawing import draw
from docs.figures.facts import read_facts
from docs.figures.layout import layout_of
from docs.figures.listings import LISTINGS
from docs.figures.page import page
from docs.figures.performance import differences, perform

GALLERY: Final = Path(__file__).parents[1] / "gallery"


def make_gallery(folder: Path = GALLERY, suffix: str = ".svg") -> int:
    """Prints a line for each figure and a count; gives how many of the figures are not as published."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = read_facts()
    right = 0
    for name, facts in figures.items():
        listing = LISTINGS[name]
        performance = perform(facts, listing)
        found = differences(facts, performance)
        right += not found
        print(f"{name:25} {'; '.join(map(str, found)) or 'ok'}")
        draw(facts, listing, layout_of(facts, performance), folder / f"{name}{suffix}")
    (folder / "index.md").write_text(page(LISTINGS.values()), encoding="utf-8")
    print(f"figures: {right} of {len(figures)}")
    return len(figures) - right


if __name__ == "__main__":
    sys.exit(min(make_gallery(), 1))
