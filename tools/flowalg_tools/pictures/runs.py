"""The diagram of a run: event time across, processing time up, with its elements, panes and watermark."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, unique
from pathlib import Path
from typing import Final

from flowalg.data.errors import ArgumentError
from flowalg.runs.run import Run
from flowalg_tools.pictures.drawing import figure_of
from flowalg_tools.pictures.files import rendered, save, target_of
from flowalg_tools.pictures.layout import MOST_KEYS, Layout, layout_of
from flowalg_tools.pictures.run_facts import Facts, facts_of


@unique
class Keys(Enum):
    """Which keys a picture is of, where none is named."""

    MOST_ELEMENTS = "up to four, those with most elements first"


MOST_ELEMENTS: Final = Keys.MOST_ELEMENTS


def draw_run(
    run: Run[object], path: Path | str, *, key: object = MOST_ELEMENTS, title: str | None = None
) -> None:
    """Write the diagram of a run in both times, as SVG or PNG (Dataflow Model, section 1.3 and Figures 5 to 14).

    Event time goes to the right and processing time up, in UTC. Elements are dots at their source's event time; one
    to the left of the watermark, the step line, was late. A pane is a rectangle over its window, from the pane before
    it, or else from the window's first element, up to the time when it came out; the line around it tells early, on
    time and late apart. A hatched bar at the top takes a pane back. On the dashed diagonal nothing is delayed.

    ``key`` chooses one key; without it there is a diagram for each of up to four keys, those with most elements. Where
    what follows the last grouping changes the keys there is one diagram for all. The picture of a long run shows where
    most elements lie instead of each, and not all panes; it says how many it leaves out.

    Raises ``ArgumentError`` for a path that ends in neither ``.svg`` nor ``.png``, and for a key that the run has not.
    """
    target = target_of(path)
    save(figure_of(_layout(run, key), title), target)


def run_svg(run: Run[object], *, key: object = MOST_ELEMENTS, title: str | None = None) -> str:
    """The diagram that ``draw_run`` writes, as the text of an SVG."""
    return rendered(figure_of(_layout(run, key), title), ".svg").decode()


def _layout(run: Run[object], key: object) -> Layout:
    facts = facts_of(run)
    return layout_of(facts, _chosen(facts, key))


def _chosen(facts: Facts, key: object) -> Sequence[object]:
    known = facts.keys()
    if key is MOST_ELEMENTS:
        return known[:MOST_KEYS]
    if key not in known:
        some = ", ".join(repr(one) for one in known[:3] if not isinstance(one, Enum))
        raise ArgumentError("key", key, f"one of the run's keys, such as {some}" if some else "left out here")
    return (key,)


__all__ = ["MOST_ELEMENTS", "Keys", "draw_run", "run_svg"]
