"""The picture of a figure: the diagram of its run, with the papers' additions."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve
from flowalg_tools.pictures.drawing import figure_of
from flowalg_tools.pictures.elements import ElementStatus
from flowalg_tools.pictures.files import save
from flowalg_tools.pictures.layout import Layout, layout_of
from flowalg_tools.pictures.run_facts import run_facts
from flowalg_tools.pictures.style import BLUE, GREY

from figures.figure_run import FigureRun
from figures.listing import Listing
from figures.published import PublishedFigure
from figures.timelines import timeline_of
from flowalg import EventTime, event_time, processing_time


def layout_of_figure(figure: PublishedFigure, listing: Listing, figure_run: FigureRun) -> Layout:
    """The layout of a figure's run: one panel, with the windows and the watermark described above it."""
    facts = run_facts(figure_run.run)
    if figure.engine == "micro-batch":
        # A micro-batch observes its elements together, but the figure shows when each element arrived.
        times = {event_time(arrival.datum.event_time): arrival.processing_time for arrival in figure.arrivals}
        facts = evolve(
            facts,
            elements=tuple(
                evolve(
                    element,
                    processing_time=processing_time(times[EventTime(element.event_time)]),
                    status=ElementStatus.ON_TIME,
                )
                for element in facts.elements
            ),
        )
    facts = evolve(facts, panes=tuple(pane for pane in facts.panes if figure.lists(pane.pane.window)))
    layout = layout_of(facts, facts.keys())
    (panel,) = layout.panels
    panel = evolve(panel, title="")
    if not figure.shows_timing:
        panel = evolve(panel, panes=tuple(evolve(pane, timing=None) for pane in panel.panes))
    note = f"{listing.windows_in_words}. {_note(figure)}"
    return evolve(layout, heading=listing.heading, panels=(panel,), notes=(note,))


def draw(figure: PublishedFigure, listing: Listing, figure_run: FigureRun, path: Path) -> None:
    """Writes the picture of a figure, with lines where windows close and at micro-batches."""
    layout = layout_of_figure(figure, listing, figure_run)
    picture = figure_of(layout, None)
    (axes,) = picture.axes
    plane = layout.panels[0].plane
    for closing in figure_run.closed:
        (left, right), y = plane.sides(closing.window), plane.y(closing.processing_time)
        axes.plot([left, right], [y, y], color=GREY, lw=2, zorder=5)
        axes.text(right - 4, y + 3, "window closed", fontsize=8.5, color=GREY, ha="right", zorder=9)
    if figure.engine == "micro-batch":
        for instant in timeline_of(figure):
            axes.axhline(plane.y(instant.processing_time), color=BLUE, lw=1.7, zorder=4.5)
    save(picture, path)


def _note(figure: PublishedFigure) -> str:
    match figure.engine:
        case "batch":
            return "The watermark is at \N{MINUS SIGN}∞ until the input ends at 12:10, then at +∞."
        case "micro-batch":
            return "In each one-minute batch the watermark goes from \N{MINUS SIGN}∞ to +∞."
        case "streaming":
            return "" if figure.watermark else "There is no watermark."
