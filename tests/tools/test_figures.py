"""The papers' figures: what was published of the same model, by others, for the same ten data.

They are the one test whose expectations this project did not write, so they catch a misreading of the semantics that
the reference, the laws and the engines would all share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from attrs import evolve
from flowalg_tools.figures.drawing import draw, layout_of_figure
from flowalg_tools.figures.figure_run import FigureRun, differences, run_figure
from flowalg_tools.figures.listings import LISTINGS
from flowalg_tools.figures.page import page
from flowalg_tools.figures.published import FigurePane, PublishedFigure, read_figures

from flowalg import Timing

FIGURES = read_figures()
RETRACTING = "streaming102-17"
GALLERY = Path(__file__).parents[2] / "docs" / "gallery"


@cache
def figure_run(name: str) -> FigureRun:
    """What a figure's listing does."""
    return run_figure(FIGURES[name], LISTINGS[name])


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_as_published(name: str) -> None:
    """Every pane, drop and closing of the figure is what the papers show: value, window, time, timing and order."""
    assert differences(FIGURES[name], figure_run(name)) == ()


def test_there_are_twenty_figures_and_a_listing_for_each() -> None:
    """No figure goes unchecked for want of a listing, and no listing is of a figure that is not there."""
    assert list(LISTINGS) == list(FIGURES)
    assert len(FIGURES) == 20


def _with_first(figure: PublishedFigure, pane: FigurePane) -> PublishedFigure:
    return evolve(figure, panes=(pane, *figure.panes[1:]))


WRONG: dict[str, Callable[[PublishedFigure], PublishedFigure]] = {
    "value": lambda figure: _with_first(figure, evolve(figure.panes[0], value=6)),
    "sign": lambda figure: _with_first(figure, evolve(figure.panes[0], value=-5, retraction=True)),
    "window": lambda figure: _with_first(figure, evolve(figure.panes[0], window=figure.panes[-1].window)),
    "processing time": lambda figure: _with_first(
        figure, evolve(figure.panes[0], processing_time=figure.panes[1].processing_time)
    ),
    "timing": lambda figure: _with_first(figure, evolve(figure.panes[0], timing=Timing.LATE)),
    "a pane too few": lambda figure: evolve(figure, panes=figure.panes[:-1]),
    "a pane too many": lambda figure: evolve(figure, panes=(*figure.panes, figure.panes[-1])),
    "order in time": lambda figure: evolve(
        figure, panes=(figure.panes[1], figure.panes[0], *figure.panes[2:])
    ),
    "dropped": lambda figure: evolve(figure, dropped=()),
    "closed": lambda figure: evolve(figure, closed=figure.closed[1:]),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_expectation_is_noticed(mistake: str) -> None:
    """The comparison sees each kind of thing that a figure says: a wrong one is a difference."""
    name = "streaming102-8"
    assert differences(WRONG[mistake](FIGURES[name]), figure_run(name))


def test_a_retraction_after_its_replacement_is_noticed() -> None:
    """Panes of one instant may change places, but not a retraction with the pane that takes its place."""
    seen = figure_run(RETRACTING)
    panes = list(seen.panes)
    taken_back = next(number for number, pane in enumerate(panes) if pane.retraction)
    until = next(number for number in range(taken_back, len(panes)) if not panes[number].retraction)
    panes[taken_back], panes[until] = panes[until], panes[taken_back]
    assert differences(FIGURES[RETRACTING], evolve(seen, panes=tuple(panes)))


def test_panes_of_one_time_may_come_in_any_order_of_windows() -> None:
    """The figures do not say in which order different windows come out at one time, so neither order is wrong."""
    figure, seen = FIGURES[RETRACTING], figure_run(RETRACTING)
    first = next(number for number, pane in enumerate(figure.panes) if pane.retraction)
    panes = list(figure.panes)
    assert panes[first + 1].retraction
    panes[first : first + 2] = reversed(panes[first : first + 2])
    assert differences(evolve(figure, panes=tuple(panes)), seen) == ()


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_in_a_picture_overlaps(name: str) -> None:
    """Labels and data do not overlap, every pane has a label, and every datum shows its value."""
    (panel,) = layout_of_figure(FIGURES[name], LISTINGS[name], figure_run(name)).panels
    labels = [pane.label.box for pane in panel.panes if pane.label is not None]
    assert len(labels) == len(FIGURES[name].panes)
    assert sorted(dot.value for dot in panel.dots) == sorted(
        str(arrival.datum.value) for arrival in FIGURES[name].arrivals
    )
    boxes = labels + [dot.box for dot in panel.dots]
    assert [pair for pair in combinations(boxes, 2) if pair[0].intersects(pair[1])] == []


def test_a_picture_is_the_same_file_every_time(tmp_path: Path) -> None:
    """Drawing twice gives the same bytes, so a gallery made anew differs only where a figure does."""
    for path in (tmp_path / "one.svg", tmp_path / "two.svg"):
        draw(FIGURES[RETRACTING], LISTINGS[RETRACTING], figure_run(RETRACTING), path)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_the_gallery_has_every_figure() -> None:
    """The committed page is the one that the listings give, and the pictures are those of the figures, no others."""
    assert (GALLERY / "index.md").read_text(encoding="utf-8") == page(LISTINGS.values())
    assert {path.stem for path in GALLERY.glob("*.svg")} == set(FIGURES)
