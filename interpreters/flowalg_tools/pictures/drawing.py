"""Draws the layout of a diagram with matplotlib."""

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
from flowalg_tools.pictures.elements import ElementStatus
from flowalg_tools.pictures.layout import LABEL_SIZE, RADIUS, Dot, Label, Layout, PaneBox, Panel
from flowalg_tools.pictures.scales import Ticks, choose_ticks
from flowalg_tools.pictures.style import (
    BLUE,
    GREY,
    INK,
    PALE,
    PLAIN_STYLE,
    RETRACTION_STYLE,
    STATUS_MARKERS,
    TIMING_STYLES,
    Style,
)
from flowalg_tools.pictures.thinning import Density

_LEFT: Final = 74.0
_RIGHT: Final = 22.0
_UNDER_AXES: Final = 58.0
_OVER_AXES: Final = 22.0
_LINE: Final = 13.0
_GREYS: Final = LinearSegmentedColormap.from_list("elements", ["#d2d2d2", "#1a1a1a"])


def figure_of(layout: Layout, title: str | None) -> Figure:
    """Returns the figure of a layout; its default title is the layout's heading."""
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
        choose_ticks(plane.events, int(plane.width // 76)),
        choose_ticks(plane.clock, int(plane.height // 36)),
    )
    axes.set_xticks(
        [tick.fraction * plane.width for tick in across.ticks], [tick.label for tick in across.ticks]
    )
    axes.set_yticks(
        [tick.fraction * plane.height for tick in up.ticks],
        [_vertical_label(up, i) for i in range(len(up.ticks))],
    )
    axes.tick_params(labelsize=8.5, colors=INK)
    axes.grid(visible=True, color=PALE, lw=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(across.axis_label("event time"), fontsize=9.5, color=INK)
    axes.set_ylabel(up.axis_label("processing time"), fontsize=9.5, color=INK)
    if panel.title:
        axes.set_title(panel.title, loc="left", fontsize=10, color=INK, parse_math=False)
    if panel.density is not None:
        _density(axes, panel.density)
    for pane in panel.panes:
        _draw_pane(axes, pane)
    if panel.ideal:
        axes.plot(*zip(*panel.ideal, strict=True), color=GREY, ls=(0, (6, 4)), lw=1.0, zorder=4)
    if panel.watermark:
        axes.plot(*zip(*panel.watermark, strict=True), color=BLUE, lw=1.7, zorder=4.5)
    for status in ElementStatus:
        _dots(axes, [dot for dot in panel.dots if dot.status is status], status, _element_count(panel))
    for pane in panel.panes:
        if pane.label is not None:
            _label(axes, pane.label, _style_of(pane).colour)


def _vertical_label(ticks: Ticks, number: int) -> str:
    """Returns the label of a tick at the vertical axis, with the date above the time."""
    return "\n".join(reversed(ticks.ticks[number].label.split("\n")))


def _density(axes: Axes, density: Density) -> None:
    grid = np.full((density.rows, density.columns), np.nan)
    for column, row, count in density.counts:
        grid[row, column] = count
    extent = (0.0, density.columns * density.side, 0.0, density.rows * density.side)
    limits = axes.get_xlim(), axes.get_ylim()
    norm = LogNorm(1, max(density.greatest, 2))
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


def _style_of(pane: PaneBox) -> Style:
    if pane.change is Change.RETRACTION:
        return RETRACTION_STYLE
    return PLAIN_STYLE if pane.timing is None else TIMING_STYLES[pane.timing]


def _draw_pane(axes: Axes, pane: PaneBox) -> None:
    style, box = _style_of(pane), pane.box
    inset = min(pane.inset, box.width / 4)
    patch = Rectangle((box.left + inset, box.bottom), box.width - 2 * inset, box.height)
    retracted = pane.change is Change.RETRACTION
    patch.set(
        facecolor="white" if retracted else (style.colour, 0.2),
        edgecolor=style.colour,
        linestyle=style.line,
        linewidth=style.width,
        hatch=style.hatch if retracted else None,
        zorder=3 if retracted else 2,
    )
    axes.add_patch(patch)


def _element_count(panel: Panel) -> int:
    return len(panel.dots) + (0 if panel.density is None else panel.density.total)


def _dots(axes: Axes, dots: list[Dot], status: ElementStatus, count: int) -> None:
    marker, colour = STATUS_MARKERS[status]
    for dot in dots:
        if dot.value:
            _circle(axes, dot, colour)
    plain = [dot for dot in dots if not dot.value]
    size = 26.0 if count <= 100 else 12.0 if count <= 800 else 5.0 if count <= 3000 else 3.0
    axes.scatter(
        [dot.x for dot in plain],
        [dot.y for dot in plain],
        s=size * (1.0 if status is ElementStatus.ON_TIME else 1.5),
        marker=marker,
        color=colour,
        alpha=0.9,
        linewidths=1.3 if marker == "x" else 0.0,
        zorder=5 if status is ElementStatus.ON_TIME else 6,
        clip_on=False,
    )


def _circle(axes: Axes, dot: Dot, colour: str) -> None:
    """An element as a circle with its value, on a cross if it was dropped."""
    if dot.status is ElementStatus.DROPPED:
        axes.plot(
            [dot.x], [dot.y], marker="x", color=colour, ms=2.6 * RADIUS, mew=2.2, zorder=5, clip_on=False
        )
    axes.plot(
        [dot.x], [dot.y], marker="o", mfc="white", mec=colour, ms=2 * RADIUS, mew=1.3, zorder=6, clip_on=False
    )
    axes.text(
        dot.x,
        dot.y,
        dot.value,
        fontsize=LABEL_SIZE,
        color=colour,
        ha="center",
        va="center_baseline",
        zorder=7,
        parse_math=False,
    )


def _label(axes: Axes, label: Label, edge: str) -> None:
    """The value of a pane on a plate, above all lines."""
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
    """The entries of the legend, for what the picture contains."""
    dots = [dot for panel in layout.panels for dot in panel.dots]
    for status in ElementStatus:
        of_status = [dot for dot in dots if dot.status is status]
        if of_status:
            marker, colour = STATUS_MARKERS[status]
            circles = marker != "x" and any(dot.value for dot in of_status)
            marker, face = ("o", "white") if circles else (marker, colour)
            yield Line2D([], [], marker=marker, ls="", color=colour, mfc=face, ms=6, label=status.value)
    if any(panel.density is not None for panel in layout.panels):
        yield Patch(fc="#777777", label="elements")
    styles = {_style_of(pane) for panel in layout.panels for pane in panel.panes}
    for style in (*TIMING_STYLES.values(), PLAIN_STYLE):
        if style in styles:
            yield Patch(
                fc=(style.colour, 0.2), ec=style.colour, ls=style.line, lw=style.width, label=style.name
            )
    if RETRACTION_STYLE in styles:
        style = RETRACTION_STYLE
        yield Patch(fc="white", ec=style.colour, hatch=style.hatch, label=style.name)
    if any(panel.watermark for panel in layout.panels):
        yield Line2D([], [], color=BLUE, lw=1.7, label="watermark")
    if any(panel.ideal for panel in layout.panels):
        yield Line2D([], [], color=GREY, ls=(0, (6, 4)), lw=1.0, label="zero delay")
