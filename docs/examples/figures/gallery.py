"""Runs, compares and draws every figure: ``make figures``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from figures import millwheel
from figures.drawing import draw
from figures.figure_run import differences, run_figure
from figures.listings import LISTINGS
from figures.millwheel import draw_zeitgeist
from figures.page import page
from figures.published import read_figures

FOLDER: Final = Path("build", "figures")


def make_gallery(folder: Path, print_line: Callable[[str], None]) -> int:
    """Reports the result of each figure, and returns the number of figures that differ from the published ones.

    Writes the pictures to the folder, with a page of all figures, ``index.md``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = read_figures()
    right, width = 0, max(map(len, (*figures, millwheel.NAME)))
    for name, figure in figures.items():
        listing = LISTINGS[name]
        figure_run = run_figure(figure, listing)
        mismatches = differences(figure, figure_run)
        right += not mismatches
        print_line(f"{name:{width}} {'; '.join(map(str, mismatches)) or 'ok'}")
        draw(figure, listing, figure_run, folder / f"{name}.svg")
    unlike = list(draw_zeitgeist(folder / f"{millwheel.NAME}.svg"))
    right += not unlike
    print_line(f"{millwheel.NAME:{width}} {'; '.join(unlike) or 'ok'}")
    (folder / "index.md").write_text(page(LISTINGS.values()), encoding="utf-8")
    print_line(f"figures: {right} of {len(figures) + 1}")
    return len(figures) + 1 - right
