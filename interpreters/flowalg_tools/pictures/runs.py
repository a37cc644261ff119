"""The diagram of a run: event time across, processing time up, with its elements, panes and watermark."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, unique
from pathlib import Path
from typing import Final

from flowalg.data.errors import ArgumentError
from flowalg.runs.run import Run
from flowalg_tools.pictures.drawing import figure_of
from flowalg_tools.pictures.files import check_path, render, save
from flowalg_tools.pictures.layout import MAX_KEYS, Layout, layout_of
from flowalg_tools.pictures.run_facts import RunFacts, run_facts


@unique
class Keys(Enum):
    """The default choice of keys."""

    MOST_ELEMENTS = "up to four, those with most elements first"


MOST_ELEMENTS: Final = Keys.MOST_ELEMENTS


def draw_run(
    run: Run[object], path: Path | str, *, key: object = MOST_ELEMENTS, title: str | None = None
) -> None:
    """Draws the diagram of a run in both times, as SVG or PNG (Dataflow Model, section 1.3 and Figures 5 to 14).

    Event time runs to the right and processing time upwards, in UTC. Elements are dots at their source's event time, or
    circles with their values if these are few and short. An element to the left of the watermark, the step line, was
    late. A pane is a rectangle over its window. It extends from the previous pane of the window, or from the window's
    first element, up to the time at which it was emitted. Its outline distinguishes early, on-time and late panes. A
    hatched bar at the top is a retraction. The dashed diagonal is a delay of zero.

    ``key`` selects one key. By default there is a diagram for each of up to four keys, those with the most elements. If
    a step after the last grouping changes the keys, there is one diagram for all keys. The picture of a long run shows
    the density of its elements, and a part of its panes; it states how many are omitted.

    Raises ``ArgumentError`` for another suffix than ``.svg`` and ``.png``, and for a key that is not in the run.
    """
    target = check_path(path)
    save(figure_of(_layout(run, key), title), target)


def run_svg(run: Run[object], *, key: object = MOST_ELEMENTS, title: str | None = None) -> str:
    """Returns the diagram of ``draw_run`` as the text of an SVG."""
    return render(figure_of(_layout(run, key), title), ".svg").decode()


def _layout(run: Run[object], key: object) -> Layout:
    facts = run_facts(run)
    return layout_of(facts, _chosen_keys(facts, key))


def _chosen_keys(facts: RunFacts, key: object) -> Sequence[object]:
    keys = facts.keys()
    if key is MOST_ELEMENTS:
        return keys[:MAX_KEYS]
    if key not in keys:
        examples = ", ".join(repr(example) for example in keys[:3] if not isinstance(example, Enum))
        valid = (
            f"a key of the run, such as {examples}"
            if examples
            else "omitted, since the keys of the run are unknown"
        )
        raise ArgumentError("key", key, valid)
    return (key,)
