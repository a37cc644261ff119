"""A layout of the diagram as a figure of matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle

from flowalg.runs.panes import Change
from flowalg_tools.pictures.elements import Fate
from flowalg_tools.pictures.layout import LABEL_SIZE, Dot, Label, Layout, Panel, Sheet
from flowalg_tools.pictures.scales import Ticks, ticks_of
from flowalg_tools.pictures.style import BLUE, GREY, INK, MARKS, PALE, RETRACTION, TIMINGS, Look
from flowalg_tools.pictures.thinning import Density

_LEFT: Final = 74.0
_RIGHT: Final = 22.0
_UNDER_AXES: Final = 58.0
_OVER_AXES: Final = 22.0
_LINE: Final = 13.0
_GREYS: Final = LinearSegmentedColormap.from_list("elements", ["#d2d2d2", "#1a1a1a"])


def figure_of(layout: Layout, title: str | None) -> Figure:
    """The figure, with a title of one's own, or the grouping as its heading."""
    columns = min(len(layout.panels), 2)
    rows = -(-len(layout.panels) // 2)
    plane = layout.panels[0].plane
    across, up = _LEFT + plane.width + _RIGHT, _UNDER_AXES + plane.height + _OVER_AXES
    width = columns * across
    notes = wrap("; ".join(layout.notes), int((width - _LEFT - _RIGHT) / 4.7))
    handles = list(_legend(layout))
    in_row = 4 if columns == 1 else 7
    below = _LINE * 1.5 * -(-len(handles) // in_row) + 8
    above = 22.0 + _LINE * len(notes)
    height = below + rows * up + above
    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    for number, panel in enumerate(layout.panels):
        row, column = divmod(number, 2)
        bottom = below + (rows - 1 - row) * up + _UNDER_AXES
        place = (column * across + _LEFT, bottom, plane.width, plane.height)
        axes = figure.add_axes(
            (place[0] / width, place[1] / height, place[2] / width, place[3] / height), label=str(number)
        )
        _panel(axes, panel)
    left = _LEFT / width
    heading = layout.heading if title is None else title
    top = height - 18
    figure.text(left, top / height, heading, size=12, weight="bold", color=INK, parse_math=False)
    for number, line in enumerate(notes, start=1):
        figure.text(left, (top - 2 - _LINE * number) / height, line, size=9, color=GREY, parse_math=False)
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(left, below / height),
        borderaxespad=0,
        borderpad=0,
        ncols=min(len(handles), in_row),
        frameon=False,
        fontsize=9,
        handlelength=2.4,
        columnspacing=1.6,
    )
    return figure


def _panel(axes: Axes, panel: Panel) -> None:
    plane = panel.plane
    axes.set_xlim(0, plane.width)
    axes.set_ylim(0, plane.height)
    across, up = (
        ticks_of(plane.events, int(plane.width // 76)),
        ticks_of(plane.clock, int(plane.height // 36)),
    )
    axes.set_xticks([one.share * plane.width for one in across.ticks], [one.label for one in across.ticks])
    axes.set_yticks(
        [one.share * plane.height for one in up.ticks], [_stacked(up, i) for i in range(len(up.ticks))]
    )
    axes.tick_params(labelsize=8.5, colors=INK)
    axes.grid(visible=True, color=PALE, lw=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(across.named("event time"), fontsize=9.5, color=INK)
    axes.set_ylabel(up.named("processing time"), fontsize=9.5, color=INK)
    if panel.title:
        axes.set_title(panel.title, loc="left", fontsize=10, color=INK, parse_math=False)
    if panel.density is not None:
        _density(axes, panel.density)
    for sheet in panel.sheets:
        _sheet(axes, sheet)
    if panel.ideal:
        axes.plot(*zip(*panel.ideal, strict=True), color=GREY, ls=(0, (6, 4)), lw=1.0, zorder=4)
    if panel.watermark:
        axes.plot(*zip(*panel.watermark, strict=True), color=BLUE, lw=1.7, zorder=4.5)
    for fate in Fate:
        _dots(axes, [one for one in panel.dots if one.fate is fate], fate, _crowd(panel))
    for sheet in panel.sheets:
        if sheet.label is not None:
            _label(axes, sheet.label, _look_of(sheet).colour)


def _stacked(ticks: Ticks, number: int) -> str:
    """At the axis upwards the date is over the time."""
    return "\n".join(reversed(ticks.ticks[number].label.split("\n")))


def _density(axes: Axes, density: Density) -> None:
    grid = np.full((density.rows, density.columns), np.nan)
    for column, row, count in density.counts:
        grid[row, column] = count
    extent = (0.0, density.columns * density.side, 0.0, density.rows * density.side)
    limits = axes.get_xlim(), axes.get_ylim()
    norm = LogNorm(1, max(density.most, 2))
    axes.imshow(
        grid,
        cmap=_GREYS,
        norm=norm,
        extent=extent,
        origin="lower",
        aspect="auto",
        interpolation="none",
        zorder=1.5,
    )
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])


def _look_of(sheet: Sheet) -> Look:
    return RETRACTION if sheet.change is Change.RETRACTION else TIMINGS[sheet.timing]


def _sheet(axes: Axes, sheet: Sheet) -> None:
    look, box = _look_of(sheet), sheet.box
    inset = min(sheet.inset, box.width / 4)
    patch = Rectangle((box.left + inset, box.bottom), box.width - 2 * inset, box.height)
    taken_back = sheet.change is Change.RETRACTION
    patch.set(
        facecolor="white" if taken_back else (look.colour, 0.2),
        edgecolor=look.colour,
        linestyle=look.line,
        linewidth=look.width,
        hatch=look.hatch if taken_back else None,
        zorder=3 if taken_back else 2,
    )
    axes.add_patch(patch)


def _crowd(panel: Panel) -> int:
    return len(panel.dots) + (0 if panel.density is None else panel.density.total)


def _dots(axes: Axes, dots: list[Dot], fate: Fate, among: int) -> None:
    if not dots:
        return
    marker, colour = MARKS[fate]
    size = 26.0 if among <= 100 else 12.0 if among <= 800 else 5.0 if among <= 3000 else 3.0
    exceptional = 1.0 if fate is Fate.ON_TIME else 1.5
    axes.scatter(
        [one.x for one in dots],
        [one.y for one in dots],
        s=size * exceptional,
        marker=marker,
        color=colour,
        alpha=0.9,
        linewidths=1.3 if marker == "x" else 0.0,
        zorder=5 if fate is Fate.ON_TIME else 6,
        clip_on=False,
    )


def _label(axes: Axes, label: Label, edge: str) -> None:
    """The value on a plate, which keeps lines from crossing it."""
    box = label.box
    plate = FancyBboxPatch(
        (box.left, box.bottom), box.width, box.height, boxstyle="round,pad=0,rounding_size=2.5"
    )
    plate.set(facecolor=("white", 0.9), edgecolor=edge, linewidth=0.6, zorder=8)
    axes.add_patch(plate)
    axes.text(
        *box.middle,
        label.text,
        fontsize=LABEL_SIZE,
        color=INK,
        ha="center",
        va="center_baseline",
        zorder=9,
        parse_math=False,
    )


def _legend(layout: Layout) -> Iterator[Artist]:
    """What the picture has, by name."""
    fates = {dot.fate for panel in layout.panels for dot in panel.dots}
    for fate in Fate:
        if fate in fates:
            marker, colour = MARKS[fate]
            yield Line2D([], [], marker=marker, ls="", color=colour, ms=6, label=fate.value)
    if any(panel.density is not None for panel in layout.panels):
        yield Patch(fc="#777777", label="elements, taken on time")
    sheets = [sheet for panel in layout.panels for sheet in panel.sheets]
    for timing, look in TIMINGS.items():
        if any(one.timing is timing and one.change is Change.VALUE for one in sheets):
            yield Patch(fc=(look.colour, 0.2), ec=look.colour, ls=look.line, lw=look.width, label=look.name)
    if any(one.change is Change.RETRACTION for one in sheets):
        yield Patch(fc="white", ec=RETRACTION.colour, hatch=RETRACTION.hatch, label=RETRACTION.name)
    if any(panel.watermark for panel in layout.panels):
        yield Line2D([], [], color=BLUE, lw=1.7, label="watermark")
    if any(panel.ideal for panel in layout.panels):
        yield Line2D([], [], color=GREY, ls=(0, (6, 4)), lw=1.0, label="ideal: no delay")


__all__ = ["figure_of"]
