"""A layout as an SVG picture, in colours that colour-blind people tell apart (Okabe and Ito's)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import matplotlib as mpl
from attrs import frozen
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyBboxPatch, Patch, Rectangle

from flowalg import FixedWindows, Timing
from flowalg_tools.figures.facts import Facts
from flowalg_tools.figures.layout import RADIUS, VALUE_SIZE, WORD_SIZE, Dot, Label, Layout, Mark, Sheet
from flowalg_tools.figures.listing import Listing
from flowalg_tools.figures.plane import HEIGHT, WIDTH, Box

_BLACK: Final = "#000000"
_GREY: Final = "#5a5a5a"
_PALE: Final = "#d9d9d9"
_BLUE: Final = "#0072b2"
_VERMILION: Final = "#d55e00"
_PURPLE: Final = "#a0487f"

_LEFT, _RIGHT, _BELOW, _ABOVE = 58.0, 17.0, 80.0, 52.0
_SIZE: Final = (_LEFT + WIDTH + _RIGHT, _BELOW + HEIGHT + _ABOVE)


@frozen
class _Look:
    """How panes of one timing look: colour, and the line around them."""

    name: str
    colour: str
    line: str
    width: float


_LOOKS: Final = {
    Timing.EARLY: _Look("early pane", "#56b4e9", "--", 1.4),
    Timing.ON_TIME: _Look("on-time pane", "#009e73", "-", 2.2),
    Timing.LATE: _Look("late pane", "#e69f00", ":", 2.2),
    None: _Look("pane", "#7f7f7f", "-", 1.4),
}


def draw(facts: Facts, listing: Listing, layout: Layout, path: Path) -> None:
    """Writes the picture of a figure; the suffix of the path says in which format."""
    # Text stays text, and the same picture is the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "flowalg", "hatch.linewidth": 0.8}):
        figure = Figure(figsize=(_SIZE[0] / 72, _SIZE[1] / 72), dpi=72)
        FigureCanvasSVG(figure)
        axes = figure.add_axes((_LEFT / _SIZE[0], _BELOW / _SIZE[1], WIDTH / _SIZE[0], HEIGHT / _SIZE[1]))
        _frame(axes, facts, listing, layout)
        for sheet in layout.sheets:
            _sheet(axes, sheet)
        _clocks(axes, layout)
        for mark in layout.closings:
            axes.plot([mark.left + 2, mark.right - 2], [mark.y, mark.y], color=_GREY, lw=2, zorder=5)
            _word(axes, mark.label, _GREY)
        for mark in layout.retractions:
            _retraction(axes, mark)
        for dot in layout.dots:
            _dot(axes, dot)
        for label in layout.drops:
            _word(axes, label, _PURPLE)
        for sheet in layout.sheets:
            _label(axes, sheet.label, _BLACK, _LOOKS[sheet.timing].colour)
        handles = list(_legend(layout))
        figure.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, (_BELOW - 40) / _SIZE[1]),
            borderaxespad=0,
            ncols=min(len(handles), 5),
            frameon=False,
            fontsize=9.5,
            handlelength=2.4,
        )
        figure.savefig(path, metadata={"Date": None, "Creator": None} if path.suffix == ".svg" else None)


def _frame(axes: Axes, facts: Facts, listing: Listing, layout: Layout) -> None:
    plane = layout.plane
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(0, HEIGHT)
    axes.set_axisbelow(True)
    axes.set_xticks([plane.across(one) for one in plane.minutes_across])
    axes.set_xticklabels([f"12:{one:02}" for one in plane.minutes_across])
    axes.set_yticks([plane.up(one) for one in plane.minutes_up])
    axes.set_yticklabels([f"12:{one:02}" for one in plane.minutes_up])
    axes.tick_params(labelsize=10)
    axes.grid(visible=True, color=_PALE, lw=0.6)
    axes.set_xlabel("event time", fontsize=11)
    axes.set_ylabel("processing time", fontsize=11)
    if isinstance(listing.strategy.windows, FixedWindows):
        for edge in {side for one in layout.sheets for side in (one.box.left, one.box.right)}:
            axes.axvline(edge, color=_GREY, lw=1, zorder=1.5)
    axes.text(0, HEIGHT + 27, listing.heading, fontsize=13, weight="bold", va="baseline")
    axes.text(0, HEIGHT + 10, f"{listing.windows_in_words}. {_note(facts)}", fontsize=10, color=_GREY)


def _note(facts: Facts) -> str:
    match facts.engine:
        case "batch":
            return "The watermark is at \N{MINUS SIGN}∞ until the input ends at 12:10, then at +∞."
        case "micro-batch":
            return "In each one-minute batch the watermark goes from \N{MINUS SIGN}∞ to +∞."
        case "streaming":
            return "" if facts.watermark else "No watermark plays a part."


def _sheet(axes: Axes, sheet: Sheet) -> None:
    look, box = _LOOKS[sheet.timing], sheet.box
    size = (box.right - box.left, box.top - box.bottom)
    axes.add_patch(Rectangle((box.left, box.bottom), *size, fc=look.colour, alpha=0.28, lw=0, zorder=2))
    # Drawn inside its bounds, so that the line of a neighbour stays visible.
    inner = Box(box.left + 1.5, box.bottom + 1.5, box.right - 1.5, box.top - 1.5)
    size = (inner.right - inner.left, inner.top - inner.bottom)
    corner = (inner.left, inner.bottom)
    axes.add_patch(
        Rectangle(corner, *size, fill=False, ec=look.colour, ls=look.line, lw=look.width, zorder=3)
    )


def _clocks(axes: Axes, layout: Layout) -> None:
    axes.plot(*zip(*layout.ideal, strict=True), color=_GREY, ls=(0, (6, 4)), lw=1.2, zorder=4)
    for path in layout.watermark:
        axes.plot(*zip(*path, strict=True), color=_BLUE, lw=1.8, zorder=4, clip_on=False)


def _retraction(axes: Axes, mark: Mark) -> None:
    bar = Rectangle((mark.left, mark.y - 5), mark.right - mark.left, 5)
    bar.set(facecolor="white", edgecolor=_VERMILION, hatch="//////", linewidth=1, zorder=5)
    axes.add_patch(bar)
    _label(axes, mark.label, _VERMILION, _VERMILION)


def _dot(axes: Axes, dot: Dot) -> None:
    colour = _PURPLE if dot.dropped else _BLACK
    if dot.dropped:
        arm = RADIUS + 3
        for side in (-1, 1):
            ends = ([dot.x - arm, dot.x + arm], [dot.y - side * arm, dot.y + side * arm])
            axes.plot(*ends, color=colour, lw=2.4, zorder=6)
    axes.add_patch(Circle((dot.x, dot.y), RADIUS, fc="white", ec=colour, lw=1.3, zorder=7))
    _centred(axes, (dot.x, dot.y), str(dot.value), 9.5, colour)


def _label(axes: Axes, label: Label, ink: str, edge: str) -> None:
    """The value and its word on a plate, which keeps lines from crossing them."""
    box = label.box
    size = (box.right - box.left, box.top - box.bottom)
    plate = FancyBboxPatch((box.left, box.bottom), *size, boxstyle="round,pad=0,rounding_size=3")
    plate.set(facecolor="white", edgecolor=edge, linewidth=0.8, zorder=8)
    axes.add_patch(plate)
    if not label.word:
        _centred(axes, box.middle, label.value, VALUE_SIZE, ink, weight="bold")
        return
    base = box.middle[1] - VALUE_SIZE * 0.36
    axes.text(box.left + 4, base, label.value, fontsize=VALUE_SIZE, weight="bold", color=ink, zorder=9)
    axes.text(box.right - 4, base, label.word, fontsize=WORD_SIZE, ha="right", color=ink, zorder=9)


def _word(axes: Axes, label: Label, ink: str) -> None:
    _centred(axes, label.box.middle, label.word, WORD_SIZE, ink)


def _centred(
    axes: Axes, at: tuple[float, float], text: str, size: float, ink: str, weight: str = "normal"
) -> None:
    axes.text(*at, text, fontsize=size, color=ink, weight=weight, ha="center", va="center_baseline", zorder=9)


def _legend(layout: Layout) -> Iterator[Artist]:
    """What the picture has, by name."""
    yield Line2D([], [], marker="o", ls="", mfc="white", mec=_BLACK, ms=9, label="datum")
    if layout.drops:
        yield Line2D([], [], marker="X", ls="", color=_PURPLE, ms=9, label="dropped datum")
    if layout.watermark:
        yield Line2D([], [], color=_BLUE, lw=1.8, label="watermark")
    yield Line2D([], [], color=_GREY, ls=(0, (6, 4)), lw=1.2, label="ideal watermark")
    for timing, look in _LOOKS.items():
        if any(one.timing is timing for one in layout.sheets):
            yield Patch(fc=(look.colour, 0.28), ec=look.colour, ls=look.line, lw=look.width, label=look.name)
    if layout.retractions:
        yield Patch(fc="white", ec=_VERMILION, hatch="//////", label="retraction")
    if layout.closings:
        yield Line2D([], [], color=_GREY, lw=2, label="window closed")


__all__ = ["draw"]
