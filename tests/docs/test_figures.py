"""The papers' figures: published results of the same model, for the same ten data.

The expectations were not written by this project, so these tests detect a misunderstanding of the semantics that the
reference, the laws and the engines would share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations, product
from pathlib import Path

import pytest
from attrs import evolve
from figures import make_gallery, millwheel, streaming
from figures.drawing import draw, layout_of_figure
from figures.figure_run import FigureRun, differences, run_figure
from figures.listings import LISTINGS
from figures.page import page
from figures.published import FigurePane, PublishedFigure, read_figures
from flowalg_tools.pictures.boxes import Box, text_width
from flowalg_tools.pictures.layout import LABEL_SIZE

from flowalg.runs import Timing

FIGURES = read_figures()
RETRACTING = "streaming102-17"
GALLERY = Path(__file__).parents[2] / "docs" / "gallery"


@cache
def figure_run(name: str) -> FigureRun:
    """Runs the listing of a figure."""
    return run_figure(FIGURES[name], LISTINGS[name])


@pytest.mark.long
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_as_published_as_a_query_of_the_local_engine(name: str, tmp_path: Path) -> None:
    """A real query over files, one for each instant, has every pane, drop and closing of the papers."""
    figure_run = streaming.run_figure(streaming.on_local, FIGURES[name], LISTINGS[name], tmp_path)
    assert differences(FIGURES[name], figure_run) == ()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_as_published(name: str) -> None:
    """Every pane, drop and closing equals that of the papers: value, window, time, timing and order."""
    assert differences(FIGURES[name], figure_run(name)) == ()


def test_there_are_29_figures_and_a_listing_for_each() -> None:
    """Figures and listings have the same names."""
    assert list(LISTINGS) == list(FIGURES)
    assert len(FIGURES) == 29


def _with_first(figure: PublishedFigure, pane: FigurePane) -> PublishedFigure:
    return evolve(figure, panes=(pane, *figure.panes[1:]))


MISTAKES: dict[str, Callable[[PublishedFigure], PublishedFigure]] = {
    "value": lambda figure: _with_first(figure, evolve(figure.panes[0], value=6)),
    "sign": lambda figure: _with_first(figure, evolve(figure.panes[0], value=-5, retraction=True)),
    "window": lambda figure: _with_first(figure, evolve(figure.panes[0], window=figure.panes[-1].window)),
    "processing time": lambda figure: _with_first(
        figure, evolve(figure.panes[0], processing_time=figure.panes[1].processing_time)
    ),
    "timing": lambda figure: _with_first(figure, evolve(figure.panes[0], timing=Timing.LATE)),
    "a missing pane": lambda figure: evolve(figure, panes=figure.panes[:-1]),
    "an extra pane": lambda figure: evolve(figure, panes=(*figure.panes, figure.panes[-1])),
    "order in time": lambda figure: evolve(
        figure, panes=(figure.panes[1], figure.panes[0], *figure.panes[2:])
    ),
    "dropped": lambda figure: evolve(figure, dropped=()),
    "closed": lambda figure: evolve(figure, closed=figure.closed[1:]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_expectation_is_a_difference(mistake: str) -> None:
    """A mistake in any field of a figure is reported as a difference."""
    name = "streaming102-8"
    assert differences(MISTAKES[mistake](FIGURES[name]), figure_run(name))


def test_a_retraction_after_its_replacement_is_a_difference() -> None:
    """Panes of an instant may be in any order, but a retraction precedes the pane that replaces its value."""
    actual = figure_run(RETRACTING)
    panes = list(actual.panes)
    retraction = next(number for number, pane in enumerate(panes) if pane.retraction)
    replacement = next(number for number in range(retraction, len(panes)) if not panes[number].retraction)
    panes[retraction], panes[replacement] = panes[replacement], panes[retraction]
    assert differences(FIGURES[RETRACTING], evolve(actual, panes=tuple(panes)))


def test_windows_that_fire_together_may_be_in_any_order() -> None:
    """The figures do not define the order of different windows at the same time, so both orders are equal."""
    figure, actual = FIGURES[RETRACTING], figure_run(RETRACTING)
    first = next(number for number, pane in enumerate(figure.panes) if pane.retraction)
    panes = list(figure.panes)
    assert panes[first + 1].retraction
    panes[first : first + 2] = reversed(panes[first : first + 2])
    assert differences(evolve(figure, panes=tuple(panes)), actual) == ()


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_in_a_picture_overlaps(name: str) -> None:
    """Every pane has a label that overlaps nothing, and every datum a value that no other datum covers.

    The circles of two data may overlap: in Figure 15, right, two are six seconds apart in both times.
    """
    (panel,) = layout_of_figure(FIGURES[name], LISTINGS[name], figure_run(name)).panels
    labels = [pane.label.box for pane in panel.panes if pane.label is not None]
    assert len(labels) == len(FIGURES[name].panes)
    assert sorted(dot.value for dot in panel.dots) == sorted(
        str(arrival.datum.value) for arrival in FIGURES[name].arrivals
    )
    pairs = [*combinations(labels, 2), *product(labels, [dot.box for dot in panel.dots])]
    values = [Box.around(dot.x, dot.y, text_width(dot.value, LABEL_SIZE), LABEL_SIZE) for dot in panel.dots]
    pairs += combinations(values, 2)
    assert [pair for pair in pairs if pair[0].intersects(pair[1])] == []


def test_equal_figures_are_equal_files(tmp_path: Path) -> None:
    """A figure that is drawn twice has the same bytes, so a new gallery differs only where a figure differs."""
    for path in (tmp_path / "first.svg", tmp_path / "second.svg"):
        draw(FIGURES[RETRACTING], LISTINGS[RETRACTING], figure_run(RETRACTING), path)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()


def test_the_gallery_has_every_figure() -> None:
    """The committed page equals that of the listings, and each picture is that of a figure."""
    assert (GALLERY / "index.md").read_text(encoding="utf-8") == page(LISTINGS.values())
    assert {path.stem for path in GALLERY.glob("*.svg")} == {*FIGURES, millwheel.NAME}


@pytest.mark.long
def test_the_gallery_has_a_picture_of_each_figure(tmp_path: Path) -> None:
    """``make figures`` writes a picture of each figure, and the page of ``docs/gallery``."""
    printed: list[str] = []
    assert make_gallery(tmp_path, printed.append) == 0
    assert printed[-1] == "figures: 30 of 30"
    assert len(list(tmp_path.glob("*.svg"))) == 30
    assert (tmp_path / "index.md").read_text(encoding="utf-8") == (GALLERY / "index.md").read_text(
        encoding="utf-8"
    )
