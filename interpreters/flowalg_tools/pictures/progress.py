"""A run over processing time: the watermark lag, the live windows, and the panes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from flowalg.data.durations import duration_in_words
from flowalg.data.metadata import Timing
from flowalg.runs.run import Run
from flowalg_tools.pictures.files import check_path, save
from flowalg_tools.pictures.run_facts import run_facts
from flowalg_tools.pictures.scales import DAY, HOUR, MINUTE, SECOND, choose_ticks
from flowalg_tools.pictures.style import (
    BLUE,
    GREY,
    INK,
    PALE,
    RETRACTION_STYLE,
    TIMING_STYLES,
    VERMILION,
    Style,
)
from flowalg_tools.pictures.time_series import Point, TimeSeries, time_series_of

_WIDTH: Final = 620.0
_HEIGHT: Final = 120.0
_LEFT, _RIGHT, _BELOW, _ABOVE, _BETWEEN = 74.0, 118.0, 46.0, 50.0, 30.0
_UNITS: Final = (("days", DAY), ("hours", HOUR), ("minutes", MINUTE), ("seconds", SECOND))


def draw_progress(run: Run[object], path: Path | str, *, title: str | None = None) -> None:
    """Draws a run as SVG or PNG, in three panels over processing time, in UTC.

    The lag is the processing time minus the watermark. It is undefined before the first watermark and after the end of
    the input. If a grouping holds the watermark back, the lag of the output is shown too. Windows are live from their
    first element until they are freed, counted over all groupings and keys; for a run of another interpreter their
    number is unknown. Panes are counted by timing in intervals of a round length.

    Merging windows, several groupings and side inputs are counted by a replay, which takes as long as the run did.
    Raises ``ArgumentError`` for another suffix than ``.svg`` and ``.png``.
    """
    target = check_path(path)
    facts = run_facts(run)
    save(_figure(time_series_of(run, facts), facts.heading if title is None else title), target)


def _figure(series: TimeSeries, title: str) -> Figure:
    width = _LEFT + _WIDTH + _RIGHT
    height = _BELOW + 3 * _HEIGHT + 2 * _BETWEEN + _ABOVE
    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    panels: tuple[Callable[[Axes, TimeSeries], Sequence[Line2D | Patch]], ...] = (_lag, _windows, _panes)
    ticks = choose_ticks(series.span, int(_WIDTH // 76))
    for number, panel in enumerate(panels):
        bottom = _BELOW + (2 - number) * (_HEIGHT + _BETWEEN)
        axes = figure.add_axes(
            (_LEFT / width, bottom / height, _WIDTH / width, _HEIGHT / height), label=str(number)
        )
        handles = panel(axes, series)
        axes.set_xlim(0, 1)
        last = number == len(panels) - 1
        axes.set_xticks(
            [tick.fraction for tick in ticks.ticks], [tick.label if last else "" for tick in ticks.ticks]
        )
        axes.tick_params(labelsize=8.5, colors=INK)
        axes.grid(visible=True, color=PALE, lw=0.5)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if series.ended is not None:
            axes.axvline(series.span.fraction(series.ended), color=GREY, lw=0.9, ls=(0, (2, 2)), zorder=1)
        if last:
            axes.set_xlabel(ticks.axis_label("processing time"), fontsize=9.5, color=INK)
        if last and series.ended is not None:
            handles = [*handles, Line2D([], [], color=GREY, lw=0.9, ls=(0, (2, 2)), label="end of the input")]
        if handles:
            axes.legend(
                handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8.5
            )
    figure.text(
        _LEFT / width, (height - 16) / height, title, size=12, weight="bold", color=INK, parse_math=False
    )
    return figure


def _lag(axes: Axes, series: TimeSeries) -> Sequence[Line2D]:
    lags = [abs(value) for _, value in (*series.lag, *series.held) if value is not None]
    name, unit = next((entry for entry in _UNITS if max(lags, default=0) >= 2 * entry[1]), _UNITS[-1])
    handles = [Line2D([], [], color=BLUE, lw=1.5, label="of the input")]
    if series.held:
        handles.append(Line2D([], [], color=VERMILION, lw=1.2, ls="--", label="of the output"))
        _line(axes, series, series.held, unit, Style("", VERMILION, "--", 1.2))
    _line(axes, series, series.lag, unit, Style("", BLUE, "-", 1.5))
    thinned = ", maximum of each interval" if series.thinned else ""
    _heading(axes, f"watermark lag in {name}{thinned}")
    if not lags:
        _centred_text(axes, "no watermark before the end of the input")
    if min((value for _, value in series.lag if value is not None), default=0) >= 0:
        axes.set_ylim(bottom=0)
    return handles if lags else ()


def _windows(axes: Axes, series: TimeSeries) -> Sequence[Line2D]:
    _heading(axes, "live windows of all keys" + (", maximum of each interval" if series.thinned else ""))
    _line(axes, series, series.kept, 1, Style("", INK, "-", 1.4), steps=True)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axes.set_ylim(bottom=0)
    if not series.kept:
        _centred_text(axes, "unknown for a run of another interpreter")
    return ()


def _panes(axes: Axes, series: TimeSeries) -> Sequence[Patch]:
    interval = duration_in_words(timedelta(microseconds=series.step))
    _heading(axes, f"panes per {interval}")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    below = [0] * len(series.buckets)
    handles: list[Patch] = []
    for timing in Timing:
        counts = [dict(bucket.values)[timing] for bucket in series.buckets]
        handles += _stack(axes, series, counts, below, TIMING_STYLES[timing])
        below = [a + b for a, b in zip(below, counts, strict=True)]
    handles += _stack(
        axes, series, [bucket.retractions for bucket in series.buckets], below, RETRACTION_STYLE
    )
    if not series.buckets:
        axes.set_ylim(0, 1)
        _centred_text(axes, "no panes")
    return list(reversed(handles))


def _stack(
    axes: Axes, series: TimeSeries, counts: Sequence[int], below: Sequence[int], style: Style
) -> Sequence[Patch]:
    if not any(counts):
        return ()
    edges = [(max(bucket.start, series.span.first), bucket.start + series.step) for bucket in series.buckets]
    lefts = [series.span.fraction(start) for start, _ in edges]
    widths = [series.span.fraction(end) - left for (_, end), left in zip(edges, lefts, strict=True)]
    axes.bar(
        lefts,
        counts,
        widths,
        list(below),
        align="edge",
        color=style.colour if style is not RETRACTION_STYLE else "white",
        edgecolor="white" if style is not RETRACTION_STYLE else style.colour,
        linewidth=0.4,
        hatch=style.hatch,
        zorder=2,
    )
    face = style.colour if style is not RETRACTION_STYLE else "white"
    edge = "white" if style is not RETRACTION_STYLE else style.colour
    return (Patch(facecolor=face, edgecolor=edge, hatch=style.hatch, label=style.name, linewidth=0.4),)


def _line(
    axes: Axes, series: TimeSeries, points: Sequence[Point], unit: int, style: Style, *, steps: bool = False
) -> None:
    """A line through points, interrupted where a value is unknown."""
    if not points:
        return
    across = [series.span.fraction(time) for time, _ in points]
    up = [float("nan") if value is None else value / unit for _, value in points]
    drawstyle = "steps-post" if steps else "default"
    axes.plot(across, up, color=style.colour, lw=style.width, ls=style.line, drawstyle=drawstyle, zorder=3)
    axes.plot(across, up, color=style.colour, ls="", marker=".", ms=2.5, zorder=3)


def _heading(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=9.5, color=INK, pad=5)


def _centred_text(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, ha="center", va="center", color=GREY, fontsize=9.5, transform=axes.transAxes)
