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
from flowalg_tools.figures.drawing import draw
from flowalg_tools.figures.facts import Facts, PaneFact, read_facts
from flowalg_tools.figures.layout import layout_of
from flowalg_tools.figures.listings import LISTINGS
from flowalg_tools.figures.page import page
from flowalg_tools.figures.performance import Performance, differences, perform
from flowalg_tools.figures.plane import HEIGHT, WIDTH, Box

from flowalg import Timing

FIGURES = read_facts()
RETRACTING = "streaming102-17"
GALLERY = Path(__file__).parents[2] / "docs" / "gallery"


@cache
def performance(name: str) -> Performance:
    """What a figure's listing does."""
    return perform(FIGURES[name], LISTINGS[name])


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_as_published(name: str) -> None:
    """Every pane, drop and closing of the figure is what the papers show: value, window, time, timing and order."""
    assert differences(FIGURES[name], performance(name)) == ()


def test_there_are_twenty_figures_and_a_listing_for_each() -> None:
    """No figure goes unchecked for want of a listing, and no listing is of a figure that is not there."""
    assert list(LISTINGS) == list(FIGURES)
    assert len(FIGURES) == 20


def _with_first(facts: Facts, pane: PaneFact) -> Facts:
    return evolve(facts, panes=(pane, *facts.panes[1:]))


WRONG: dict[str, Callable[[Facts], Facts]] = {
    "value": lambda facts: _with_first(facts, evolve(facts.panes[0], value=6)),
    "sign": lambda facts: _with_first(facts, evolve(facts.panes[0], value=-5, retraction=True)),
    "window": lambda facts: _with_first(facts, evolve(facts.panes[0], window=facts.panes[-1].window)),
    "processing time": lambda facts: _with_first(
        facts, evolve(facts.panes[0], processing_time=facts.panes[1].processing_time)
    ),
    "timing": lambda facts: _with_first(facts, evolve(facts.panes[0], timing=Timing.LATE)),
    "a pane too few": lambda facts: evolve(facts, panes=facts.panes[:-1]),
    "a pane too many": lambda facts: evolve(facts, panes=(*facts.panes, facts.panes[-1])),
    "order in time": lambda facts: evolve(facts, panes=(facts.panes[1], facts.panes[0], *facts.panes[2:])),
    "dropped": lambda facts: evolve(facts, dropped=()),
    "closed": lambda facts: evolve(facts, closed=facts.closed[1:]),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_expectation_is_noticed(mistake: str) -> None:
    """The comparison sees each kind of thing that a figure says: a wrong one is a difference."""
    name = "streaming102-8"
    assert differences(WRONG[mistake](FIGURES[name]), performance(name))


def test_a_retraction_after_its_replacement_is_noticed() -> None:
    """Panes of one instant may change places, but not a retraction with the pane that takes its place."""
    seen = performance(RETRACTING)
    panes = list(seen.panes)
    taken_back = next(number for number, pane in enumerate(panes) if pane.retraction)
    until = next(number for number in range(taken_back, len(panes)) if not panes[number].retraction)
    panes[taken_back], panes[until] = panes[until], panes[taken_back]
    assert differences(FIGURES[RETRACTING], evolve(seen, panes=tuple(panes)))


def test_panes_of_one_time_may_come_in_any_order_of_windows() -> None:
    """The figures do not say in which order different windows come out at one time, so neither order is wrong."""
    facts, seen = FIGURES[RETRACTING], performance(RETRACTING)
    first = next(number for number, pane in enumerate(facts.panes) if pane.retraction)
    panes = list(facts.panes)
    assert panes[first + 1].retraction
    panes[first : first + 2] = reversed(panes[first : first + 2])
    assert differences(evolve(facts, panes=tuple(panes)), seen) == ()


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_in_a_picture_overlaps(name: str) -> None:
    """Labels and data keep clear of each other, and labels stay inside the picture."""
    layout = layout_of(FIGURES[name], performance(name))
    labels = [one.box for one in layout.labels]
    things = labels + [one.box for one in layout.dots]
    assert [pair for pair in combinations(things, 2) if pair[0].overlap(pair[1]) > 0] == []
    inside = Box(0, 0, WIDTH, HEIGHT)
    areas = [(one.right - one.left) * (one.top - one.bottom) for one in labels]
    assert [inside.overlap(one) for one in labels] == pytest.approx(areas)


def test_a_picture_is_the_same_file_every_time(tmp_path: Path) -> None:
    """Drawing twice gives the same bytes, so a gallery made anew differs only where a figure does."""
    facts, listing = FIGURES[RETRACTING], LISTINGS[RETRACTING]
    for path in (tmp_path / "one.svg", tmp_path / "two.svg"):
        draw(facts, listing, layout_of(facts, performance(RETRACTING)), path)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_the_gallery_has_every_figure() -> None:
    """The committed page is the one that the listings give, and the pictures are those of the figures, no others."""
    assert (GALLERY / "index.md").read_text(encoding="utf-8") == page(LISTINGS.values())
    assert {path.stem for path in GALLERY.glob("*.svg")} == set(FIGURES)
